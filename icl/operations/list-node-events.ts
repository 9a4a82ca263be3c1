import type { z } from 'zod'
import { canonicalJson } from '../../lib/canonical-json.ts'
import type { Address } from '../../lib/codecs.ts'
import { encode } from '../../lib/encode.ts'
import type { ReputationEvent } from '../../lib/reputation.ts'
import { FaultKind, type FaultView, type NodeFaults } from '../../lib/schemas/fault.ts'
import { type ReputationEvents, ReputationStatement } from '../../lib/schemas/nodes.ts'
import { toSeconds } from '../../lib/time.ts'
import type { Dependencies } from '../dependencies.ts'
import { faultOf } from '../rules/faults.ts'
import { cursorOf, pageOf, positionOf } from './page-position.ts'
import { viewFault } from './view-fault.ts'
import { loadNode } from './view-nodes.ts'

const pageSize = 100

/** Returns a page of a node's reputation events, newest first. Each event is signed, so that it can be shown to others. */
export async function listNodeEvents(
  deps: Dependencies,
  address: Address,
  cursor: string | undefined,
): Promise<z.output<typeof ReputationEvents>> {
  const before = positionOf(cursor)
  await loadNode(deps, address)
  const found = await deps.store.listReputationEvents(address, { before, limit: pageSize + 1 })
  const { page, next_cursor } = pageOf(found, pageSize, cursorOf)
  return { events: await Promise.all(page.map((event) => signed(deps, event))), next_cursor }
}

/** The signature is over the canonical JSON (RFC 8785) of the body. */
async function signed({ keys: { tally } }: Dependencies, event: ReputationEvent) {
  const body: ReputationStatement = {
    statement: 'svc-reputation-v2',
    id: event.id,
    address: event.node,
    jobId: event.jobId,
    code: event.code,
    at: toSeconds(event.at),
    ...(event.amountGwei !== undefined && { amount_gwei: event.amountGwei }),
    ...(event.client !== undefined && { client: event.client }),
    ...(event.partners !== undefined && { partners: event.partners }),
    ...(event.again && { again: event.again }),
  }
  const signature = await tally.sign(canonicalJson(encode(ReputationStatement, body)))
  return { body, key: tally.publicKey, signature }
}

const maxFaults = 20
const eventsAtOnce = 100
const maxLooks = 10

/** Returns a page of a node's proven faults, newest first, found by its reputation events. Leaves out faults of deleted jobs. */
export async function listNodeFaults(
  deps: Dependencies,
  address: Address,
  cursor: string | undefined,
): Promise<NodeFaults> {
  let before = positionOf(cursor)
  await loadNode(deps, address)
  const faults: FaultView[] = []
  for (let looks = 0; looks < maxLooks; looks++) {
    const events = await deps.store.listReputationEvents(address, { before, limit: eventsAtOnce })
    for (const event of events) {
      before = { at: event.at, id: event.id }
      const fault = await faultBehind(deps, event)
      if (fault) faults.push(fault)
      if (faults.length === maxFaults) return { faults, next_cursor: cursorOf(before) }
    }
    if (events.length < eventsAtOnce) return { faults, next_cursor: null }
  }
  return { faults, next_cursor: before ? cursorOf(before) : null }
}

async function faultBehind(
  deps: Dependencies,
  { id, jobId, code }: ReputationEvent,
): Promise<FaultView | undefined> {
  const kind = FaultKind.safeParse(code)
  if (!kind.success) return undefined
  const job = (await deps.store.findJob(jobId))?.document
  const fault = job && faultOf(job, kind.data, fenceIn(id))
  return fault && viewFault(deps, job, fault)
}

/** The fence in an event's id, `<jobId>:<fence>:<code>`, which for the end of a slash is followed by the kind of the fault. */
const fenceIn = (id: string): number => Number(id.split(':')[1])
