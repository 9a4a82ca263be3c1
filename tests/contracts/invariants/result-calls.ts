import { resultRegistryAbi } from '../../../lib/abi/result-registry.ts'
import { callsTo, createChoices, recent, type Weighted, type World, weighing } from './callers.ts'
import type { Result } from './result-registry-model.ts'
import { role } from './roles-model.ts'

/** Calls that commit results: new ones, repeated ones, and ones that contradict what is recorded. */
export const resultCalls = (world: World): Weighted => {
  const { dice, chain, models } = world
  const { results } = models
  const { hash, mostly, randomWord } = createChoices(world)
  const { resultRegistry } = chain.contracts
  const recorded = callsTo(resultRegistry, resultRegistryAbi, 'ResultRegistry')
  const result = (): Result => {
    const known = recent(results.receipts, 50)
    if (known.length === 0 || dice.chance(0.5)) return { jobId: randomWord(), receiptHash: hash() }
    const [jobId, receiptHash] = dice.pick(known)
    return { jobId, receiptHash: dice.chance(0.4) ? receiptHash : hash() }
  }
  return [
    weighing(7, () => {
      const batch = Array.from({ length: dice.between(0, 3) }, result)
      const list = batch.length > 0 && dice.chance(0.1) ? [...batch, batch[0]!] : batch
      const from = mostly(results.roles.holderOf(role('coordinator')), 0.85)
      const model = () => results.commitResults(from, list)
      return recorded('commitResults', from, [list], model)
    }),
  ]
}
