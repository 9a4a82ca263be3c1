import { SvcError } from '../../lib/svc-error.ts'

/** The newest block that an RPC knows. `timestamp` in Unix seconds. */
export type NewestBlock = {
  readonly number: bigint
  readonly timestamp: number
  readonly host: string
}

/** The error of an RPC that lacks a block that others have; undefined when it has it. `now` in Unix seconds. */
export const behindError = (
  newest: NewestBlock,
  block: bigint,
  now: number,
): SvcError | undefined =>
  newest.number >= block
    ? undefined
    : new SvcError('chain-behind', behindText(newest, block, now), {
        hint: 'Wait until it has caught up, or name another one or several in cofhe_endpoint (SVC_COFHE_ENDPOINT).',
        retryable: true,
      })

const behindText = (newest: NewestBlock, block: bigint, now: number): string =>
  `the chain RPC at ${newest.host} is ${block - newest.number} or more blocks behind: ${newestText(newest, now)}, others know block ${block}`

/** The newest block of an RPC, and its age. */
export const newestText = ({ number, timestamp }: NewestBlock, now: number): string =>
  `its newest block is ${number}, ${Math.max(0, now - timestamp)} s old`
