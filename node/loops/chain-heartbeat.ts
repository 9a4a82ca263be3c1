import { type Clock, elapsedSince, type MonotonicMs, unixSeconds } from '../../lib/clock.ts'
import type { NodeChain } from '../chain/chain.ts'
import type { Log } from '../log.ts'

/** How often the node checks on chain whether a heartbeat is due. */
export const chainHeartbeatCheckMs = 3_600_000

const dueAfterSeconds = 10 * 24 * 3_600
// By a clock that is far ahead of the chain's, each heartbeat would be due at once.
const againAfterMs = 24 * 3_600_000

/** Makes one pass of the loop: it sends `NodeRegistry.heartbeat()` when the last one is 10 days old (spec 8). Throws chain errors. */
export function createChainHeartbeat(options: {
  readonly chain: Pick<NodeChain, 'registration' | 'sendHeartbeat'>
  readonly clock: Clock
  readonly log: Log
  readonly signal: AbortSignal
}): () => Promise<void> {
  const { chain, clock, log, signal } = options
  let warned = false
  let sentAt: MonotonicMs | undefined
  return async () => {
    const registration = await chain.registration(signal)
    if (registration === undefined) {
      if (!warned)
        log.warning(
          'On-chain heartbeat skipped: this node is not registered. Run `svc-node register`',
        )
      warned = true
      return
    }
    warned = false
    if (unixSeconds(clock) - registration.lastHeartbeat < dueAfterSeconds) return
    if (elapsedSince(clock, sentAt) < againAfterMs) return
    const sent = await chain.sendHeartbeat(signal)
    sentAt = clock.monotonic()
    log.info(`On-chain heartbeat sent: ${sent}`)
  }
}
