import type { z } from 'zod'
import type { Address } from '../../lib/codecs.ts'
import { within } from '../../lib/deadline.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { Heartbeat } from '../../lib/schemas/nodes.ts'
import { toSeconds } from '../../lib/time.ts'
import type { Dependencies } from '../dependencies.ts'
import { countAssignments } from '../pool/load-pool.ts'
import { changeNode } from '../records/change-node.ts'
import {
  defaultComparators,
  ineligibleReasons,
  type Node,
  type Withdrawal,
} from '../rules/eligibility.ts'

const clockToleranceSeconds = 60
const chainPatienceMs = 2_000
const chainLate = () => new Error('the chain is slow')

/** Takes a heartbeat. Returns whether the node is eligible for jobs, and if not, why. */
export async function takeHeartbeat(
  deps: Dependencies,
  caller: Address,
  beat: z.output<typeof Heartbeat>,
) {
  if (beat.operator_address !== caller) {
    throw new ProblemError('forbidden', 'A node sends heartbeats for itself only')
  }
  const now = deps.clock.now()
  const jobs = await deps.store.listJobsOfNode(caller)
  const claimed = countAssignments(jobs, caller, (status) => status === 'claimed')
  const nowSeconds = toSeconds(now)
  let ignored = false
  const node = await changeNode(deps, caller, (known) => {
    ignored = known?.heartbeatTimestamp !== undefined && beat.timestamp <= known.heartbeatTimestamp
    if (!known || ignored) return known
    return {
      ...known,
      heartbeatAt: now,
      // Capped, so that a clock that was ahead does not silence the node once it is corrected.
      heartbeatTimestamp: Math.min(beat.timestamp, nowSeconds + clockToleranceSeconds),
      version: beat.version,
      modelIds: beat.supported_model_ids,
      withdrawn: withdrawnOf(beat, now),
      takes: beat.model_takes ?? [],
      comparators: beat.supported_comparators ?? defaultComparators,
      capacity: beat.free_slots + claimed,
      leaving: beat.final === true,
    }
  })
  if (!node) throw new ProblemError('not-attested', 'The ICL knows no attestation of this node')
  const reasons = await whyNotEligible(deps, node, now)
  return {
    status: ignored ? ('ignored' as const) : ('ok' as const),
    certificate_expires_at: toSeconds(node.certificate.expiresAt),
    eligible: reasons.length === 0,
    reasons,
  }
}

const withdrawnOf = (
  { supported_model_ids: offered, withdrawn = [] }: z.output<typeof Heartbeat>,
  now: number,
): readonly Withdrawal[] =>
  withdrawn.flatMap(({ model_id: modelId, reason, retry_after: seconds }) => {
    if (offered.includes(modelId)) return []
    return [{ modelId, reason, ...(seconds !== undefined && { until: now + seconds * 1000 }) }]
  })

async function whyNotEligible(deps: Dependencies, node: Node, now: number) {
  // A heartbeat counts although the chain is away or hangs. The reasons tell the node so.
  const known = deps.chain.nodeOf(node.address)
  const chain = await within(deps.clock, chainPatienceMs, chainLate, known).catch(() => undefined)
  const outages = await deps.outages.known()
  const reasons = ineligibleReasons(node, chain, { minTier: 0 }, now, outages)
  // A node that has just started sends a heartbeat before its first poll.
  return reasons.filter((reason) => reason !== 'no-recent-poll' || node.polledAt !== undefined)
}

const pollNoteMs = 20_000

/** Records that a node polls for work. Saves at most every 20 s. */
export async function notePoll(deps: Dependencies, address: Address): Promise<void> {
  const now = deps.clock.now()
  await changeNode(deps, address, (node) =>
    node && Math.abs(now - (node.polledAt ?? 0)) >= pollNoteMs ? { ...node, polledAt: now } : node,
  )
}
