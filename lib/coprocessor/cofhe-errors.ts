import { causesOf, isRateLimited, isUnreachable, shortMessageOf } from '../chain/chain-error.ts'
import { SvcError } from '../svc-error.ts'
import { ServiceFailure } from './services.ts'

const httpForbidden = 403
const httpNotFound = 404
const httpTooManyRequests = 429
const maxWords = 300

const failureOf = (error: unknown): ServiceFailure | undefined =>
  causesOf(error).find((cause) => cause instanceof ServiceFailure)

const saysOneOf = (error: unknown, words: RegExp): boolean =>
  causesOf(error).some((cause) => cause instanceof Error && words.test(cause.message))

/** Removes requests to the chain from a message. The SDK quotes viem in full, with the RPC's address and the data sent. */
const withoutRequests = (error: unknown): string =>
  causesOf(error).reduce<string>((message, cause) => {
    // Checks the field, not the class: on some installations the SDK has its own copy of viem.
    if (!(cause instanceof Error && 'shortMessage' in cause)) return message
    return message.replaceAll(cause.message, () => String(cause.shortMessage))
  }, shortMessageOf(error))

/** Shortens an error to one line, because messages have whole answers of services in them. */
const wordsOf = (error: unknown): string => onOneLine(withoutRequests(error))

const onOneLine = (text: string): string =>
  text
    .replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
    .trim()
    .slice(0, maxWords)

/** True when the coprocessor refused the permit itself, for which a new permit may help. */
export const isPermitRefused = (error: unknown): boolean =>
  saysOneOf(error, /PermissionInvalid_|Permit is expired/)

/** True when the chain's RPC or the coprocessor refused because of its rate limit. */
export const isLimited = (error: unknown): boolean =>
  failureOf(error)?.status === httpTooManyRequests || isRateLimited(error)

const isDenied = (error: unknown): boolean =>
  failureOf(error)?.status === httpForbidden || saysOneOf(error, /NotAllowed|PermissionInvalid_/)

/** Returns the error of a coprocessor's refusal or failure. `what` is the operation that failed (spec 7). */
export const toCoprocessorError = (error: unknown, what: string): SvcError => {
  if (error instanceof SvcError) return error
  if (isLimited(error)) {
    return new SvcError('coprocessor-too-many-requests', `${what}: too many requests`, {
      hint: 'The chain RPC or the coprocessor limits requests. Wait, or use one with a higher limit.',
      retryable: true,
      cause: error,
    })
  }
  if (isDenied(error)) {
    return new SvcError('coprocessor-access-denied', `${what}: FHE decrypt denied (403)`, {
      hint: 'This wallet has no grant on the handle (yet), or the handle is an original one and not the stored one.',
      cause: error,
    })
  }
  if (failureOf(error)?.status === httpNotFound) {
    return new SvcError('coprocessor-ciphertext-unknown', `${what}: unknown ciphertext (404)`, {
      hint: 'The coprocessor has never seen this handle: it is no stored one, or one of another network.',
      cause: error,
    })
  }
  return new SvcError('coprocessor-unavailable', `${what}: ${wordsOf(error)}`, {
    hint: 'Check the coprocessor endpoint and the chain behind it.',
    retryable: true,
    cause: error,
  })
}

/** Returns the error of an encryption whose last attempt failed. */
export const toEncryptError = (error: unknown): SvcError => {
  if (error instanceof SvcError) return error
  if (isLimited(error) || isUnreachable(error)) {
    return withoutCause(toCoprocessorError(error, 'CoFHE encrypt failed'))
  }
  const message = `CoFHE encrypt failed: ${wordsOf(error)}`
  return new SvcError('coprocessor-encrypt-failed', message, {
    hint: 'Try again. If it keeps failing, check the coprocessor endpoint.',
    retryable: true,
  })
}

// In mock mode the SDK's errors hold the plaintext.
const withoutCause = ({ code, message, hint, retryable }: SvcError): SvcError =>
  new SvcError(code, message, { hint, retryable })

/** Returns the error of an operation that timed out. */
export const timedOut = (what: string, timeoutMs: number): SvcError =>
  new SvcError('coprocessor-unavailable', `${what}: no answer within ${timeoutMs / 1000} s`, {
    hint: 'Check the coprocessor endpoint and the chain behind it.',
    retryable: true,
  })

/** Returns the verifier's text when it refused a proof; `isFinal` when the proof itself was wrong. */
export const verifierRefusal = (
  error: unknown,
): { readonly words: string; readonly isFinal: boolean } | undefined => {
  const failure = failureOf(error)
  if (failure?.service !== 'verifier' || failure.status === undefined) return undefined
  const isFinal = /invalid[ _-]?(zk)?[ _-]?proof|proof is invalid/i.test(failure.words)
  return { words: onOneLine(failure.words), isFinal }
}

/** Returns the error of a proof that the verifier finally refused. */
export const refusedProof = (error: unknown, words: string): SvcError =>
  new SvcError(
    'coprocessor-encrypt-failed',
    `CoFHE encrypt failed: the proof was refused: ${words}`,
    { hint: 'Run `svc-node self-check --proof`, and check cofhe_urls.', cause: error },
  )
