import type { Clock } from '../../lib/clock.ts'
import type { Random } from '../../lib/random.ts'
import type { Store } from '../store/store.ts'

/** What the operator's commands work with. */
export type AdminContext = {
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
  /** Who asks, for the audit. */
  readonly operator: string
}

/** This process remembers no nodes that it would have to be told about. */
export const noPool = { note: () => {} }
