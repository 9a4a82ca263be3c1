/*
 * The numbers that simulated models give of texts. The shares are near those of SmolLM2-135M-Instruct (docs/comparators.md): how often a text of each kind is
 * unlikely, and how often it matches a group that honest answers form. All models that score one text find it likely or not alike, which
 * is the worst case for honest nodes: two false alarms of one text are as frequent as one.
 */

import type { Hash32, JobId } from '../../lib/codecs.ts'
import { likelihoodOf } from '../../lib/likelihood-rule.ts'
import { scoreOf, type TokenTold } from '../../lib/teacher.ts'
import { createDice, type Dice } from '../simulation/dice.ts'

type Shares = { readonly unlikely: number; readonly joins: number; readonly noise: number }

/**
 * Of the texts of each kind, in thousandths: those that are unlikely, and those that match a group of honest answers. `noise` is how far a
 * checker with that model is from the truth at most, in thousandths of a nat. `tuned`: just below the threshold at every token. `filler`:
 * a repetition, which no model wrote.
 */
export const kinds = {
  model: { unlikely: 5, joins: 1_000, noise: 190 },
  Q8_0: { unlikely: 60, joins: 700, noise: 240 },
  Q5_0: { unlikely: 850, joins: 140, noise: 1_000 },
  Q4_0: { unlikely: 1_000, joins: 70, noise: 1_600 },
  tuned: { unlikely: 0, joins: 0, noise: 190 },
  filler: { unlikely: 0, joins: 0, noise: 190 },
} as const satisfies Readonly<Record<string, Shares>>
export type Kind = keyof typeof kinds

/** A text that a node wrote in a job. */
export type Written = { readonly jobId: JobId; readonly text: string; readonly kind: Kind }

/** The tokens of a text as a checker with a model of this kind finds them: always the same for a text and a checker. */
export function toldOf(
  { jobId, text, kind }: Written,
  checker: { readonly name: string; readonly kind: Kind },
): readonly TokenTold[] {
  const own = createDice(1).fork(`${jobId} ${text}`)
  const seen = createDice(1).fork(`${jobId} ${text} ${checker.name}`)
  const { noise } = kinds[checker.kind]
  const most = seen.between(Math.floor(noise / 4), noise)
  const n = own.between(25, 192)
  const isUnlikely = own.between(1, 1_000) <= kinds[kind].unlikely
  return Array.from({ length: n }, () => {
    const top = [150, 2_500, 3_500, 4_200, 5_000].map((nats) => ({
      token: `token ${own.between(1, 9_999)}`,
      logprob: -Math.max(0, nats + seen.between(-most, most)) / 1_000,
    }))
    const first = Math.max(...top.map(({ logprob }) => logprob))
    return { logprob: first - gapOf(own, kind, isUnlikely) / 1_000, top }
  })
}

function gapOf(dice: Dice, kind: Kind, isUnlikely: boolean): number {
  const isApart = dice.chance(isUnlikely ? 0.4 : 0.025)
  if (kind === 'tuned') return tunedGap
  if (!isApart) return 0
  return isUnlikely ? dice.between(200, 2_000) : dice.between(1, 300)
}

/** The greatest gap that each token of a text of 192 tokens may have, by one who knows the rule. A shorter text may have more. */
const tunedGap = await greatestGap()

async function greatestGap(): Promise<number> {
  const told = Array.from({ length: 192 }, () => ({ logprob: 0, top: [{ token: '', logprob: 0 }] }))
  const score = await scoreOf(told, `0x${'00'.repeat(32)}` as Hash32, new Uint8Array(32))
  const isLikely = (gap: number) => {
    const all = [1, 2].map(() => ({ ...score, gap: gap * score.n, trimmed: gap * score.n }))
    return likelihoodOf(all) === 'likely'
  }
  let gap = 0
  while (isLikely(gap + 1)) gap++
  return gap
}

/** Tokens of a checker that asks no model: all are the likeliest, and the others are invented. */
export function inventedOf(written: Written, name: string): readonly TokenTold[] {
  const { length } = toldOf(written, { name, kind: 'model' })
  const dice = createDice(1).fork(`${written.jobId} invented by ${name}`)
  return Array.from({ length }, () => {
    const top = [150, 2_500, 3_500, 4_200, 5_000].map((nats) => ({
      token: `token ${dice.between(1, 9_999)}`,
      logprob: -nats / 1_000,
    }))
    return { logprob: -0.15, top }
  })
}
