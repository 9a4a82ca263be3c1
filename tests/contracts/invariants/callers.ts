import { type Abi, bytesToHex, encodeFunctionData, type Hex } from 'viem'
import type { Dice } from '../../simulation/dice.ts'
import { type FuzzChain, word } from './fuzz-chain.ts'
import type { Models } from './models.ts'
import { nobody } from './roles-model.ts'

/** One call by one actor: its transaction, and what it does to the models. */
export type RandomCall = {
  readonly name: string
  readonly from: Hex
  readonly to: Hex
  readonly data: Hex
  readonly value: bigint
  readonly model: (now: number) => void
}

/** Calls of one kind, with how often they come in relation to others. */
export type Weighted = readonly (readonly [weight: number, make: () => RandomCall])[]

/** One of them. */
export const weighing = (...one: Weighted[number]): Weighted[number] => one

/** What random calls are made from. */
export type World = {
  readonly dice: Dice
  readonly chain: FuzzChain
  readonly models: Models
  /** Unix seconds of the last block. */
  readonly now: () => number
}

/** Names a function by its contract; one of several of the same name by how many arguments of which kind it has. */
export const callName = (contract: string, name: string, count: number, isTuple: boolean): string =>
  `${contract}.${name}${name === 'storeKey' ? `/${count}${isTuple ? ' inputs' : ' handles'}` : ''}`

/** Makes calls of one contract. */
export const callsTo =
  (to: Hex, abi: Abi, contract: string) =>
  (
    functionName: string,
    from: Hex,
    args: readonly unknown[],
    model: (now: number) => void,
    value = 0n,
  ): RandomCall => {
    const data = encodeFunctionData({ abi, functionName, args })
    const name = callName(contract, functionName, args.length, typeof args[0] === 'object')
    return { name, from, to, data, value, model }
  }

/** The last ones of many. */
export const recent = <T>(from: Iterable<T>, count: number): readonly T[] => [...from].slice(-count)

/** Random choices of whom and what. */
export const createChoices = ({ dice, chain }: Pick<World, 'dice' | 'chain'>) => {
  const actor = () => dice.pick(chain.actors)
  const randomWord = () => bytesToHex(dice.bytes(32))
  return {
    actor,
    randomWord,
    anyone: () => (dice.chance(0.03) ? nobody : actor()),
    /** One that is known, mostly. */
    among: <T>(from: Iterable<T>, otherwise: () => T): T => {
      const known = [...from]
      return known.length > 0 && dice.chance(0.9) ? dice.pick(known) : otherwise()
    },
    /** The one who may, mostly. */
    mostly: (who: Hex | undefined, chance = 0.75): Hex =>
      who !== undefined && who !== nobody && dice.chance(chance) ? who : actor(),
    hash: () => (dice.chance(0.04) ? word(0) : randomWord()),
  }
}
