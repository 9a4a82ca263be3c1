import type { Dependencies } from '../dependencies.ts'
import { givePools } from '../operations/ask-for-pool.ts'
import { every } from './every.ts'

const periodMs = 500

/** Hands the pools of this replica's previews to the replicas that jobs came to, until the signal aborts. */
export async function keepGivingPools(deps: Dependencies, signal: AbortSignal): Promise<void> {
  if (!deps.store.shared) return
  await every(deps, periodMs, signal, 'handing over pools', () => givePools(deps))
}
