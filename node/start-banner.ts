import type { Clock } from '../lib/clock.ts'
import type { Address } from '../lib/codecs.ts'
import { withDeadline } from '../lib/deadline.ts'
import type { NodeChain } from './chain/chain.ts'
import type { Log } from './log.ts'
import { messages } from './log-messages.ts'

const patienceMs = 5_000

/** Logs the start of the daemon: address, tiers, models and the certificate's remaining seconds (spec 6). */
export async function sayStart(
  deps: {
    readonly address: Address
    readonly version: string
    readonly chain: Pick<NodeChain, 'registration'>
    readonly clock: Clock
    readonly log: Log
  },
  modelIds: readonly string[],
  certificateSeconds: number,
  signal: AbortSignal,
): Promise<void> {
  const late = () => new Error('the chain is slow')
  const tiers = await withDeadline(deps.clock, patienceMs, signal, late, async (ended) => {
    const registration = await deps.chain.registration(ended)
    return registration?.modelTiers ?? []
  }).catch(() => undefined)
  const { address, version } = deps
  deps.log.info(messages.daemonStarting({ address, tiers, modelIds, certificateSeconds, version }))
}
