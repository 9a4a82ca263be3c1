import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { comparators } from '../../../lib/comparators/all.ts'
import { answerJson, startServer } from '../../local-server.ts'
import { ratesOf } from './agreement-rates.ts'
import { readAnswers } from './answers-file.ts'
import { doubtsOf } from './doubt.ts'
import { figuresOf } from './figures.ts'
import type { MeasuredQuestion } from './measure.ts'
import { lieChances, type MeasuredRule, measuredRules, pairBit, playJob } from './play-job.ts'
import { record } from './record.ts'
import { textOf } from './tables.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-answers-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))
const at = (name: string) => join(folder, name)

const answers = {
  large:
    'A lighthouse marks the rocks before the harbour, so that ships which come in at night keep to the deep channel and away from the shore.',
  small: 'Lighthouses were mostly built in the nineteenth century; many are museums today.',
}

describe('answers', () => {
  it('are recorded, every run of every question, and measured', async () => {
    const server = await startServer((response, { body }, number) => {
      const { model } = JSON.parse(body) as { model: keyof typeof answers }
      const rest = number % 2 === 0 ? 'It also gives sailors their position.' : ''
      const content = `${answers[model]} ${rest}`
      answerJson(response, 200, {
        choices: [{ index: 0, message: { role: 'assistant', content } }],
      })
    })
    try {
      await writeFile(
        at('prompts.txt'),
        'What is a lighthouse for?\n\nWhat does a lighthouse do?\n',
      )
      const options = { model: 'large', 'weaker-model': 'small', questions: 2, runs: 7 }
      const files = { record: at('answers.json'), prompts: at('prompts.txt') }
      const environment = { OPENAI_API_KEY: 'sk-secret', SVC_OPENAI_BASE_URL: server.url }
      expect(await record({ ...options, ...files }, environment)).toBe(2)
    } finally {
      await server.close()
    }
    expect(await readFile(at('answers.json'), 'utf8')).not.toContain('sk-secret')
    const sets = await readAnswers(at('answers.json'))
    expect(sets.large?.map(({ runs }) => Object.keys(runs))).toEqual([
      ['0', '1', '2', '3', '4', '5', '6'],
      ['0', '1', '2', '3', '4', '5', '6'],
    ])
    const figures = await figuresOf('large', sets.large ?? [], comparators['similar/2'], 2)
    for (const { honest, inferences, weak } of figures.rules) {
      expect([honest.rate.rate, ...honest.bounds]).toEqual([1, 1, 1])
      expect(inferences.rate).toBe(3)
      expect(weak.map(({ model, taken }) => [model, taken.rate.rate])).toEqual([['small', 0]])
    }
  })

  it('that were not recorded count between nothing and everything, and are said to be missing', async () => {
    const questions = [
      { q: 'What is a lighthouse for?', runs: { '0': answers.large }, weak: {} },
      { q: 'And a lightship?', runs: { '0': answers.large, '1': answers.small }, weak: {} },
    ]
    const figures = await figuresOf('set', questions, comparators['similar/2'], 1)
    expect(figures).toMatchObject({ questions: 2, incomplete: 2 })
    const [three] = figures.rules
    expect(three?.honest.bounds).toEqual([0, 1])
    const text = textOf(figures)
    expect(text).toContain('answers of weaker models: not recorded')
    expect(text).toContain('2 questions, 2 of them with fewer than 7 recorded runs')
    expect(text).toContain('no question has seven runs')
  })

  it.each([
    ['no JSON', '{', 'it is no JSON'],
    ['another form', '[]', 'the file: invalid_type'],
    ['no set', '{}', 'the file: has to hold 1 to 100 sets'],
    [
      'a question without runs',
      '{"s":[{"q":"?","runs":{}}]}',
      's.0.runs: has to hold 1 to 1000 runs',
    ],
    [
      'a run without a number',
      '{"s":[{"q":"?","runs":{"x":"secret"}}]}',
      's.0.runs.x: invalid_key',
    ],
    ['an answer that is no text', '{"s":[{"q":"?","runs":{"0":7}}]}', 's.0.runs.0: invalid_type'],
    ['no question', '{"s":[{"q":"","runs":{"0":"secret"}}]}', 's.0.q: too_small'],
  ])('are refused with %s, by the place and without their text', async (_, text, said) => {
    await writeFile(at('bad.json'), text)
    const error = await readAnswers(at('bad.json')).catch((reason: unknown) => reason)
    expect(error).toMatchObject({ code: 'answers-file', message: `${at('bad.json')}: ${said}` })
    expect(String(error)).not.toContain('secret')
  })

  it('are read from gzipped files, and a broken one is told', async () => {
    await writeFile(at('good.json.gz'), gzipSync('{"s":[{"q":"?","runs":{"0":"a"}}]}'))
    expect(await readAnswers(at('good.json.gz'))).toEqual({
      s: [{ q: '?', runs: { '0': 'a' }, weak: {} }],
    })
    await writeFile(at('bad.json.gz'), 'x')
    await expect(readAnswers(at('bad.json.gz'))).rejects.toMatchObject({ code: 'answers-file' })
    await expect(readAnswers(at('none.json'))).rejects.toMatchObject({ code: 'answers-file' })
  })
})

