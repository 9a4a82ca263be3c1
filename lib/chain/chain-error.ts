import {
  BaseError,
  ContractFunctionRevertedError,
  FeeCapTooLowError,
  HttpRequestError,
  InsufficientFundsError,
  InternalRpcError,
  LimitExceededRpcError,
  NonceTooLowError,
  TimeoutError,
} from 'viem'
import { causes, remedyFor, whatOf } from '../causes.ts'
import { errorMessage } from '../error-message.ts'
import { AnswerRefused } from '../outgoing.ts'
import { ProxyFailed } from '../proxy.ts'
import { SvcError } from '../svc-error.ts'
import { AllRpcsFailed } from './rpc-list.ts'

const httpTooManyRequests = 429

/** Every error from the outermost to the first cause. */
export const causesOf = (error: unknown): readonly unknown[] => {
  const causes: unknown[] = []
  for (let cause = error; cause !== undefined && causes.length < 20; ) {
    causes.push(cause)
    cause = cause instanceof Error ? cause.cause : undefined
  }
  return causes
}

/** Whether the chain's RPC refused because of its rate limit (spec 7). */
export const isRateLimited = (error: unknown): boolean =>
  causesOf(error).some(
    (cause) =>
      cause instanceof LimitExceededRpcError ||
      (cause instanceof HttpRequestError && cause.status === httpTooManyRequests) ||
      // The coprocessor's SDK carries its own copy of these classes on some installations.
      (cause instanceof Error && 'status' in cause && cause.status === httpTooManyRequests),
  )

/** What the errors say, each for itself: some say more in their details than in their message. */
const wordsOf = (error: unknown): readonly string[] =>
  causesOf(error).map((cause) => {
    if (cause instanceof BaseError) return `${cause.shortMessage} ${cause.details ?? ''}`
    return cause instanceof Error ? cause.message : ''
  })

const revertWords = /revert|VM Exception|invalid opcode|out of gas/i

/** Whether the chain's RPC failed inside (-32603) before the chain executed anything; viem takes each of those for a revert. */
const isInternalRpc = (error: unknown): boolean => {
  const internal = causesOf(error).find((cause) => cause instanceof InternalRpcError)
  if (internal === undefined) return false
  const reverted = causesOf(error).find((cause) => cause instanceof ContractFunctionRevertedError)
  const hasData = reverted?.data !== undefined || reverted?.signature !== undefined
  return !hasData && !revertWords.test(internal.details)
}

/** The name of the contract error that a call reverted with, undefined when it did not revert or gave no reason. */
export const revertNameOf = (error: unknown): string | undefined => {
  if (isInternalRpc(error)) return undefined
  const reverted = causesOf(error).find((cause) => cause instanceof ContractFunctionRevertedError)
  const name = reverted?.data?.errorName
  return name === 'Error' ? reverted?.reason : (name ?? reverted?.signature)
}

/** Whether the chain executed a call and it reverted, with a reason or without. */
export const isRevert = (error: unknown): boolean =>
  revertNameOf(error) !== undefined ||
  (!isInternalRpc(error) &&
    causesOf(error).some(
      (cause) => cause instanceof BaseError && /revert/i.test(cause.details ?? cause.shortMessage),
    ))

/** Whether the chain's RPC could not be reached or did not answer in time. */
export const isUnreachable = (error: unknown): boolean =>
  causesOf(error).some(
    (cause) => cause instanceof HttpRequestError || cause instanceof TimeoutError,
  )

/** Whether the account cannot pay for the gas. */
export const lacksFunds = (error: unknown): boolean =>
  causesOf(error).some((cause) => cause instanceof InsufficientFundsError) ||
  wordsOf(error).some((words) => /insufficient funds/i.test(words))

/** Whether a transaction was refused, never to be sent, because the gas price rose above its fees. */
export const isFeeTooLow = (error: unknown): boolean =>
  !isNonceTaken(error) &&
  (causesOf(error).some((cause) => cause instanceof FeeCapTooLowError) ||
    wordsOf(error).some((words) =>
      /underpriced|fee cap|max ?fee ?per ?gas|gas price (too low|below)|base ?fee/i.test(words),
    ))

