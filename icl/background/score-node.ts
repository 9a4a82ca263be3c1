import type { Address, JobId } from '../../lib/codecs.ts'
import type { ReputationCode } from '../../lib/reputation.ts'
import { toSeconds } from '../../lib/time.ts'
import type { Dependencies } from '../dependencies.ts'
import { changeNode } from '../operations/change-node.ts'
import { foldStanding } from './fold-standing.ts'

/** Records an event about a node, once, and brings the node's standing up to date. */
export async function scoreNode(
  deps: Dependencies,
  jobId: JobId,
  {
    node,
    fence,
    code,
    amountGwei,
  }: { node: Address; fence: number; code: ReputationCode; amountGwei?: number },
): Promise<void> {
  const id = `${jobId}:${fence}:${code}`
  const what = { code, ...(amountGwei !== undefined && { amountGwei }) }
  const at = deps.clock.now()
  const isNew = await deps.store.save({ kind: 'event', event: { id, node, jobId, ...what, at } })
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
