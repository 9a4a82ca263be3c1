import { canonicalJson } from '../../lib/canonical-json.ts'
import type { Address } from '../../lib/codecs.ts'
import { sha256Hex } from '../../lib/digest.ts'
import { type AllowanceHolder, type ReputationEvent, utcDayOf } from '../../lib/reputation.ts'
import { dayMs, toSeconds } from '../../lib/time.ts'
import type { Dependencies } from '../dependencies.ts'
import { changeNode } from '../records/change-node.ts'
import { keyOf } from '../records/keys.ts'
import { unavailable } from '../records/unavailable.ts'
import { allowanceOf, withAccepted } from '../rules/client.ts'
import type { Effect } from '../rules/effects.ts'
import type { Node } from '../rules/eligibility.ts'
import type { Job } from '../rules/job.ts'
import type { Write } from '../store/store.ts'
import { foldStanding } from './fold-standing.ts'

type Scored = Omit<Extract<Effect, { type: 'score-node' }>, 'type'>

/** Records an event about a node once, with the node's standing after it. */
export async function scoreNode(
  deps: Dependencies,
  job: Pick<Job, 'id' | 'client' | 'phase' | 'settledAt'>,
  scored: Scored,
): Promise<void> {
  const { store, clock } = deps
  const { node, fence, code, amountGwei, fault } = scored
  const client = await loadAllowance(deps, job)
  let isNew = true
  let isClaimed = false
  // Another process may have folded the event of a refused attempt, which was taken back.
  let from: number | undefined = toSeconds(clock.now())
  let writes: readonly Write[] = []
  const change = async (known: Node | undefined) => {
    const at = clock.now()
    const id = [job.id, fence, code, ...(fault ? [fault] : [])].join(':')
    const gain = await gainWith(deps, { id, node, at }, scored.partners, isClaimed)
    const event: ReputationEvent = {
      ...{ id, node, jobId: job.id, code, at, client, ...gain?.about },
      ...(amountGwei !== undefined && { amountGwei }),
    }
    writes = isNew ? [...(gain?.writes ?? []), { kind: 'event', event }] : []
    if (!known) return undefined
    const added = isNew ? [event] : []
    const standing = await foldStanding(store, known, from, toSeconds(at), added)
    return { ...known, folded: undefined, ...standing }
  }
  await changeNode(deps, node, change, () => ({
    writes,
    onRefused: (write) => {
      isClaimed ||= write.kind === 'key'
      if (write.kind !== 'event') return
      // The event is there already, and has a time of its own.
      isNew = false
      from = undefined
    },
  }))
}

/**
 * Who brought a gain, and whether they did so before on this UTC day. The first event to claim the day keeps it, however often it is tried.
 * Mostly none has: whether one has is read only once a save has found the day claimed (`isClaimed`).
 */
async function gainWith(
  { store, clock }: Dependencies,
  { id, node, at }: Pick<ReputationEvent, 'id' | 'node' | 'at'>,
  members: readonly Address[] | undefined,
  isClaimed: boolean,
) {
  if (!members) return undefined
  const partners = await sha256Hex(canonicalJson(members.toSorted()))
  const day = utcDayOf(at)
  // The keys of the members of one agreement differ in the last part only.
  const all: readonly Address[] = [...members, node]
  const key = keyOf('gain', day, await sha256Hex(canonicalJson(all.toSorted())), node)
  const now = clock.now()
  const holder = isClaimed ? await store.findKey(key, now) : undefined
  if (holder !== undefined && holder !== id)
    return { about: { partners, again: true as const }, writes: [] }
  // Kept a day longer, because the clocks of replicas may differ.
  const expiresAt = (day + 2) * dayMs
  return { about: { partners }, writes: [{ kind: 'key', key, value: id, now, expiresAt } as const] }
}

const maxTries = 20

type Needed = Pick<Dependencies, 'store' | 'clock' | 'turns'>
type Accounted = Pick<Job, 'client' | 'phase' | 'settledAt'>

/** Returns whose allowance a job's events use. Records once when the client's first job was accepted. */
const loadAllowance = (deps: Needed, job: Accounted): Promise<AllowanceHolder> =>
  deps.turns(`client ${job.client}`, () => loadInTurn(deps, job))

async function loadInTurn(
  { store, clock }: Needed,
  { client: address, phase, settledAt }: Accounted,
): Promise<AllowanceHolder> {
  for (let attempt = 0; attempt < maxTries; attempt++) {
    const found = await store.findClient(address)
    const known = found?.document
    if (phase !== 'accepted' || settledAt === undefined) return allowanceOf(known, clock.now())
    const client = withAccepted(known, address, settledAt)
    const isKnown = client === known
    if (isKnown || (await store.save({ kind: 'client', client, base: found?.version ?? 0 }))) {
      return allowanceOf(client, clock.now())
    }
  }
  throw unavailable('The client is being changed by too many at once', 1)
}
