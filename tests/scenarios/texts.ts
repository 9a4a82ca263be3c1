import { createDice } from '../simulation/dice.ts'

const syllables = [
  'ba',
  'do',
  'fe',
  'gu',
  'ki',
  'la',
  'mo',
  'ne',
  'pu',
  'ri',
  'so',
  'ta',
  've',
  'zu',
]

/** As many made-up words, always the same for a name. */
function wordsOf(name: string, count: number): string {
  const dice = createDice(1).fork(name)
  const word = () => Array.from({ length: 4 }, () => dice.pick(syllables)).join('')
  return Array.from({ length: count }, word).join(' ')
}

const topic = wordsOf('what the question is about', 30)

/** A text on the question that is worded in its own way: `similar/2` finds it inconclusive with those of other names, and no contradiction. */
export const onTopic = (name: string): string => `${topic} ${wordsOf(name, 45)}`

/** A text of 75 words on something else: it contradicts every text of another name. */
export const offTopic = (name: string): string => wordsOf(`off the topic: ${name}`, 75)
