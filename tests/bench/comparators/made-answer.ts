import { createDice, type Dice } from '../../simulation/dice.ts'
import { closings, fill, promptWordings, wordings, wordOf } from './sentences.ts'
import {
  actions,
  commonThings,
  openers,
  purposes,
  qualities,
  type Synonyms,
  syllables,
  times,
  topics,
  units,
} from './word-lists.ts'

/** What is asked; the prompt is what a client would send. */
export type Question = {
  readonly topic: string
  readonly place: string
  readonly prompt: string
  /** What its answers speak of: the words of one question are not those of the next. */
  readonly things: readonly Synonyms[]
  readonly actions: readonly Synonyms[]
  readonly qualities: readonly Synonyms[]
}

/** One thing that an answer says, before it is put into words. */
export type Statement = {
  readonly kind: keyof typeof wordings | 'closing'
  readonly subject: number
  readonly object: number
  readonly action: number
  readonly quality: number
  readonly time: number
  readonly purpose: number
  readonly amount: number
  readonly unit: string
  readonly person: string
  readonly place: string
}

/** An answer: what it says, and with which choice of words each statement is worded. */
export type MadeAnswer = {
  readonly question: Question
  readonly statements: readonly Statement[]
  /** One seed a statement: the same statement under the same seed is the same sentence. */
  readonly wording: readonly number[]
}

const kinds = Object.keys(wordings) as (keyof typeof wordings)[]
const ownThings = 10
const otherThings = 22
const actionsOfQuestion = 16
const qualitiesOfQuestion = 14
const openerShare = 0.15
// Some questions ask for a figure, so their answers end with one.
const closingShare = 0.35
const sentencesPerParagraph = 4

/** A seed for the wording of one statement. */
export const wordingSeed = (dice: Dice): number => dice.between(1, 2 ** 31)

/** Words of a text, as the lengths of the corpus count them. */
export const countWords = (text: string): number => text.split(/\s+/).filter(Boolean).length

export const inventName = (dice: Dice, ending: 'person' | 'place'): string =>
  dice.pick(syllables.first) + dice.pick(syllables[ending])

/** A question of the topic, or of any. */
export function drawQuestion(dice: Dice, words: number, topic?: string, place?: string): Question {
  const chosen = topic ?? dice.pick(Object.keys(topics))
  const topicThings = some(topics[chosen] ?? [], ownThings, dice)
  const things = [...topicThings, ...some(commonThings, otherThings, dice)]
  const where = place ?? inventName(dice, 'place')
  const [subject, object] = some(topicThings, 2, dice)
  const prompt = fill(dice.pick(promptWordings), {
    topic: chosen,
    L: where,
    words: String(words),
    S: subject![0]!,
    O: object![0]!,
  })
  return {
    topic: chosen,
    place: where,
    prompt,
    things,
    actions: some(actions, actionsOfQuestion, dice),
    qualities: some(qualities, qualitiesOfQuestion, dice),
  }
}

/** So many of these, none twice, in any order. */
function some<T>(from: readonly T[], count: number, dice: Dice): T[] {
  const left = [...from]
  return Array.from({ length: Math.min(count, left.length) }, () => {
    const [taken] = left.splice(dice.between(0, left.length - 1), 1)
    return taken!
  })
}

/** One thing that can be said about the question's topic. */
export function drawStatement(dice: Dice, question: Question): Statement {
  const count = question.things.length
  const subject = dice.between(0, count - 1)
  return {
    kind: dice.pick(kinds),
    subject,
    object: (subject + dice.between(1, count - 1)) % count,
    action: dice.between(0, question.actions.length - 1),
    quality: dice.between(0, question.qualities.length - 1),
    time: dice.between(0, times.length - 1),
    purpose: dice.between(0, purposes.length - 1),
    amount: dice.chance(0.3) ? dice.between(1_000, 90_000) : dice.between(11, 990),
    unit: dice.pick(units),
    person: inventName(dice, 'person'),
    place: dice.chance(0.3) ? question.place : inventName(dice, 'place'),
  }
}

/** An answer of about so many words. */
export function drawAnswer(dice: Dice, question: Question, words: number): MadeAnswer {
  const statements: Statement[] = []
  const wording: number[] = []
  const closing: Statement | undefined = dice.chance(closingShare)
    ? { ...drawStatement(dice, question), kind: 'closing' }
    : undefined
  let left = words - (closing === undefined ? 0 : 5)
  // Half a sentence too long is as good as half a sentence too short.
  while (left > 6 || statements.length === 0) {
    const statement = drawStatement(dice, question)
    const seed = wordingSeed(dice)
    statements.push(statement)
    wording.push(seed)
    left -= countWords(sentenceOf(statement, question, seed))
  }
  if (closing !== undefined) {
    statements.push(closing)
    wording.push(wordingSeed(dice))
  }
  return { question, statements, wording }
}

/** The statement in the words that the seed chooses. */
function sentenceOf(statement: Statement, question: Question, seed: number): string {
  const dice = createDice(seed)
  const { things } = question
  const action = dice.pick(question.actions[statement.action]!)
  const sentence = fill(
    dice.pick(statement.kind === 'closing' ? closings : wordings[statement.kind]),
    {
      S: wordOf(things[statement.subject]!, dice),
      O: wordOf(things[statement.object]!, dice),
      V: wordOf([action], dice),
      W: wordOf([action], dice, 1),
      Q: wordOf(question.qualities[statement.quality]!, dice),
      T: wordOf(times[statement.time]!, dice),
      R: wordOf(purposes[statement.purpose]!, dice),
      N: String(statement.amount),
      U: statement.unit,
      P: statement.person,
      L: statement.place,
    },
  )
  return dice.chance(openerShare) && statement.kind !== 'closing'
    ? `${dice.pick(openers)} ${lowered(sentence)}`
    : sentence
}

/** The sentences of an answer. */
export const sentencesOf = ({ question, statements, wording }: MadeAnswer): string[] =>
  statements.map((statement, index) => sentenceOf(statement, question, wording[index] ?? 1))

/** Sentences as a text of paragraphs. */
export function textOf(sentences: readonly string[]): string {
  const paragraphs: string[] = []
  for (let at = 0; at < sentences.length; at += sentencesPerParagraph) {
    paragraphs.push(sentences.slice(at, at + sentencesPerParagraph).join(' '))
  }
  return paragraphs.join('\n\n')
}

// Names keep their capital inside a sentence; every other first word is one of the wordings' own.
const lowered = (sentence: string): string =>
  /^(?:The|A|It|If|In|Up|Once|Ask|There|One|Nobody|Make|Before|You|Do|First|Start|While|Compared|What|Both|Some|For|With|No|Keep|From|Between)\b/.test(
    sentence,
  )
    ? sentence.charAt(0).toLowerCase() + sentence.slice(1)
    : sentence
