import { isCofheError } from '@cofhe/sdk'
import { causesOf, isRateLimited, isUnreachable, shortMessageOf } from '../chain/chain-error.ts'
import { SvcError } from '../svc-error.ts'

const httpForbidden = 403
const httpTooManyRequests = 429

const statusOf = (error: unknown): unknown =>
  causesOf(error)
    .map((cause) => (isCofheError(cause) ? cause.context?.status : undefined))
    .find((status) => status !== undefined)

const saysOneOf = (error: unknown, words: RegExp): boolean =>
  causesOf(error).some((cause) => cause instanceof Error && words.test(cause.message))

/** Whether the coprocessor refused the permit itself, which a new permit may cure. */
export const isPermitRefused = (error: unknown): boolean =>
  saysOneOf(error, /PermissionInvalid_|Permit is expired/)

const isDenied = (error: unknown): boolean =>
  statusOf(error) === httpForbidden || saysOneOf(error, /NotAllowed|PermissionInvalid_/)

/** The error for a coprocessor that is refusing, `what` being the operation that failed (spec 7). */
export const toCoprocessorError = (error: unknown, what: string): SvcError => {
  if (error instanceof SvcError) return error
  if (statusOf(error) === httpTooManyRequests || isRateLimited(error)) {
    return new SvcError('coprocessor-too-many-requests', `${what}: too many requests`, {
      hint: 'The RPC endpoint limits requests; wait, or use one with a higher limit.',
      retryable: true,
      cause: error,
    })
  }
  if (isDenied(error)) {
    return new SvcError('coprocessor-access-denied', `${what}: access denied (403)`, {
      hint: 'This wallet has no grant on the handle (yet), or the handle is an original one and not the stored one.',
      cause: error,
    })
  }
  return new SvcError('coprocessor-unavailable', `${what}: ${shortMessageOf(error)}`, {
    hint: 'Check the coprocessor endpoint and the chain behind it.',
    retryable: true,
    cause: error,
  })
}

/** The error for an encryption that failed in its last attempt. */
export const toEncryptError = (error: unknown): SvcError => {
  if (error instanceof SvcError || isRateLimited(error) || isUnreachable(error)) {
    return toCoprocessorError(error, 'CoFHE encrypt failed')
  }
  const message = `CoFHE encrypt failed: ${shortMessageOf(error)}`
  return new SvcError('coprocessor-encrypt-failed', message, {
    hint: 'Try again; if it keeps failing, check the coprocessor endpoint.',
    retryable: true,
    cause: error,
  })
}

/** The error for an operation that took longer than it may. */
export const timedOut = (what: string, timeoutMs: number): SvcError =>
  new SvcError('coprocessor-unavailable', `${what}: no answer within ${timeoutMs / 1000} s`, {
    hint: 'Check the coprocessor endpoint and the chain behind it.',
    retryable: true,
  })
