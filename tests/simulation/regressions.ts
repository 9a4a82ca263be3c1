import type { StoreKind } from './parameters.ts'

/** A seed that once broke a promise, and what that showed. */
export type Regression = {
  readonly seed: number
  readonly store: StoreKind
  readonly found: string
}

/** Seeds that once broke a promise, in the service or in the simulation. A change of what seeds draw makes other worlds of them: they stay all the same. */
export const regressions: readonly Regression[] = [
  {
    seed: 50,
    store: 'sqlite',
    found: 'a refuted verdict is kept as the proof of a fault, and not as a vote',
  },
  {
    seed: 100,
    store: 'memory',
    found: 'a daemon that is killed while it stops does not keep its simulation waiting',
  },
  {
    seed: 95,
    store: 'memory',
    found: 'an offer may cross the report of a node that leaves',
  },
  {
    seed: 8535,
    store: 'memory',
    found: 'a node that was not attested when an outage ended waited minutes before it tried again',
  },
]
