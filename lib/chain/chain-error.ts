import {
  BaseError,
  ContractFunctionRevertedError,
  HttpRequestError,
  InsufficientFundsError,
  LimitExceededRpcError,
  NonceTooLowError,
  TimeoutError,
} from 'viem'
import { SvcError } from '../svc-error.ts'

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

/** The name of the contract error that a call reverted with, undefined when it did not revert or gave no reason. */
export const revertNameOf = (error: unknown): string | undefined => {
  const reverted = causesOf(error).find((cause) => cause instanceof ContractFunctionRevertedError)
  const name = reverted?.data?.errorName
  return name === 'Error' ? reverted?.reason : (name ?? reverted?.signature)
}

/** Whether the chain executed a call and it reverted, with a reason or without. */
export const isRevert = (error: unknown): boolean =>
  causesOf(error).some(
    (cause) => cause instanceof BaseError && /revert/i.test(cause.details ?? cause.shortMessage),
  )

/** Whether the chain's RPC could not be reached or did not answer in time. */
export const isUnreachable = (error: unknown): boolean =>
  causesOf(error).some(
    (cause) => cause instanceof HttpRequestError || cause instanceof TimeoutError,
  )

/** Whether the account cannot pay for the gas. */
export const lacksFunds = (error: unknown): boolean =>
  causesOf(error).some((cause) => cause instanceof InsufficientFundsError)

/** Whether a transaction was refused, never to be sent, because another process of its wallet has used the nonce. */
export const isNonceTaken = (error: unknown): boolean =>
  causesOf(error).some(
    (cause) =>
      cause instanceof NonceTooLowError ||
      // A chain that only finds the fees too low says `underpriced`, too, but speaks of no replacement.
      (cause instanceof Error &&
        /nonce (is )?too low|replacement.*underpriced|already used/i.test(cause.message)),
  )

/** One line that says what went wrong, without viem's request dump. */
export const shortMessageOf = (error: unknown): string => {
  if (error instanceof BaseError) return error.shortMessage
  return error instanceof Error ? error.message : String(error)
}

/** What a failed request to the chain becomes: `chain-too-many-requests` or `chain-unavailable`, both retryable (spec 7). */
export const toChainError = (error: unknown, doing: string): SvcError => {
  if (error instanceof SvcError) return error
  if (isRateLimited(error)) {
    return new SvcError(
      'chain-too-many-requests',
      `${doing}: the chain RPC has too many requests`,
      {
        hint: 'Wait, or use an RPC endpoint with a higher rate limit.',
        retryable: true,
        cause: error,
      },
    )
  }
  const why = isUnreachable(error) ? 'the chain RPC does not answer: ' : ''
  return new SvcError('chain-unavailable', `${doing}: ${why}${shortMessageOf(error)}`, {
    hint: 'Check the chain RPC URL, the chain id and the contract address.',
    retryable: true,
    cause: error,
  })
}