const ruleOf = (name: string): MeasuredRule => {
  const found = measuredRules.find((rule) => rule.name === name)
  if (!found) throw new Error(`no rule ${name}`)
  return found
}

const graph = (...pairs: readonly (readonly [number, number])[]) =>
  pairs.reduce((bits, [one, other]) => bits | pairBit(one, other), 0)
const complete = graph(
  ...[1, 2, 3, 4, 5, 6].flatMap((one) =>
    Array.from({ length: one }, (_, other) => [one, other] as const),
  ),
)

describe('a job over recorded answers', () => {
  it('adds seats by need', () => {
    const three = ruleOf('three')
    expect(playJob(complete, three)).toEqual({ accepted: [0, 1, 2], inferences: 3 })
    expect(playJob(graph([0, 1], [0, 3], [1, 3]), three)).toEqual({
      accepted: [0, 1, 3],
      inferences: 4,
    })
    expect(playJob(0, three)).toEqual({ accepted: [], inferences: 7 })
    expect(playJob(0, ruleOf('any-two'))).toEqual({ accepted: [], inferences: 5 })
  })

  it('accepts a hub that two others match by the star, not by the clique', () => {
    const hub = graph([0, 1], [0, 2])
    expect(playJob(hub, ruleOf('three, star')).accepted).toEqual([0, 1, 2])
    expect(playJob(hub, ruleOf('three')).accepted).toEqual([])
  })

  it('is lost to a ring with the chance that it has the quota among those who answer', () => {
    const anyTwo = lieChances(complete, ruleOf('any-two'))
    const three = lieChances(complete, ruleOf('three'))
    for (const [at, share] of [0.01, 0.05, 0.1].entries()) {
      // Two of the first three: nobody else is asked then.
      expect(anyTwo[at]).toBeCloseTo(3 * share ** 2 * (1 - share) + share ** 3, 12)
      // Whoever first has three of at most five.
      const honest = 1 - share
      const wins = 10 * share ** 3 * honest ** 2 + 5 * share ** 4 * honest + share ** 5
      expect(three[at]).toBeCloseTo(wins, 12)
    }
  })
})

it('a weaker model that matches every run is taken, and one that matches none is not', () => {
  const all = Array.from({ length: 7 }, () => Array.from({ length: 7 }, () => true))
  const none = all.map((row) => row.map(() => false))
  const weak = new Map([
    ['twin', all[0] ?? []],
    ['other', none[0] ?? []],
  ])
  const question: MeasuredQuestion = {
    texts: [0, 1, 2, 3, 4, 5, 6],
    keys: [{ runs: all, noMatch: none, weak, weakNoMatch: new Map() }],
  }
  for (const { weak: found, honest } of ratesOf([question], measuredRules)) {
    expect(honest.rate.rate).toBe(1)
    expect(found.map(({ model, taken }) => [model, taken.rate.rate, taken.bounds])).toEqual([
      ['twin', 1, [1, 1]],
      ['other', 0, [0, 0]],
    ])
  }
})

it('the doubt about an answer grows with how much likelier it is for a weaker model', () => {
  const all = Array.from({ length: 7 }, () => Array.from({ length: 7 }, () => true))
  const none = all.map((row) => row.map(() => false))
  const [yes = [], no = []] = [all[0], none[0]]
  const key = { runs: all, noMatch: none, weak: new Map([['other', no]]) }
  const texts = [0, 1, 2, 3, 4, 5, 6]
  const apart = { texts, keys: [{ ...key, weakNoMatch: new Map([['other', yes]]) }] }
  const vague = { texts, keys: [{ ...key, weakNoMatch: new Map([['other', no]]) }] }
  const found = (question: MeasuredQuestion) =>
    doubtsOf([question])?.map(({ outcome, honest, weaker }) => [outcome, honest, weaker])
  expect(found(apart)).toEqual([
    ['agreed', 1, 0],
    ['differed', 0, 0],
    ['contradicted', 0, 1],
    ['undecided', 0, 0],
  ])
  expect(found(vague)?.[1]).toEqual(['differed', 0, 1])
  const [agreed, , contradicted] = doubtsOf([apart]) ?? []
  // Of 8 seatings, each outcome gets half a one more: ln((3/4 x 8.5 + 1/4 x 0.5) / 8.5), ln((3/4 x 0.5 + 1/4 x 8.5) / 0.5).
  expect([agreed?.millinats, contradicted?.millinats]).toEqual([-268, 1_609])
})

it('there is no doubt where no weaker model was recorded', () => {
  const runs = [[true]]
  const key = { runs, noMatch: [[false]], weak: new Map(), weakNoMatch: new Map() }
  expect(doubtsOf([{ texts: [0], keys: [key] }])).toBeUndefined()
})
