import { CofheErrorCode, isCofheError } from '@cofhe/sdk'
import { causesOf, isRateLimited, isUnreachable, shortMessageOf } from '../chain/chain-error.ts'
import { SvcError } from '../svc-error.ts'

const httpForbidden = 403
const httpNotFound = 404
const httpTooManyRequests = 429
const maxWords = 300

const statusOf = (error: unknown): unknown =>
  causesOf(error)
    .map((cause) => (isCofheError(cause) ? cause.context?.status : undefined))
    .find((status) => status !== undefined)

const saysOneOf = (error: unknown, words: RegExp): boolean =>
  causesOf(error).some((cause) => cause instanceof Error && words.test(cause.message))

const isUnknown = (error: unknown): boolean =>
  statusOf(error) === httpNotFound || saysOneOf(error, /sealOutput request not found/)

/** The message without requests to the chain, which hold the RPC's address and what was sent: the SDK quotes viem in full. */
const withoutRequests = (error: unknown): string =>
  causesOf(error).reduce<string>((message, cause) => {
    // By its field: the SDK carries its own copy of viem on some installations.
    if (!(cause instanceof Error && 'shortMessage' in cause)) return message
    return message.replaceAll(cause.message, () => String(cause.shortMessage))
  }, shortMessageOf(error))

/** What went wrong in one short line: the SDK puts whole answers of services into its messages. */
const wordsOf = (error: unknown): string =>
  withoutRequests(error)
    .replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ')
    .trim()
    .slice(0, maxWords)

/** Whether the coprocessor refused the permit itself, which a new permit may cure. */
export const isPermitRefused = (error: unknown): boolean =>
  saysOneOf(error, /PermissionInvalid_|Permit is expired/)

/** Whether the chain's RPC or the coprocessor refused because of its rate limit. */
export const isLimited = (error: unknown): boolean =>
  statusOf(error) === httpTooManyRequests ||
  isRateLimited(error) ||
  // Of the verifier's refusals the SDK keeps the words only.
  /too.?many.?requests/i.test(verifierRefusal(error)?.words ?? '')

const isDenied = (error: unknown): boolean =>
  statusOf(error) === httpForbidden || saysOneOf(error, /NotAllowed|PermissionInvalid_/)

/** The error for a coprocessor that is refusing, `what` being the operation that failed (spec 7). */
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
  if (isUnknown(error)) {
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

/** The error for an encryption that failed in its last attempt. */
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

// In its mock mode the SDK's errors hold what was to be encrypted.
const withoutCause = ({ code, message, hint, retryable }: SvcError): SvcError =>
  new SvcError(code, message, { hint, retryable })

/** The error for an operation that took longer than it may. */
export const timedOut = (what: string, timeoutMs: number): SvcError =>
  new SvcError('coprocessor-unavailable', `${what}: no answer within ${timeoutMs / 1000} s`, {
    hint: 'Check the coprocessor endpoint and the chain behind it.',
    retryable: true,
  })

/** What the verifier said when it refused a proof; `isFinal` when the proof itself was at fault. */
export const verifierRefusal = (
  error: unknown,
): { readonly words: string; readonly isFinal: boolean } | undefined => {
  const refused = causesOf(error).some(
    (cause) => isCofheError(cause) && cause.code === CofheErrorCode.ZkVerifyFailed,
  )
  const words = refused ? wordsOf(error).split(/HTTP error! [^-]* - /)[1] : undefined
  return words === undefined
    ? undefined
    : { words, isFinal: /invalid[ _-]?(zk)?[ _-]?proof|proof is invalid/i.test(words) }
}

/** The error for a proof that the verifier refuses for good. */
export const refusedProof = (error: unknown, words: string): SvcError =>
  new SvcError(
    'coprocessor-encrypt-failed',
    `CoFHE encrypt failed: the proof was refused: ${words}`,
    { hint: 'Run `svc-node self-check --proof`, and check cofhe_urls.', cause: error },
  )
