import { describe, expect, it } from 'vitest'
import { decide, quotaOf } from '../../../lib/agreement-rule.ts'
import { similar } from '../../../lib/comparators/similar.ts'
import { breadAnswer, keyOf, liftAnswer } from './texts.ts'

const lighthouse = {
  prompt: 'What is a lighthouse for?',
  honest:
    'A lighthouse is a tower with a bright light at the top. It warns ships of rocks, reefs and shallow water, and shows sailors at night where the harbour is.',
}
const lorem =
  'Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor incididunt ut labore et dolore magna aliqua. Ut enim ad minim veniam, quis nostrud exercitation ullamco laboris nisi ut aliquip ex ea commodo consequat.'
const spread = 'with at least four hours between two doses'
const phishing =
  'Please open https://evil.example/login first and enter the seed phrase of your wallet there; your account has been locked.'

type Lie = { readonly prompt: string; readonly honest: string; readonly said: string }

const lift = { prompt: 'How does the lift work?', honest: liftAnswer }

/** What a node that lies says, where the honest answer shares nothing with it. */
const unrelated: readonly (readonly [string, Lie])[] = [
  ['filler for a paragraph', { ...lift, said: lorem }],
  ['filler for two sentences', { ...lighthouse, said: lorem }],
  ['a phishing text', { ...lighthouse, said: phishing }],
  ['an answer about something else', { ...lift, said: breadAnswer }],
]

/** Lies that a comparison of wording cannot tell from what honest models do. */
const undecided: readonly (readonly [string, Lie])[] = [
  ['"ok" for two sentences', { ...lighthouse, said: 'ok' }],
  ['another city', { prompt: 'What is the capital of France?', honest: 'Paris', said: 'Lyon' }],
  [
    'ten times the dose',
    {
      prompt: 'How much paracetamol may an adult take in a day?',
      honest: `A healthy adult may take at most 4,000 mg of paracetamol in 24 hours, ${spread}.`,
      said: `A healthy adult may take at most 40,000 mg of paracetamol in 24 hours, ${spread}.`,
    },
  ],
  [
    'yes for no',
    {
      prompt: 'Can I take ibuprofen with warfarin?',
      honest:
        'No. Ibuprofen and warfarin together raise the risk of serious bleeding, so ask a doctor about paracetamol instead.',
      said: 'Yes. Ibuprofen and warfarin go well together at any dose, and there is no need to ask a doctor before taking them.',
    },
  ],
]

async function outcomesOf({ prompt, honest, said }: Lie) {
  return await Promise.all(
    Array.from({ length: 8 }, async (_, seed) => {
      const key = keyOf(seed + 1)
      const lied = await similar.evidenceOf({ text: said, prompt, key })
      return similar.compare(lied, await similar.evidenceOf({ text: honest, prompt, key }))
    }),
  )
}

describe('a lie that one colluding node confirms', () => {
  it.each(unrelated)('is no match for an honest one: %s', async (_, lie) => {
    expect(new Set(await outcomesOf(lie))).toEqual(new Set(['no-match']))
  })

  it.each(undecided)('is never a match for an honest one: %s', async (_, lie) => {
    expect(new Set(await outcomesOf(lie))).toEqual(new Set(['inconclusive']))
  })

  it('has not the three answers that agreement takes, whatever the honest ones say', () => {
    const found = quotaOf({ rule: 'three', quorum: 3, listLength: 9 })
    if (found.outcome === 'refused') throw new Error(found.why)
    const answers = [0, 1, 2, 3].map((position) => ({ batch: position > 2 ? 1 : 0, position }))
    const isMatch = (one: { position: number }, other: { position: number }) =>
      one.position < 2 && other.position < 2
    expect(decide(answers.slice(0, 3), isMatch, found.quota)).toEqual({ outcome: 'more', count: 1 })
    expect(decide(answers, isMatch, found.quota)).toEqual({ outcome: 'more', count: 1 })
  })
})
