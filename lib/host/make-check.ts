import { ProblemError } from '../problem.ts'
import { SvcError } from '../svc-error.ts'
import type { Check } from './checks.ts'
import { explainError } from './explain-error.ts'

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
