import { describe, expect, it } from 'vitest'
import { similar } from '../../../lib/comparators/similar.ts'
import { breadAnswer, inputOf, liftAnswer } from './texts.ts'

const between = async (a: string, b: string, prompt?: string) => {
  const changes = prompt === undefined ? {} : { prompt }
  const [one, other] = await Promise.all([
    similar.evidenceOf(inputOf(a, changes)),
    similar.evidenceOf(inputOf(b, changes)),
  ])
  const forth = similar.explain(one, other)
  // What two nodes say of each other must not hang on who leads.
  expect(similar.explain(other, one)).toEqual(forth)
  expect(similar.compare(one, other)).toBe(forth.outcome)
  return forth
}

const changed = (from: string, to: string): string => {
  expect(liftAnswer).toContain(from)
  return liftAnswer.replace(from, to)
}

describe('similar/2 compares answers', () => {
  it.each([
    ['equal ones', liftAnswer, liftAnswer],
    ['ones that are set differently', liftAnswer, `**${liftAnswer.replaceAll('. ', '.\n\n- ')}**`],
    [
      'one with other words in it',
      liftAnswer,
      changed('does not need any motor', 'does not need a motor at all'),
    ],
    [
      'one that goes on in other words',
      liftAnswer,
      changed(
        'but the pump that brings the water back up runs all night',
        'but its pump has to lift the water again after dark',
      ),
    ],
    ['short ones', 'Paris.', '**Paris**'],
    ['short ones in a sentence', 'B', 'The answer is (B).'],
    [
      'short ones on both sides of the limit',
      'The answer is (B), because the water is heavier than the cabin.',
      'The answer is (B), because the water is a good deal heavier than the cabin.',
    ],
    ['empty ones', '', ' \n'],
    [
      'Japanese ones',
      '塔のリフトは水で動く。'.repeat(6),
      `${'塔のリフトは水で動く。'.repeat(6)}とても静かだ。`,
    ],
  ])('as a match: %s', async (_, a, b) => {
    expect((await between(a, b)).outcome).toBe('match')
  })

  it.each([
    ['another number', liftAnswer, changed('48', '84'), /number/],
    ['another name', liftAnswer, changed('Hedwig Sommer', 'Ottilie Winter'), /name/],
    ['a negation less', liftAnswer, changed('does not need', 'does need'), /negation/],
    ['half of it', liftAnswer, liftAnswer.slice(0, liftAnswer.length / 2), /shorter|wording/],
    ['a link more', liftAnswer, `${liftAnswer} See https://lift.example/offer now.`, /links/],
    ['another short answer', 'Paris', 'Lyon', /short answers/],
    ['a letter for a reasoned answer', `${liftAnswer} The answer is B.`, 'B', /shorter/],
    [
      'another final answer',
      `${liftAnswer} The answer is B.`,
      `${liftAnswer} The answer is C.`,
      /final answers/,
    ],
    ['a refusal', liftAnswer, 'I am sorry, but I cannot help with this request today.', /shorter/],
  ])('as inconclusive: %s', async (_, a, b, why) => {
    const { outcome, why: said } = await between(a, b)
    expect(outcome).toBe('inconclusive')
    expect(said).toMatch(why)
  })

  it('as no match when they have nothing in common', async () => {
    const { outcome, similarities } = await between(liftAnswer, breadAnswer)
    expect(outcome).toBe('no-match')
    expect(similarities?.trigrams).toBeLessThan(30)
  })

  it('as no match of the prompt with an answer, however much they share', async () => {
    const prompt = `Shorten this: ${liftAnswer}`
    expect((await between(prompt, liftAnswer, prompt)).outcome).not.toBe('match')
    expect((await between(prompt, liftAnswer)).outcome).toBe('match')
  })

  it('in whole thousandths', async () => {
    const { similarities = {} } = await between(liftAnswer, changed('48 metres', 'fifty metres'))
    expect(Object.keys(similarities)).toEqual([
      'trigrams',
      'words',
      'numbers',
      'names',
      'negators',
      'links',
      'length',
    ])
    for (const value of Object.values(similarities)) {
      expect(Number.isInteger(value) && value >= 0 && value <= 1_000).toBe(true)
    }
  })
})
