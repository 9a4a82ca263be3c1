import { resultRegistryAbi } from '../../../lib/abi/result-registry.ts'
import { callsTo, createChoices, recent, type Weighted, type World, weighing } from './callers.ts'
import type { Result } from './result-registry-model.ts'
import { role } from './roles-model.ts'

/** Calls that commit results: new ones, repeated ones, and ones that contradict what is recorded. */
export const resultCalls = (world: World): Weighted => {
  const { dice, chain, models } = world
  const { results } = models
  const { actor, mostly, randomWord } = createChoices(world)
  const { resultRegistry } = chain.contracts
  const recorded = callsTo(resultRegistry, resultRegistryAbi, 'ResultRegistry')
  const result = (): Result => {
    const known = recent(results.entries.values(), 50)
    const fresh: Result = {
      jobId: randomWord(),
      outputCidHash: randomWord(),
      receiptHash: randomWord(),
      leader: actor(),
      matchCount: dice.between(0, 65_535),
      noMatchCount: dice.between(0, 3),
      verifiers: Array.from({ length: dice.between(0, 3) }, actor),
    }
    if (known.length === 0 || dice.chance(0.5)) return fresh
    const before = dice.pick(known).result
    const fields = ['outputCidHash', 'receiptHash', 'leader', 'verifiers', 'noMatchCount'] as const
    if (dice.chance(0.4)) return before
    const field = dice.pick(fields)
    return { ...before, [field]: fresh[field] }
  }
  return [
    weighing(7, () => {
      const batch = Array.from({ length: dice.between(0, 3) }, result)
      const list = batch.length > 0 && dice.chance(0.1) ? [...batch, batch[0]!] : batch
      const from = mostly(results.roles.holderOf(role('coordinator')), 0.85)
      const model = (time: number) => results.commitResults(from, list, time)
      return recorded('commitResults', from, [list], model)
    }),
  ]
}
