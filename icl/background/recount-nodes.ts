import { toSeconds } from '../../lib/time.ts'
import { every } from '../async/repeat.ts'
import type { Dependencies } from '../dependencies.ts'
import { changeNode, type Nodes } from '../records/change-node.ts'
import { foldStanding } from './fold-standing.ts'

const lookMs = 1_000

/** Computes every node's standing anew from all of its events, because events may have come that are older than its fold. */
export async function recountNodes(nodes: Nodes & Pick<Dependencies, 'clock'>): Promise<void> {
  const { store, clock } = nodes
  for (const { address } of await store.listNodes(-1)) {
    await changeNode(nodes, address, async (node) => {
      if (!node) return undefined
      const counted = await foldStanding(store, node, undefined, toSeconds(clock.now()))
      return { ...node, folded: undefined, ...counted }
    })
  }
}

/** Does so once a store that is in use without the records of its database has them: nodes may have begun anew here meanwhile. */
export async function recountOnceFilled(deps: Dependencies, signal: AbortSignal): Promise<void> {
  const { partial, writable } = deps.store.status()
  if (!(partial && writable)) return
  const isDone = new AbortController()
  const until = AbortSignal.any([signal, isDone.signal])
  await every(deps, lookMs, until, 'making the scores anew', async () => {
    if (deps.store.status().partial) return
    await recountNodes(deps)
    isDone.abort()
  })
}
