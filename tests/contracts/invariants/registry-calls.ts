import { nodeRegistryAbi } from '../../../lib/abi/node-registry.ts'
import { callsTo, createChoices, type Weighted, type World, weighing } from './callers.ts'
import { minStake, word } from './fuzz-chain.ts'
import { role } from './roles-model.ts'

/** Calls of NodeRegistry but those that move roles. */
export const registryCalls = (world: World): Weighted => {
  const { dice, chain, models } = world
  const { whale, contracts } = chain
  const { nodes } = models
  const { actor, anyone, among, mostly, randomWord, hash } = createChoices(world)
  const registry = callsTo(contracts.nodeRegistry, nodeRegistryAbi, 'NodeRegistry')
  /** Of the largest stake: a second one is too much. */
  const half = 2n ** 127n

  const tiers = (): readonly number[] => {
    if (dice.chance(0.1)) {
      return dice.pick([[], [3, 3], [5, 2], Array.from({ length: 17 }, (_, index) => index)])
    }
    const first = dice.between(0, 3)
    return Array.from({ length: dice.between(1, 3) }, (_, index) => first + 2 * index)
  }
  const wei = () =>
    dice.pick([0n, 1n, minStake / 2n, minStake, minStake + BigInt(dice.between(0, 1_000))])

  const operators = () => [...nodes.nodes.keys()].filter((operator) => operator !== whale)
  const openFaults = () =>
    [...nodes.slashes].flatMap(([fault, { settled }]) => (settled ? [] : [fault]))
  const fault = () => among(dice.chance(0.8) ? openFaults() : nodes.slashes.keys(), randomWord)

  return [
    weighing(8, () => {
      const [list, isWhale] = [tiers(), dice.chance(0.03)]
      const from = isWhale ? whale : actor()
      const value = isWhale ? half : minStake + wei() * 2n
      const paid = dice.chance(0.15) && !isWhale ? minStake - 1n : value
      const model = (time: number) => nodes.register(from, list, paid, time)
      return registry('register', from, [list], model, paid)
    }),
    weighing(3, () => {
      const isWhale = dice.chance(0.05)
      const from = isWhale ? whale : mostly(among(operators(), actor))
      const value = isWhale ? half : wei()
      return registry('addStake', from, [], () => nodes.addStake(from, value), value)
    }),
    weighing(2, () => {
      const [from, list] = [actor(), tiers()]
      return registry('setModelTiers', from, [list], () => nodes.setModelTiers(from, list))
    }),
    weighing(6, () => {
      const from = actor()
      return registry('heartbeat', from, [], (time) => nodes.heartbeat(from, time))
    }),
    weighing(5, () => {
      const from = actor()
      return registry('beginUnbonding', from, [], (time) => nodes.beginUnbonding(from, time))
    }),
    weighing(1, () => {
      const from = actor()
      return registry('cancelUnbonding', from, [], () => nodes.cancelUnbonding(from))
    }),
    weighing(6, () => {
      const from = actor()
      return registry('withdraw', from, [], (time) => nodes.withdraw(from, time))
    }),
    weighing(6, () => {
      const from = mostly(nodes.roles.holderOf(role('coordinator')), 0.85)
      const named = dice.chance(0.9) ? randomWord() : fault()
      const amounts = [0n, 1n, minStake / 3n, minStake, 5n * minStake, 2n ** 256n - 1n]
      const id = dice.chance(0.03) ? word(0) : named
      const args = [id, anyone(), dice.pick(amounts), hash()] as const
      const model = (time: number) => nodes.proposeSlash(from, args, time)
      return registry('proposeSlash', from, args, model)
    }),
    weighing(3, () => {
      const [id, text] = [fault(), hash()]
      const from = mostly(nodes.slashes.get(id)?.operator)
      return registry('answer', from, [id, text], () => nodes.answer(from, id, text))
    }),
    weighing(6, () => {
      const [id, from] = [fault(), actor()]
      return registry('executeSlash', from, [id], (time) => nodes.executeSlash(id, time))
    }),
    weighing(2, () => {
      const [id, from] = [fault(), mostly(nodes.roles.holderOf(role('arbiter')))]
      return registry('cancelSlash', from, [id], () => nodes.cancelSlash(from, id))
    }),
    weighing(2, () => {
      const from = actor()
      return registry('payTreasury', from, [], (time) => nodes.payTreasury(time))
    }),
  ]
}
