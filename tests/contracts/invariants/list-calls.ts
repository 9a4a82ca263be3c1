import type { Hex } from 'viem'
import { promptKeyStoreAbi } from '../../../lib/abi/prompt-key-store.ts'
import { callsTo, createChoices, recent, type Weighted, type World, weighing } from './callers.ts'
import { encoded } from './encrypted-inputs.ts'
import type { Input, OpenedList, RecordModel } from './key-store-model.ts'

const dayS = 86_400

/** Calls of PromptKeyStore that commit, use and end lists of nodes. */
export const listCalls = (world: World, inputFor: (from: Hex) => Input): Weighted => {
  const { dice, chain, models, now } = world
  const { nodes, keys, lists } = models
  const { actor, anyone, mostly, randomWord } = createChoices(world)
  const store = callsTo(chain.contracts.promptKeyStore, promptKeyStoreAbi, 'PromptKeyStore')

  type Found = readonly [bigint, RecordModel]
  /** A record of this kind if there is one, mostly; else any. */
  const record = (fits: (record: RecordModel) => boolean): Found | undefined => {
    const known = recent(keys.records, dice.chance(0.9) ? 60 : 100_000)
    const fitting = known.filter(([, one]) => fits(one))
    if (fitting.length > 0 && dice.chance(0.92)) return dice.pick(fitting)
    return known.length === 0 ? undefined : dice.pick(known)
  }
  /** Actors in random order, without the owner. */
  const nodesBut = (owner: Hex | undefined): Hex[] => {
    const left = chain.actors.filter((one) => one !== owner)
    const count = dice.between(3, Math.min(9, left.length))
    return Array.from({ length: count }, () => left.splice(dice.between(0, left.length - 1), 1)[0]!)
  }
  const oddList = (list: readonly Hex[]): readonly Hex[] =>
    dice.pick([
      list.slice(0, 2),
      Array.from({ length: 17 }, actor),
      [...list.slice(0, 3), list[0]!],
      [...list, anyone()],
      [...list.slice(1), `0x${'00'.repeat(20)}` as const],
    ])
  const newList = (owner: Hex | undefined): OpenedList => {
    const list = nodesBut(owner)
    return {
      jobId: randomWord(),
      activator: anyone(),
      until: now() + dice.pick([-1, 60, dayS, 20 * dayS, 90 * dayS, 90 * dayS]),
      list: dice.chance(0.06) ? oddList(list) : list,
    }
  }
  /** What was committed for the record, mostly. */
  const openedFor = (of: RecordModel | undefined): OpenedList => {
    const opened = of?.list ?? newList(of?.owner)
    if (!dice.chance(0.08)) return opened
    return dice.pick([
      { ...opened, jobId: randomWord() },
      { ...opened, until: opened.until + 1 },
      { ...opened, activator: actor() },
      { ...opened, list: [...opened.list].reverse() },
      { ...opened, list: [...opened.list.slice(1), actor()] },
    ])
  }
  const bitsOf = (mask: number, count: number) =>
    Array.from({ length: count }, (_, position) => position).filter(
      (position) => ((mask >> position) & 1) === 1,
    )
  /** A pair of handles, of two records at times. */
  const pairOf = (found: Found | undefined): readonly [bigint, bigint] => {
    const low = found?.[1].lowHandle ?? 2n
    return [found?.[0] ?? 1n, dice.chance(0.02) ? low + 1n : low]
  }

  return [
    weighing(12, () => {
      const found = record(({ isOutput, list, ended }) => !isOutput && list === undefined && !ended)
      const owner = found?.[1].owner
      const [from, pair, opened] = [mostly(owner, 0.95), pairOf(found), newList(owner)]
      const { jobId, activator, until, list } = opened
      const some = dice.between(1, 2 ** Math.min(list.length, 16) - 1)
      const mask = dice.chance(0.05) ? dice.pick([0, 1 << Math.min(list.length, 15)]) : some
      const args = [...pair, jobId, list, mask, activator, BigInt(until)]
      const model = (time: number) => lists.commitList(from, pair, opened, mask, time)
      return store('commitList', from, args, model)
    }),
    weighing(12, () => {
      const found = record(({ list }) => list !== undefined)
      const { jobId, activator, until, list } = openedFor(found?.[1])
      const [from, pair] = [mostly(activator, 0.95), pairOf(found)]
      const active = list.flatMap((node, position) =>
        nodes.isActive(node, now()) ? [position] : [],
      )
      const isAimed = active.length > 0 && dice.chance(0.7)
      const index = isAimed ? dice.pick(active) : dice.between(0, list.length)
      const opened = { jobId, until, list }
      const model = (time: number) => lists.activate(from, pair, opened, index, time)
      return store('activate', from, [...pair, jobId, list, BigInt(until), index], model)
    }),
    weighing(4, () => {
      const found = record(({ ended }) => !ended)
      const [from, [high, low]] = [mostly(found?.[1].owner), pairOf(found)]
      return store('endList', from, [high, low], () => lists.endList(from, high, low))
    }),
    weighing(10, () => {
      const found = record(({ list }) => list !== undefined)
      const [of, opened] = [found?.[1], openedFor(found?.[1])]
      const { jobId, activator, until, list } = opened
      const used = bitsOf(of?.used ?? 0, list.length)
      const isSeated = used.length > 0 && dice.chance(0.9)
      const self = isSeated ? dice.pick(used) : dice.between(0, list.length)
      const from = mostly(list[self], 0.95)
      const other = dice.between(0, 0xffff)
      const mask = dice.chance(0.9) ? other & (of?.used ?? 0) : other
      const [high, low] = [inputFor(from), inputFor(from)]
      const halves = [encoded(high), encoded(low)]
      const prompt = found?.[0] ?? 1n
      const args = [...halves, prompt, jobId, activator, BigInt(until), list, self, mask]
      const request = { prompt, opened, self, mask }
      const model = () => lists.storeOutputKey(from, [high, low], request)
      return store('storeKey', from, args, model)
    }),
  ]
}
