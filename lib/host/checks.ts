import { printableJson, printableLine } from '../printable.ts'
import { ProblemError } from '../problem.ts'
import { SvcError } from '../svc-error.ts'
import { exitCodes } from './exit-code.ts'
import { explainError } from './explain-error.ts'

/** The result of a check, and what to do when it failed. */
export type Check = {
  readonly name: string
  readonly status: 'ok' | 'failed' | 'skipped'
  readonly detail: string
  readonly remedy?: string | undefined
  /** Set for a failure that may pass without the operator. */
  readonly retryable?: boolean
}

const labels = { ok: 'ok     ', failed: 'FAIL   ', skipped: 'skipped' } as const

/** Formats a check as lines for people. What an RPC or a file says in it stays on its line. */
export function checkLines({ name, status, detail, remedy }: Check): readonly string[] {
  const line = printableLine(`${labels[status]} ${name.padEnd(12)} ${detail}`)
  const hasRemedy = status === 'failed' && remedy !== undefined
  return hasRemedy ? [line, `        -> ${printableLine(remedy)}`] : [line]
}

/** 0 when nothing failed, 75 when every failure may pass, else 1. */
export function exitCodeOfChecks(checks: readonly Check[]): number {
  const failed = checks.filter(({ status }) => status === 'failed')
  if (failed.length === 0) return exitCodes.done
  return failed.every(({ retryable }) => retryable) ? exitCodes.tryAgain : exitCodes.operatorMustAct
}

/** Prints checks for people, or as one JSON line for programs. Returns their exit code. */
export function reportChecks(
  checks: readonly Check[],
  { json }: { readonly json?: boolean | undefined },
  print: (line: string) => void,
): number {
  const exitCode = exitCodeOfChecks(checks)
  if (json) {
    print(printableJson(JSON.stringify({ healthy: exitCode === exitCodes.done, checks })))
    return exitCode
  }
  for (const line of checks.flatMap(checkLines)) print(line)
  const count = checks.filter(({ status }) => status === 'failed').length
  print(count === 0 ? 'All is well.' : `${count} of ${checks.length} checks failed.`)
  return exitCode
}

/** A check that passed. */
export const ok = (name: string, detail: string): Check => ({ name, status: 'ok', detail })

/** A check that could not be made, and why. */
export const skipped = (name: string, detail: string): Check => ({
  name,
  status: 'skipped',
  detail,
})

/** A check that failed, and what to do. */
export const failed = (
  name: string,
  detail: string,
  remedy: string | undefined,
  retryable = false,
): Check => ({ name, status: 'failed', detail, remedy, retryable })

/** A check that failed with an error. */
export function failedBy(name: string, error: unknown): Check {
  const { message, hint } = explainError(error)
  const known = error instanceof SvcError || error instanceof ProblemError
  return failed(name, message.replaceAll('\n', ' '), hint, known && error.retryable)
}

/** Runs a check. An error in it is a failure. */
export async function checking(name: string, work: () => Promise<Check>): Promise<Check> {
  try {
    return await work()
  } catch (error) {
    return failedBy(name, error)
  }
}
