import { instrumented, timed } from '../telemetry/instrumented.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { lastingAtOnce, type Store } from './store.ts'

/** A store that is timed: its calls, or, where saves are made in this process and last later, the waits until they do. */
export function instrumentedStore(store: Store, metrics: Metrics): Store {
  if (store.commits === lastingAtOnce) return instrumented('store', store, metrics)
  const barrier = () => {
    const wait = store.commits.barrier()
    return timed('store', 'commit', wait, metrics) as typeof wait
  }
  return { ...store, commits: { ...store.commits, barrier } }
}
