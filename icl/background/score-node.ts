import { canonicalJson } from '../../lib/canonical-json.ts'
import type { Address, Hash32 } from '../../lib/codecs.ts'
import { sha256Hex } from '../../lib/digest.ts'
import { type ReputationCode, type ReputationEvent, utcDayOf } from '../../lib/reputation.ts'
import { dayMs, toSeconds } from '../../lib/time.ts'
import type { Dependencies } from '../dependencies.ts'
import { changeNode } from '../records/change-node.ts'
import { claimKey } from '../records/claim-key.ts'
import type { Job } from '../rules/job.ts'
import { loadAllowance } from './client-allowance.ts'
import { foldStanding } from './fold-standing.ts'

/** What a node is scored for; `partners` are the other members of the agreement, of a gain that it brought. */
type Scored = {
  readonly node: Address
  readonly fence: number
  readonly code: ReputationCode
  readonly amountGwei?: number
  readonly partners?: readonly Address[]
}

/** Records an event about a node, once, and brings the node's standing up to date. */
export async function scoreNode(
  deps: Dependencies,
  job: Pick<Job, 'id' | 'client' | 'phase' | 'settledAt'>,
  { node, fence, code, amountGwei, partners }: Scored,
): Promise<void> {
  const at = deps.clock.now()
  const id = `${job.id}:${fence}:${code}`
  const client = await loadAllowance(deps, job)
  const event: ReputationEvent = {
    ...{ id, node, jobId: job.id, code, at, client },
    ...(amountGwei !== undefined && { amountGwei }),
    ...(partners && (await gainWith(deps, { id, node, at }, partners))),
  }
  const isNew = await deps.store.save({ kind: 'event', event })
  // One that is there already, or that another process saves, may have come at any time, and be missing from what is folded.
  const from = isNew && !deps.store.shared ? toSeconds(at) : undefined
  // Repeating this changes nothing: the fold is made anew on every try to save.
  await changeNode(
    deps,
    node,
    async (known) =>
      known && {
        ...known,
        folded: undefined,
        ...(await foldStanding(deps.store, known, from, toSeconds(at))),
      },
  )
}

/** Who brought a gain, and whether they did so before on this UTC day: the first event to claim the day has it, however often it is tried. */
async function gainWith(
  deps: Dependencies,
  { id, node, at }: Pick<ReputationEvent, 'id' | 'node' | 'at'>,
  members: readonly Address[],
): Promise<{ readonly partners: Hash32; readonly again?: true }> {
  const partners = await sha256Hex(canonicalJson(members.toSorted()))
  const day = utcDayOf(at)
  // A day longer than its day: clocks of replicas may differ.
  const holder = await claimKey(deps, `gain:${node}:${day}:${partners}`, id, (day + 2) * dayMs)
  return { partners, ...(holder !== id && { again: true }) }
}
