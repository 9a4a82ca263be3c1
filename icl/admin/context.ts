import type { Clock } from '../../lib/clock.ts'
import type { Random } from '../../lib/random.ts'
import type { Store } from '../store/store.ts'

/** The dependencies of the operator's commands. */
export type AdminContext = {
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
  /** The name of the operator, for the audit. */
  readonly operator: string
}

/** A pool that remembers no nodes. */
export const noPool = { note: () => {} }
