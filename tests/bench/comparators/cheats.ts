import type { Dice } from '../../simulation/dice.ts'
import { joinedAt } from './honest-repeats.ts'
import {
  countWords,
  drawAnswer,
  drawQuestion,
  drawStatement,
  inventName,
  type MadeAnswer,
  type Statement,
  sentencesOf,
  textOf,
  wordingSeed,
} from './made-answer.ts'
import { filler, refusals } from './word-lists.ts'

// Two answers about one thing agree in part even when the questions differ.
const sharedByNeighbours = 0.2
const mostSharedByNeighbours = 0.34
const knownByWeaker = 0.5
const lengthOfWeaker = 0.85
const neighboursTried = 5
const opposites: Readonly<Record<string, string>> = {
  ' does not ': ' does ',
  ' gets ': ' never gets ',
  ' comes ': ' never comes ',
}

/** The first half of the words; undefined when there are too few. */
export function truncated(text: string): string | undefined {
  const words = text.split(' ')
  return words.length < 4 ? undefined : words.slice(0, Math.ceil(words.length / 2)).join(' ')
}

/** Sentences that fit anything, as many words as `text` has. */
export function fillerLike(text: string, dice: Dice): string {
  const wanted = countWords(text)
  const words: string[] = []
  while (words.length < wanted) words.push(...dice.pick(filler).split(' '))
  return words.slice(0, wanted).join(' ')
}

export const refusal = (dice: Dice): string => dice.pick(refusals)

/** The prompt, as often as the length of `text` takes. */
export function copiedPrompt(prompt: string, text: string): string {
  const wanted = Math.max(countWords(text), countWords(prompt))
  const words = prompt.split(' ')
  return Array.from({ length: wanted }, (_, index) => words[index % words.length]).join(' ')
}

/** An answer to the nearest of some other questions about the same thing; what both share is worded alike. */
export function nearestOther(answer: MadeAnswer, words: number, dice: Dice): string {
  const { topic, place, prompt } = answer.question
  const asked = Array.from({ length: neighboursTried }, () =>
    drawQuestion(dice, words, topic, place),
  ).filter((question) => question.prompt !== prompt)
  const [nearest] = asked.toSorted((a, b) => alike(b.prompt, prompt) - alike(a.prompt, prompt))
  const other = drawAnswer(dice, nearest ?? drawQuestion(dice, words, topic), words)
  const said = sentencesOf(answer)
  const own = sentencesOf(other)
  let left = Math.floor(own.length * mostSharedByNeighbours)
  return textOf(
    own.map((sentence, at) => {
      if (left === 0 || said[at] === undefined || !dice.chance(sharedByNeighbours)) return sentence
      left -= 1
      return said[at]
    }),
  )
}

/** Another writer's answer to the same question: knows half of it, invents the rest, is a little shorter. */
export function weaker(answer: MadeAnswer, dice: Dice): string {
  const kept = Math.max(1, Math.round(answer.statements.length * lengthOfWeaker))
  const statements = answer.statements
    .slice(answer.statements.length - kept)
    .map((statement) =>
      dice.chance(knownByWeaker)
        ? statement
        : { ...drawStatement(dice, answer.question), kind: statement.kind },
    )
  const wording = statements.map(() => wordingSeed(dice))
  return textOf(sentencesOf({ question: answer.question, statements, wording }))
}

/** Another number in one statement; undefined when none has one. */
export const otherNumber = (answer: MadeAnswer, dice: Dice): MadeAnswer | undefined =>
  changed(answer, dice, ['amount', 'order', 'closing'], (statement) => ({
    ...statement,
    amount: statement.amount + dice.between(1, 9),
  }))

/** Another name in one statement; undefined when none has one. */
export const otherName = (answer: MadeAnswer, dice: Dice): MadeAnswer | undefined =>
  changed(answer, dice, ['person', 'place'], (statement) => ({
    ...statement,
    person: anotherName(statement.person, dice, 'person'),
    place: anotherName(statement.place, dice, 'place'),
  }))

/** One sentence turned into its opposite; undefined when none can be. */
export function negated(text: string, dice: Dice): string | undefined {
  const places = [...text.matchAll(/ (?:is|are|can|does not|gets|comes) (?!not\b|true\b)/g)]
  if (places.length === 0) return undefined
  const { index, 0: found } = dice.pick(places)
  const instead = opposites[found] ?? `${found}not `
  return text.slice(0, index) + instead + text.slice(index + found.length)
}

/** The first half by the right model, the rest by a weaker one. */
export const spliced = (real: string, answer: MadeAnswer, dice: Dice): string =>
  joinedAt(real, weaker(answer, dice), 0.5)

function changed(
  answer: MadeAnswer,
  dice: Dice,
  kinds: readonly Statement['kind'][],
  change: (statement: Statement) => Statement,
): MadeAnswer | undefined {
  const places = answer.statements.flatMap(({ kind }, at) => (kinds.includes(kind) ? [at] : []))
  if (places.length === 0) return undefined
  const place = dice.pick(places)
  const statements = answer.statements.map((own, at) => (at === place ? change(own) : own))
  return { ...answer, statements }
}

function anotherName(name: string, dice: Dice, ending: 'person' | 'place'): string {
  for (;;) {
    const other = inventName(dice, ending)
    if (other !== name) return other
  }
}

/** Words in common, as a share of all. */
function alike(a: string, b: string): number {
  const [first, second] = [new Set(a.split(' ')), new Set(b.split(' '))]
  const common = [...first].filter((word) => second.has(word)).length
  return common / (first.size + second.size - common)
}
