import { createChoices, type RandomCall, type Weighted, type World, weighing } from './callers.ts'
import { keyCalls } from './key-calls.ts'
import { noReason, Reverted } from './outcome.ts'
import { registryCalls } from './registry-calls.ts'
import { resultCalls } from './result-calls.ts'
import { roleCalls } from './role-calls.ts'

/** Calls that no contract knows: plain ether, and an unknown function. */
const bareCalls = (world: World): Weighted => {
  const { dice, chain } = world
  const { actor } = createChoices(world)
  const { contracts } = chain
  return [
    weighing(1, () => {
      const { nodeRegistry, promptKeyStore, resultRegistry } = contracts
      const to = dice.pick([nodeRegistry, promptKeyStore, resultRegistry])
      const data = dice.pick(['0x', '0x12345678'] as const)
      const model = () => {
        throw new Reverted(noReason)
      }
      return { name: 'bare', from: actor(), to, data, value: data === '0x' ? 1n : 0n, model }
    }),
  ]
}

/** Makes random calls: mostly sensible ones, which get far, and hostile ones, aimed at what others own. */
export const createRandomCalls = (world: World) => {
  const { dice } = world
  const { calls, prepare } = keyCalls(world)
  const all = [registryCalls, roleCalls, resultCalls, bareCalls].flatMap((make) => make(world))
  all.push(...calls)
  const weights = all.reduce((sum, [weight]) => sum + weight, 0)
  const next = (): RandomCall => {
    let left = dice.next() * weights
    const chosen = all.find(([weight]) => {
      left -= weight
      return left < 0
    })
    return (chosen ?? all[0]!)[1]()
  }
  return { prepare, next }
}
