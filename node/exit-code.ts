import { ProblemError } from '../lib/problem.ts'
import { SvcError } from '../lib/svc-error.ts'

/** What the process says by its exit code. */
export const exitCodes = { done: 0, operatorMustAct: 1, usage: 2, tryAgain: 75 } as const

/** The exit code for a command that failed: 75 when the same command may succeed later, 2 for a wrong command line, else 1. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof SvcError && error.code === 'usage') return exitCodes.usage
  // The command-line parser does not export its error class.
  if (error instanceof Error && error.name === 'CACError') return exitCodes.usage
  const known = error instanceof SvcError || error instanceof ProblemError
  return known && error.retryable ? exitCodes.tryAgain : exitCodes.operatorMustAct
}
