import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  type ReputationCode,
  type ReputationEvent,
  reputationCodes,
  standingOf,
  weightOf,
} from '../../lib/reputation.ts'
import { aJobId, anAddress } from '../branded.ts'

const node = anAddress(`0x${'a'.repeat(40)}`)
const jobId = aJobId(`0x${'1'.repeat(64)}`)
const eventsOf = (...codes: readonly ReputationCode[]): readonly ReputationEvent[] =>
  codes.map((code, index) => ({
    id: `${String(index).padStart(4, '0')}:${code}`,
    node,
    jobId,
    code,
    at: 1_000_000,
  }))
const times = (code: ReputationCode, count: number) =>
  Array.from({ length: count }, (): ReputationCode => code)

describe('the fold of reputation events', () => {
  it('adds slashed amounts up', () => {
    const events = eventsOf('slashed', 'slashed', 'answer-delivered').map((event, index) => ({
      ...event,
      amountGwei: [7, 5][index],
    }))
    expect(standingOf(events)).toMatchObject({ slashedGwei: 12, completed: 1, score: 110 })
  })

  it('is what docs/reputation.md says', async () => {
    const page = await readFile(join(import.meta.dirname, '../../docs/reputation.md'), 'utf8')
    const number = (text: string | undefined) => Number(text?.replaceAll(',', '').trim())
    const rows = [...page.matchAll(/^\| `([a-z-]+)` +\|((?:[^|]+\|){3})/gm)].map(
      ([, code, cells = '']) => {
        const [counts, score, doubtMillinats] = cells.split('|')
        const [completed, accepted, rejected] = counts?.split(', ').map(number) ?? []
        const changes = { score: number(score), doubtMillinats: number(doubtMillinats) }
        return [code, { completed, accepted, rejected, ...changes }]
      },
    )
    const { code: _, ...table } = Object.fromEntries(rows)
    expect(table).toEqual(reputationCodes)
  })
})

describe('the weight in the draw', () => {
  it('falls with the odds against a node, and comes back with matches', () => {
    const of = (...codes: readonly ReputationCode[]) => weightOf(standingOf(eventsOf(...codes)))
    expect(of()).toBe(100)
    expect(of('answer-delivered')).toBe(110)
    expect(of('output-refused')).toBe(42)
    expect(of(...times('output-refused', 2))).toBe(17)
    expect(of('output-refused', ...times('answer-delivered', 4))).toBe(130)
    expect(of('verdict-refuted')).toBe(1)
    expect(of('equivocated')).toBe(1)
  })

  it('is left as it is by events that say nothing of the node', () => {
    const quiet = [...times('answer-differed', 5), ...times('answer-undecided', 30)]
    expect(weightOf(standingOf(eventsOf(...quiet)))).toBe(100)
  })

  it('is twice that of a newcomer at the most', () => {
    expect(weightOf({ score: 199, doubtMillinats: 0 })).toBe(199)
    for (const score of [200, 201, 1_000]) {
      expect(weightOf({ score, doubtMillinats: 0 })).toBe(200)
      expect(weightOf({ score, doubtMillinats: 693 })).toBe(100)
    }
  })

  it('never falls by more than a step of doubt explains', () => {
    for (let doubt = 0; doubt < 13_800; doubt++) {
      const [before, after] = [doubt, doubt + 1].map((doubtMillinats) =>
        weightOf({ score: 200, doubtMillinats }),
      )
      expect(before! - after!).toBeGreaterThanOrEqual(0)
      expect(before! - after!).toBeLessThanOrEqual(1)
    }
  })
})

it('doubt over many jobs stays low for honest nodes and reaches certainty for those with a weaker model', () => {
  // As measured on GPT-4o's maths at temperature 0: an answer agrees, dissents, or nobody agrees.
  const rates = { honest: [0.75, 0.162], weaker: [0, 0.848] } as const
  const codeAt = ([agreed, dissented]: readonly [number, number], dice: number) => {
    if (dice < agreed) return 'answer-delivered'
    return dice < agreed + dissented ? 'answer-dissented' : 'answer-undecided'
  }

  let state = 1
  const dice = () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
  const after = (who: keyof typeof rates, jobs: number) =>
    standingOf(eventsOf(...Array.from({ length: jobs }, () => codeAt(rates[who], dice()))))
  const honest = Array.from({ length: 200 }, () => after('honest', 70).doubtMillinats)
  const weaker = Array.from({ length: 200 }, () => after('weaker', 70).doubtMillinats)
  expect(honest.filter((doubt) => doubt < 3_500).length).toBeGreaterThan(190)
  expect(Math.max(...honest)).toBeLessThan(Math.min(...weaker))
  expect(weaker.filter((doubt) => doubt > 13_000).length).toBeGreaterThan(190)
})
