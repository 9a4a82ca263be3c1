import type { Address } from '../../lib/codecs.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { Pool } from '../pool.ts'
import type { Node } from '../rules/eligibility.ts'
import type { Store } from '../store/store.ts'

const maxTries = 20

/** Saves what `change` makes of a node, starting again when somebody else saved in between; `change` may answer undefined to leave an absent node absent. */
export async function changeNode(
  { store, pool }: { readonly store: Store; readonly pool: Pick<Pool, 'note'> },
  address: Address,
  change: (node: Node | undefined) => Promise<Node | undefined> | Node | undefined,
): Promise<Node | undefined> {
  for (let attempt = 0; attempt < maxTries; attempt++) {
    const found = await store.findNode(address)
    const node = await change(found?.document)
    if (!node || node === found?.document) return node
    if (await store.save({ kind: 'node', node, base: found?.version ?? 0 })) {
      pool.note(node)
      return node
    }
  }
  throw new ProblemError('unavailable', 'The node is being changed by too many at once', {
    retryAfterSeconds: 1,
  })
}
