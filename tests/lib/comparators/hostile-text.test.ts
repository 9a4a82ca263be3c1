import { expect, it } from 'vitest'
import { similar } from '../../../lib/comparators/similar.ts'
import { inputOf } from './texts.ts'

const characters = 60_000

const filled = (unit: string, end = ''): string =>
  unit.repeat(Math.ceil(characters / unit.length)).slice(0, characters) + end

/** The processor time that evidence takes, which does not depend on what else the machine does. */
async function processorMsOf(text: string): Promise<number> {
  const before = process.cpuUsage()
  await similar.evidenceOf(inputOf(text))
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

const hostile = [
  ['round brackets', filled('(')],
  ['square brackets', filled('[')],
  ['links without end', filled('[](')],
  ['links without words', filled('[') + filled('](')],
  ['stars', filled('*')],
  ['stars before words', filled(' *a')],
  ['low lines', filled('_')],
  ['spaces', filled(' ', 'x')],
  ['fractions', filled('\\frac{')],
  ['fractions of spaces', `\\frac${filled(' ')}`],
  ['open boxes', filled('\\boxed{')],
  ['nested boxes', filled('\\boxed{') + filled('}')],
  ['digits', filled('7', 'a')],
  ['digits with commas', filled('1,', 'a')],
  ['zeros after a point', `1.${filled('0')}1`],
  ['full stops', filled('.')],
  ['addresses that are none', filled('+.')],
  ['half addresses', filled('a@b.')],
  ['quotation marks in JSON', `{"${filled('\\"')}`],
  ['brackets in JSON', filled('[{"a":')],
  ['comments without end', filled('<!--')],
  ['tags without end', filled('<a')],
  ['table rules', filled('|-', 'x')],
  ['headings', filled(' #')],
  ['answers', filled('the answer is ')],
  ['an answer of spaces', `answer${filled(' ')}`],
  ['an answer of empty lines', `answer is${filled('\n')}\u200b`],
  ['a fence of spaces', `~~~${filled(' ')}x y`],
  ['tags of letters', filled('<abcdefghijkl')],
  ['marks on one letter', `a${filled('\u0301\u0316')}`],
  ['marks that NFKC makes', filled('\uff9e\u0301')],
  ['characters that stand for many', filled('\ufdfa').slice(0, characters / 18)],
  ['apostrophes', filled("a'")],
] as const

// What is quadratic takes a hundred times as long and more. The floor is for the collection of garbage.
it('the processor time that evidence takes is in proportion to the text, whatever stands in it', async () => {
  const plain = filled('the keeper opens a valve and the cabin moves along its rail. ')
  const mostMs = 40 * Math.max(await processorMsOf(plain), 25)
  for (const [what, text] of hostile) {
    expect([what, (await processorMsOf(text)) <= mostMs]).toEqual([what, true])
  }
})
