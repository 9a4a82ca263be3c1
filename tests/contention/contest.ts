import type { Address, JobId } from '../../lib/codecs.ts'
import { ProblemError } from '../../lib/problem.ts'
import { systemClock } from '../../lib/system.ts'
import type { Contender } from './nodes.ts'
import type { Claim } from './tally.ts'

/** An assignment that was offered to a node. */
export type Offer = { readonly jobId: JobId; readonly fence: number; readonly node: Contender }

const chance = (share: number): boolean => Math.random() < share
const some = <T>(all: readonly T[], count: number): readonly T[] =>
  [...all].sort(() => Math.random() - 0.5).slice(0, count)
const upTo = (ms: number): number => Math.floor(Math.random() * ms)

async function outcomeOf(call: Promise<unknown>): Promise<Claim['outcome']> {
  try {
    await call
    return 'granted'
  } catch (error) {
    return error instanceof ProblemError && error.status < 500 ? 'refused' : 'failed'
  }
}

async function claim(
  node: Contender,
  jobId: JobId,
  fence: number,
  add: (claim: Claim) => void,
): Promise<void> {
  const startedAt = performance.now()
  const outcome = await outcomeOf(node.api.claimAssignment({ body: { jobId, fence } }))
  const address: Address = node.address
  add({ jobId, fence, node: address, startedAt, endedAt: performance.now(), outcome })
}

/** Offers and leases of the ICL processes last this long, in milliseconds. */
const leaseMs = 2_500

/**
 * Many claim one assignment through all replicas at once: the node that it was offered to, several times, also with fences that are not
 * its own, and nodes that have no right to it; while it is given back, or about when its offer or its lease ends.
 */
export async function contest(
  { jobId, fence, node }: Offer,
  strangers: readonly Contender[],
  add: (claim: Claim) => void,
): Promise<void> {
  const round = async (own: number) => {
    await Promise.all([
      ...Array.from({ length: own }, () => claim(node, jobId, fence, add)),
      claim(node, jobId, fence + 1, add),
      claim(node, jobId, Math.max(fence - 1, 1), add),
      ...some(strangers, 8).map((stranger) => claim(stranger, jobId, fence, add)),
    ])
  }
  const giveBack = async () => {
    const body = { jobId, fence, reason: 'provider-unavailable' as const }
    await node.api.abortAssignment({ body }).catch(() => {})
  }
  if (chance(0.25)) await systemClock.sleep(leaseMs - 200 + upTo(300))
  await Promise.all([round(16), chance(0.25) && systemClock.sleep(upTo(40)).then(giveBack)])
  if (chance(0.5)) {
    await Promise.all([giveBack(), round(12)])
    return
  }
  await systemClock.sleep(leaseMs - 300 + upTo(300))
  await round(12)
}
