import { type Abi, parseAbi } from 'viem'
import { promptKeyStoreAbi } from '../../../lib/abi/prompt-key-store.ts'
import { taskManager } from '../../../lib/chain/task-manager.ts'
import { callsTo, createChoices, recent, type Weighted, type World, weighing } from './callers.ts'
import { createInputs, encoded } from './encrypted-inputs.ts'
import { listCalls } from './list-calls.ts'

/** What anybody may ask the coprocessor past PromptKeyStore. */
const accessAbi = parseAbi([
  'function allow(uint256 handle, address account)',
  'function allowGlobal(uint256 handle)',
])

/** Calls of PromptKeyStore and of the coprocessor's access list; `prepare` makes encrypted inputs ahead. */
export const keyCalls = (
  world: World,
): { readonly calls: Weighted; readonly prepare: (count: number) => Promise<void> } => {
  const { dice, chain, models } = world
  const { contracts } = chain
  const { keys, access } = models
  const { actor, among, mostly, randomWord } = createChoices(world)
  const { prepare, inputFor } = createInputs(dice, actor)
  const store = callsTo(contracts.promptKeyStore, promptKeyStoreAbi, 'PromptKeyStore')
  const coprocessor = callsTo(taskManager, accessAbi as Abi, 'CofheTaskManager')
  const handle = () => among(recent(access.readers.keys(), 60), () => BigInt(randomWord()))

  const calls: Weighted = [
    weighing(5, () => {
      const from = actor()
      const high = inputFor(from)
      const low = dice.chance(0.04) ? high : inputFor(from)
      const model = () => keys.storeInputs(from, high, low)
      return store('storeKey', from, [encoded(high), encoded(low)], model)
    }),
    weighing(9, () => {
      const from = actor()
      const [high, low, terms] = [inputFor(from), inputFor(from), randomWord()]
      const model = () => keys.storeInputs(from, high, low, terms)
      return store('storeKey', from, [encoded(high), encoded(low), terms], model)
    }),
    weighing(4, () => {
      const allowed = recent(models.verified, 6)
      const one = allowed.length > 0 ? dice.pick(allowed) : undefined
      const partner = allowed.find(
        (entry) => entry.account === one?.account && entry.handle !== one.handle,
      )
      const from = mostly(one?.account, 0.8)
      const high = dice.chance(0.9) ? (one?.handle ?? handle()) : handle()
      const low = dice.chance(0.9) ? (partner?.handle ?? handle()) : handle()
      const model = () => keys.storeHandles(from, high, low)
      return store('storeKey', from, [high, low], model)
    }),
    weighing(2, () => {
      const [of, from, account] = [handle(), actor(), actor()]
      return coprocessor('allow', from, [of, account], () => access.allow(from, of, account))
    }),
    weighing(1, () => {
      const [of, from] = [handle(), actor()]
      return coprocessor('allowGlobal', from, [of], () => access.allowGlobal(from, of))
    }),
  ]
  return { calls: [...calls, ...listCalls(world, inputFor)], prepare }
}