/** Whether a transaction was refused, never to be sent, because another process of its wallet has used the nonce. */
export const isNonceTaken = (error: unknown): boolean =>
  causesOf(error).some(
    (cause) =>
      cause instanceof NonceTooLowError ||
      // A chain that only finds the fees too low says `underpriced`, too, but speaks of no replacement.
      (cause instanceof Error &&
        /nonce (is )?too low|replacement.*underpriced|already used/i.test(cause.message)),
  )

/** Whether the RPC has no room for a transaction now. */
const isPoolFull = (error: unknown): boolean =>
  wordsOf(error).some((words) => /pool is full|pool limit|overloaded/i.test(words))

/** Whether the same transaction may be taken later: the RPC was not reached, is busy, or failed inside. */
export const isPassingRefusal = (error: unknown): boolean =>
  isUnreachable(error) || isRateLimited(error) || isPoolFull(error) || isInternalRpc(error)

/** Whether a transaction was refused because the chain has it already. */
export const isAlreadyKnown = (error: unknown): boolean =>
  wordsOf(error).some((words) => /already ?(known|imported)|known transaction/i.test(words))

/** One line that says what went wrong, without viem's request dump. */
export const shortMessageOf = (error: unknown): string => {
  // viem leaves it undefined where the cause is an error of the language.
  if (error instanceof BaseError) return error.shortMessage ?? shortMessageOf(error.cause)
  return errorMessage(error)
}

const maxShownCharacters = 200

/** What the RPC said beyond viem's own words, in one short line; nothing where it was not reached: that may show its address. */
const detailsOf = (error: unknown, why: string): string => {
  const said = causesOf(error).find((cause) => cause instanceof BaseError && cause.details)
  const details = said instanceof BaseError ? said.details.replace(/\s+/g, ' ').trim() : ''
  if (details === '' || why.includes(details)) return ''
  return ` (${details.slice(0, maxShownCharacters)})`
}

type ChainErrorCode =
  | 'chain-too-many-requests'
  | 'chain-wallet-empty'
  | 'chain-fees-too-low'
  | 'chain-rpc-failed'
  | 'chain-reverted'
  | 'chain-unavailable'

const codeOf = (error: unknown): ChainErrorCode => {
  if (isRateLimited(error) || isPoolFull(error)) return 'chain-too-many-requests'
  if (lacksFunds(error)) return 'chain-wallet-empty'
  if (isFeeTooLow(error)) return 'chain-fees-too-low'
  if (isInternalRpc(error)) return 'chain-rpc-failed'
  return isRevert(error) ? 'chain-reverted' : 'chain-unavailable'
}

/** What an RPC responded that is no JSON-RPC, such as another server or one that refuses a key; without its text, which may show its address. */
const strangeAnswerOf = (error: unknown): string | undefined => {
  const all = causesOf(error).find((cause) => cause instanceof AllRpcsFailed)
  if (all) return all.message
  const proxy = causesOf(error).find((cause) => cause instanceof ProxyFailed)
  if (proxy) return `the chain RPC ${proxy.message}`
  const refused = causesOf(error).find((cause) => cause instanceof AnswerRefused)
  if (refused) return `the chain RPC ${refused.message}`
  const failed = causesOf(error).find((cause) => cause instanceof HttpRequestError)
  if (failed?.status !== undefined) return `the chain RPC responds with HTTP ${failed.status}`
  return failed?.cause instanceof SyntaxError ? 'the chain RPC responds with no JSON' : undefined
}

/** What a failed request to the chain becomes: an SvcError `chain-...` of the table of causes, retryable (spec 7). */
export const toChainError = (error: unknown, doing: string): SvcError => {
  if (error instanceof SvcError) return error
  const code = codeOf(error)
  const isNamed = code !== 'chain-unavailable' || isUnreachable(error)
  const named = (code === 'chain-unavailable' && strangeAnswerOf(error)) || whatOf(code)
  const why = isNamed ? named : shortMessageOf(error).replace(/\s+/g, ' ')
  const said = isUnreachable(error) ? '' : detailsOf(error, why)
  return new SvcError(code, `${doing}: ${why}${said}`, {
    // The error itself goes to the user of this RPC.
    hint: remedyFor(causes[code].who, code),
    retryable: true,
    cause: error,
  })
}
