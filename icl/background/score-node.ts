import type { Address, JobId } from '../../lib/codecs.ts'
import type { Dependencies } from '../dependencies.ts'
import { changeNode } from '../operations/change-node.ts'
import { type ReputationCode, standingOf } from '../rules/reputation.ts'

/** Records an event about a node, once, and brings the node's standing up to date. */
export async function scoreNode(
  deps: Dependencies,
  jobId: JobId,
  { node, fence, code }: { node: Address; fence: number; code: ReputationCode },
): Promise<void> {
  const id = `${jobId}:${fence}:${code}`
  await deps.store.insertReputationEvent({ id, node, jobId, code, at: deps.clock.now() })
  // The fold starts from all events, so that repeating this changes nothing; it is made anew on every try to save.
  await changeNode(
    deps,
    node,
    async (known) =>
      known && { ...known, standing: standingOf(await deps.store.listReputationEvents(node)) },
  )
}
