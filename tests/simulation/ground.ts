import type { VirtualClock } from '../virtual-clock.ts'
import type { SimulatedChain } from './chain.ts'
import type { SimulatedCoprocessor } from './coprocessor.ts'
import type { Dice } from './dice.ts'
import type { SimulatedNetwork } from './network.ts'
import type { SimulatedProvider } from './provider.ts'
import type { Story } from './story.ts'

/** What nodes and clients of a simulation stand on. */
export type Ground = {
  readonly seed: number
  readonly clock: VirtualClock
  readonly dice: Dice
  readonly story: Story
  readonly chain: SimulatedChain
  readonly coprocessor: SimulatedCoprocessor
  readonly network: SimulatedNetwork
  readonly provider: SimulatedProvider
  /** Counts something that went wrong as the seed wanted. */
  readonly trouble: (kind: string) => void
  /** What errors said to clients. */
  readonly errors: string[]
}
