import { instrumented, timed } from '../telemetry/instrumented.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { lastingAtOnce, type Store } from './store.ts'

/** Returns a store with timed calls. When saves return before they are durable, only the waits for the commit are timed; in memory, nothing. */
export function instrumentedStore(store: Store, metrics: Metrics): Store {
  if (store.commits === lastingAtOnce) {
    return store.durable ? instrumented('store', store, metrics) : store
  }
  const barrier = () => {
    const wait = store.commits.barrier()
    return timed('store', 'commit', wait, metrics) as typeof wait
  }
  return { ...store, commits: { ...store.commits, barrier } }
}
