import { nodeRegistryAbi } from '../../../lib/abi/node-registry.ts'
import { resultRegistryAbi } from '../../../lib/abi/result-registry.ts'
import { callsTo, createChoices, type Weighted, type World } from './callers.ts'

/** Calls that move roles. */
export const roleCalls = (world: World): Weighted => {
  const { contracts } = world.chain
  const { nodes, results } = world.models
  const { anyone, among, mostly, randomWord } = createChoices(world)
  const registry = callsTo(contracts.nodeRegistry, nodeRegistryAbi, 'NodeRegistry')
  const recorded = callsTo(contracts.resultRegistry, resultRegistryAbi, 'ResultRegistry')
  return (
    [
      [registry, nodes.roles],
      [recorded, results.roles],
    ] as const
  ).flatMap(([send, roles]) => [
    [
      2,
      () => {
        const of = among(roles.holders.keys(), randomWord)
        const [from, next] = [mostly(roles.holderOf(of)), anyone()]
        return send('offerRole', from, [of, next], () => roles.offer(from, of, next))
      },
    ] as const,
    [
      2,
      () => {
        const of = among(roles.offers.keys(), () => among(roles.holders.keys(), randomWord))
        const from = mostly(roles.offers.get(of), 0.6)
        return send('acceptRole', from, [of], () => roles.accept(from, of))
      },
    ] as const,
  ])
}
