import type { Address } from '../../lib/codecs.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { ReputationEvent } from '../../lib/reputation.ts'
import { FaultKind, type FaultView, type NodeFaults } from '../../lib/schemas/fault.ts'
import type { Dependencies } from '../dependencies.ts'
import { faultOf } from '../rules/faults.ts'
import { cursorOf, positionOf } from './page-position.ts'
import { viewFault } from './view-fault.ts'

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
  if (!(await deps.store.findNode(address))) {
    throw new ProblemError('node-not-found', `No node ${address} has attested here`)
  }
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

/** The fence in an event's id, `<jobId>:<fence>:<code>`. */
const fenceIn = (id: string): number => Number(id.split(':')[1])
