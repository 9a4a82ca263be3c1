import type { Dice } from '../../simulation/dice.ts'
import { type MadeAnswer, sentencesOf, textOf, wordingSeed } from './made-answer.ts'
import {
  actions,
  commonThings,
  purposes,
  qualities,
  type Synonyms,
  times,
  topics,
} from './word-lists.ts'

const sameWords = collectSameWords()

/** Each word with this probability replaced by one that says the same, or by itself with a word that says nothing. */
export function substituted(text: string, share: number, dice: Dice): string {
  return text.replace(/[^\s]+/g, (written) => {
    if (!dice.chance(share)) return written
    const [, word = '', rest = ''] = /^([\p{L}'’-]*)(.*)$/u.exec(written) ?? []
    const others = sameWords.get(word)
    if (others !== undefined) return dice.pick(others) + rest
    // Facts are not replaced, and a word before a capital would make a name of it: both are cases of their own.
    return /^[\d\p{Lu}]/u.test(written)
      ? written
      : `${dice.pick(['also', 'then', 'indeed'])} ${written}`
  })
}

/** Worded as before up to a random word; from there each sentence is worded anew with this probability. */
export function diverged(answer: MadeAnswer, share: number, dice: Dice): string {
  const before = sentencesOf(answer)
  const cut = dice.next() * before.length
  const at = Math.floor(cut)
  const after = sentencesOf({
    ...answer,
    wording: answer.wording.map((seed, index) =>
      index === at || (index > at && dice.chance(share)) ? wordingSeed(dice) : seed,
    ),
  })
  const sentences = after.map((sentence, index) => (index < at ? before[index]! : sentence))
  sentences[at] = joinedAt(before[at]!, after[at]!, cut - at)
  return textOf(sentences)
}

/** Each sentence worded anew. */
export const paraphrased = (answer: MadeAnswer, dice: Dice): string =>
  textOf(sentencesOf({ ...answer, wording: answer.wording.map(() => wordingSeed(dice)) }))

/** The same words with other mark-up: lists, headings, emphasis, quotes, line breaks, grouped digits. */
export function reformatted(answer: MadeAnswer, dice: Dice): string {
  const mark = dice.pick(['**', '*', '__', '`'])
  const bullet = dice.pick(['- ', '* ', '• ', '1. ', '> ', ''])
  const sentences = sentencesOf(answer).map((sentence) =>
    sentence
      .replace(/\b\d{4,}\b/g, (digits) =>
        dice.chance(0.5) ? Number(digits).toLocaleString('en-US') : digits,
      )
      .replace(/(?<= )\p{L}{5,}(?= )/gu, (word) => (dice.chance(0.1) ? mark + word + mark : word))
      .replace(/'/g, '’')
      .replace(/ (?=\p{L})/gu, () => (dice.chance(0.02) ? '\u00a0' : ' ')),
  )
  const lines = sentences.map((sentence) => bullet + sentence)
  if (dice.chance(0.3)) lines[0] = `### ${sentences[0]}\n`
  const joined = lines.join(bullet === '' ? dice.pick([' ', '\n', '  \n']) : '\n')
  return dice.chance(0.2) ? `\`\`\`\n${joined}\n\`\`\`\n` : `${joined}\n`
}

/** The first share of the words of one text, then the rest of another. */
export function joinedAt(first: string, second: string, share: number): string {
  const head = first.split(' ')
  const tail = second.split(' ')
  return [
    ...head.slice(0, Math.round(share * head.length)),
    ...tail.slice(Math.round(share * tail.length)),
  ].join(' ')
}

/** For each word of the lists that stands alone the others that say the same in the same form. */
function collectSameWords(): Map<string, Synonyms> {
  const found = new Map<string, Synonyms>()
  for (const synonyms of [
    ...Object.values(topics).flat(),
    ...commonThings,
    ...actions,
    ...qualities,
    ...purposes,
    ...times,
  ]) {
    for (const form of [0, 1]) {
      const words = synonyms
        .map((word) => word.split('/')[form])
        .filter((word) => word !== undefined)
      for (const word of words) {
        const others = words.filter((other) => other !== word)
        if (others.length > 0 && !found.has(word)) found.set(word, others)
      }
    }
  }
  return found
}
