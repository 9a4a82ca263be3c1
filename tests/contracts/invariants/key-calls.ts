import type { Hex } from 'viem'
import { type Abi, parseAbi } from 'viem'
import { promptKeyStoreAbi } from '../../../lib/abi/prompt-key-store.ts'
import { taskManager } from '../../../lib/chain/task-manager.ts'
import { callsTo, createChoices, recent, type Weighted, type World } from './callers.ts'
import { createInputs, encoded } from './encrypted-inputs.ts'
import { listCalls } from './list-calls.ts'
import { nobody } from './roles-model.ts'

/** What anybody may ask the coprocessor past PromptKeyStore. */
const accessAbi = parseAbi([
  'function allow(uint256 handle, address account)',
  'function allowGlobal(uint256 handle)',
])

/** Calls of PromptKeyStore and of the coprocessor's access list; `prepare` makes encrypted inputs ahead. */
export const keyCalls = (
  world: World,
): { readonly calls: Weighted; readonly prepare: (count: number) => Promise<void> } => {
  const { dice, chain, models, now } = world
  const { contracts } = chain
  const { nodes, keys, access } = models
  const { actor, anyone, among, mostly, randomWord } = createChoices(world)
  const { prepare, inputFor } = createInputs(dice, actor)
  const store = callsTo(contracts.promptKeyStore, promptKeyStoreAbi, 'PromptKeyStore')
  const coprocessor = callsTo(taskManager, accessAbi as Abi, 'CofheTaskManager')
  const record = (): readonly [bigint, bigint, Hex | undefined, Hex | undefined] => {
    const known = recent(keys.records, dice.chance(0.8) ? 12 : 100_000)
    if (known.length === 0) return [1n, 2n, undefined, undefined]
    const [high, { lowHandle, owner, delegate }] = dice.pick(known)
    const other = dice.pick(known)
    if (dice.chance(0.05)) return [high, other[1].lowHandle, owner, delegate]
    if (dice.chance(0.03)) return [lowHandle, high, owner, delegate]
    return [high, lowHandle, owner, delegate]
  }
  /** A record whose delegate has used up its grants. */
  const usedUp = () =>
    recent(keys.records, 100).find(
      ([, { delegate, grantsLeft, until }]) =>
        delegate !== nobody && grantsLeft === 0 && until > now(),
    )
  const handle = () => among(recent(access.readers.keys(), 60), () => BigInt(randomWord()))

  const calls: Weighted = [
    [
      5,
      () => {
        const from = actor()
        const high = inputFor(from)
        const low = dice.chance(0.04) ? high : inputFor(from)
        const model = () => keys.storeInputs(from, high, low)
        return store('storeKey', from, [encoded(high), encoded(low)], model)
      },
    ],
    [
      9,
      () => {
        const from = actor()
        const [high, low, terms] = [inputFor(from), inputFor(from), randomWord()]
        const model = () => keys.storeInputs(from, high, low, terms)
        return store('storeKey', from, [encoded(high), encoded(low), terms], model)
      },
    ],
    [
      7,
      () => {
        const from = actor()
        const [high, low] = [inputFor(from), inputFor(from)]
        const isNone = dice.chance(0.2)
        const count = dice.chance(0.04) ? 17 : dice.between(0, 3)
        const readers = Array.from({ length: count }, anyone)
        const delegate = isNone ? nobody : actor()
        const isOdd = dice.chance(0.08)
        const maxGrants = isNone === isOdd ? dice.between(1, 2) : 0
        const soon = now() + dice.pick([-1, 1, 60, 86_400, 20 * 86_400])
        const until = isNone && !isOdd ? 0 : soon
        const delegation = { readers, delegate, maxGrants, until }
        const args = [encoded(high), encoded(low), readers, delegate, maxGrants, BigInt(until)]
        const model = (time: number) => keys.storeDelegated(from, [high, low], delegation, time)
        return store('storeKey', from, args, model)
      },
    ],
    [
      4,
      () => {
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
      },
    ],
    [
      12,
      () => {
        const used = dice.chance(0.1) ? usedUp() : undefined
        const [high, low, owner, delegate] = used
          ? [used[0], used[1].lowHandle, used[1].owner, used[1].delegate]
          : record()
        const from = mostly(used || dice.chance(0.65) ? delegate : owner)
        const active = [...nodes.nodes.keys()].filter((operator) => nodes.isActive(operator, now()))
        const reader = dice.chance(0.7) ? among(active, anyone) : anyone()
        const model = (time: number) => keys.grantAccess(from, high, low, reader, time)
        return store('grantAccess', from, [high, low, reader], model)
      },
    ],
    [
      2,
      () => {
        const [of, from, account] = [handle(), actor(), actor()]
        return coprocessor('allow', from, [of, account], () => access.allow(from, of, account))
      },
    ],
    [
      1,
      () => {
        const [of, from] = [handle(), actor()]
        return coprocessor('allowGlobal', from, [of], () => access.allowGlobal(from, of))
      },
    ],
  ]
  return { calls: [...calls, ...listCalls(world, inputFor)], prepare }
}
