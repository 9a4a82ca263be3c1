import { createHash } from 'node:crypto'
import type { Comparator, Embed } from '../../../lib/comparators/comparator.ts'
import type { Evidence } from '../../../lib/schemas/evidence.ts'
import { createDice, type Dice } from '../../simulation/dice.ts'
import { type Base, drawBase, type MadeCase } from './made-cases.ts'
import { type Counted, count, type Rates, ratesOf } from './outcomes.ts'

/** What is measured on the made corpus. */
export type MadePlan = {
  readonly comparators: readonly Comparator[]
  readonly cases: readonly MadeCase[]
  readonly lengths: readonly number[]
  /** Answers for each case and length. */
  readonly answers: number
  readonly seed: number
  readonly embed: Embed
  /** Told after each answer, with the share that is done. */
  readonly onProgress?: (share: number) => void
}

/** The rates of one comparator for one case and length. */
export type MadeRates = {
  readonly comparator: string
  readonly case: string
  readonly honest: boolean
  readonly words: number
  readonly rates: Rates
}

// What has no number or no name to change is drawn again.
const maxDraws = 40

/** Rates of every comparator, case and length; the same seed gives the same rates. */
export async function measureMade(plan: MadePlan): Promise<MadeRates[]> {
  const found = new Map<string, Counted>()
  const total = plan.lengths.length * plan.answers
  let done = 0
  for (const words of plan.lengths) {
    for (let number = 0; number < plan.answers; number++) {
      await measureAnswer(plan, words, number, found)
      done += 1
      plan.onProgress?.(done / total)
    }
  }
  return plan.comparators.flatMap(({ id }) =>
    plan.cases.flatMap(({ name, honest }) =>
      plan.lengths.map((words) => ({
        comparator: id,
        case: name,
        honest,
        words,
        rates: ratesOf(found.get(keyOf(id, name, words)) ?? new Map()),
      })),
    ),
  )
}

async function measureAnswer(
  plan: MadePlan,
  words: number,
  number: number,
  found: Map<string, Counted>,
): Promise<void> {
  // One verifier's answer serves all cases: its evidence is made once.
  const shown = new Map<string, Promise<Evidence>>()
  for (const made of plan.cases) {
    const drawn = drawClaim(plan.seed, made, words, number)
    if (drawn === undefined) continue
    const { base, claimed, draw } = drawn
    const { prompt } = base.answer.question
    const seed = `${plan.seed} ${words} ${number} ${draw}`
    const key = Uint8Array.from(createHash('sha256').update(`key ${seed}`).digest())
    for (const comparator of plan.comparators) {
      const evidenceOf = (text: string) =>
        comparator.evidenceOf({ text, prompt, key, embed: plan.embed })
      const name = `${comparator.id} ${draw}`
      const own = shown.get(name) ?? evidenceOf(base.text)
      shown.set(name, own)
      const outcome = comparator.compare(await evidenceOf(claimed), await own)
      const cell = keyOf(comparator.id, made.name, words)
      const counted = found.get(cell) ?? new Map()
      count(counted, seed, outcome)
      found.set(cell, counted)
    }
  }
}

type Drawn = { readonly base: Base; readonly claimed: string; readonly draw: number }

function drawClaim(seed: number, made: MadeCase, words: number, number: number): Drawn | undefined {
  for (let draw = 0; draw < maxDraws; draw++) {
    const base = drawBase(diceOf(`base ${seed} ${words} ${number} ${draw}`), words)
    const claimed = made.claim(base, diceOf(`${made.name} ${seed} ${words} ${number} ${draw}`))
    if (claimed !== undefined) return { base, claimed, draw }
  }
  return undefined
}

const diceOf = (of: string): Dice =>
  createDice(createHash('sha256').update(of).digest().readUInt32LE())

const keyOf = (comparator: string, name: string, words: number): string =>
  `${comparator}\n${name}\n${words}`
