import type { Dice } from '../../simulation/dice.ts'
import {
  copiedPrompt,
  fillerLike,
  nearestOther,
  negated,
  otherName,
  otherNumber,
  refusal,
  spliced,
  truncated,
  weaker,
} from './cheats.ts'
import { diverged, paraphrased, reformatted, substituted } from './honest-repeats.ts'
import { drawAnswer, drawQuestion, type MadeAnswer, sentencesOf, textOf } from './made-answer.ts'

/** A verifier's answer to compare with. */
export type Base = {
  readonly answer: MadeAnswer
  readonly text: string
  /** The length that was asked for. */
  readonly words: number
}

/** A way in which a leader's answer comes about. */
export type MadeCase = {
  readonly name: string
  readonly honest: boolean
  /** The leader's answer; undefined when this answer has nothing that the case could change. */
  readonly claim: (base: Base, dice: Dice) => string | undefined
}

/** Lengths of the corpus in words. */
export const lengths = [20, 60, 256, 1_024] as const

// About what hosted models at temperature 0 do: from the first other word on, less than half of the sentences differ.
const mildShare = 0.4

export function drawBase(dice: Dice, words: number): Base {
  const answer = drawAnswer(dice, drawQuestion(dice, words), words)
  return { answer, text: textOf(sentencesOf(answer)), words }
}

const honest = (name: string, claim: MadeCase['claim']): MadeCase => ({ name, honest: true, claim })
const dishonest = (name: string, claim: MadeCase['claim']): MadeCase => ({
  name,
  honest: false,
  claim,
})

const plainOr = (answer: MadeAnswer | undefined, write: (answer: MadeAnswer) => string) =>
  answer === undefined ? undefined : write(answer)
const written = (answer: MadeAnswer) => textOf(sentencesOf(answer))

/** Every case that is measured. */
export const madeCases: readonly MadeCase[] = [
  honest('0.1 % of the words replaced', ({ text }, dice) => substituted(text, 0.001, dice)),
  honest('0.5 % of the words replaced', ({ text }, dice) => substituted(text, 0.005, dice)),
  honest('2 % of the words replaced', ({ text }, dice) => substituted(text, 0.02, dice)),
  honest('formatting only', ({ answer }, dice) => reformatted(answer, dice)),
  honest('diverges, then 40 % in other words', ({ answer }, dice) =>
    diverged(answer, mildShare, dice),
  ),
  honest('diverges, then all in other words', ({ answer }, dice) => diverged(answer, 1, dice)),
  honest('paraphrase', ({ answer }, dice) => paraphrased(answer, dice)),
  dishonest('truncated to half', ({ text }) => truncated(text)),
  dishonest('truncated to half, diverged', ({ answer }, dice) =>
    truncated(diverged(answer, mildShare, dice)),
  ),
  dishonest('last sentence only', ({ answer }) =>
    answer.statements.length < 2 ? undefined : sentencesOf(answer).at(-1),
  ),
  dishonest('filler', ({ text }, dice) => fillerLike(text, dice)),
  dishonest('refusal', (_, dice) => refusal(dice)),
  dishonest('copied prompt', ({ answer, text }) => copiedPrompt(answer.question.prompt, text)),
  dishonest('answer to the nearest other prompt', ({ answer, words }, dice) =>
    nearestOther(answer, words, dice),
  ),
  dishonest('weaker model', ({ answer }, dice) => weaker(answer, dice)),
  dishonest('spliced: half real, half weaker', ({ answer, text }, dice) =>
    spliced(text, answer, dice),
  ),
  dishonest('spliced, diverged', ({ answer }, dice) =>
    spliced(diverged(answer, mildShare, dice), answer, dice),
  ),
  dishonest('one number changed', ({ answer }, dice) =>
    plainOr(otherNumber(answer, dice), written),
  ),
  dishonest('one number changed, diverged', ({ answer }, dice) =>
    plainOr(otherNumber(answer, dice), (other) => diverged(other, mildShare, dice)),
  ),
  dishonest('one negation changed', ({ text }, dice) => negated(text, dice)),
  dishonest('one negation changed, diverged', ({ answer }, dice) =>
    negated(diverged(answer, mildShare, dice), dice),
  ),
  dishonest('one name changed', ({ answer }, dice) => plainOr(otherName(answer, dice), written)),
  dishonest('one name changed, diverged', ({ answer }, dice) =>
    plainOr(otherName(answer, dice), (other) => diverged(other, mildShare, dice)),
  ),
]
