import { describe, expect, it } from 'vitest'
import { cheatsOf, isTurned, wronglyAccepted } from './report.ts'
import { type Length, playScenario, type Scenario, scenarios } from './scenarios.ts'

const seed = Number(process.env.SCENARIO_SEED ?? 1)

/** Plays, until any cheat is seen if nothing else is said; what is wrong in every scenario is told with the seed. */
async function play(scenario: Scenario, length: Length = { jobs: 150, until: 'any is seen' }) {
  const { outcome, diary } = await playScenario(scenario, seed, length)
  const cheats = cheatsOf(outcome)
  const honest = outcome.nodes.filter(({ isHonest }) => isHonest)
  const accusedHonest = honest.filter(({ address }) => outcome.accused.has(address))
  expect([seed, outcome.broken, accusedHonest.map(({ name }) => name)]).toEqual([seed, [], []])
  expect([seed, await wronglyAccepted(outcome)]).toEqual([seed, []])
  const seen = cheats.filter(({ seenAfter }) => seenAfter !== undefined)
  expect([seed, seen.length > 0]).toEqual([seed, true])
  const codes = new Set(seen.flatMap(({ events }) => events.map(({ code }) => code)))
  const phases = new Set(outcome.jobs.map(({ phase }) => phase))
  return { outcome, diary, seen, codes, phases }
}

describe('the service sees', () => {
  it('a lazy node at once: its own answer refutes its match, and it is accused', async () => {
    const { outcome, seen, phases } = await play(scenarios.lazy)
    for (const { events, address, weight } of seen) {
      expect([seed, events.map(({ code }) => code), weight]).toEqual([
        seed,
        expect.arrayContaining(['verdict-refuted']),
        1,
      ])
      expect(outcome.accused.has(address)).toBe(true)
    }
    expect(phases).toEqual(new Set(['accepted']))
  }, 600_000)

  it('a copying node: it sees nothing before it commits, and cannot open what it committed to', async () => {
    const { diary, codes, seen, outcome } = await play(scenarios.copying)
    expect(diary.peeked).toEqual([])
    expect(new Set(diary.refusals)).toEqual(new Set(['commitment-mismatch']))
    expect(codes).toContain('never-revealed')
    expect(seen.every(({ address }) => !outcome.accused.has(address))).toBe(true)
  }, 600_000)

  it('a node that reveals something else: it cannot open its commitment', async () => {
    const { diary, codes } = await play(scenarios.revealing)
    expect(new Set(diary.refusals)).toEqual(new Set(['commitment-mismatch']))
    expect(codes).toContain('never-revealed')
  }, 600_000)

  it('no more in a colluding pair than that it differs: it joins no agreement, and gains nothing', async () => {
    const { outcome } = await playScenario(scenarios.pair, seed, { jobs: 60 })
    expect([seed, outcome.broken, await wronglyAccepted(outcome)]).toEqual([seed, [], []])
    const events = cheatsOf(outcome).flatMap((cheat) => cheat.events)
    expect(new Set(events.map(({ code }) => code))).toEqual(new Set(['answer-differed']))
    expect(cheatsOf(outcome).map(({ standing }) => standing.score)).toEqual([100, 100])
  }, 600_000)

  for (const [scenario, code] of [
    [scenarios.withholding, 'output-refused'],
    [scenarios.another, 'output-refused'],
    [scenarios.refusing, 'never-delivered'],
  ] as const) {
    it(`a ${scenario.name}: another member of the agreement delivers`, async () => {
      const { outcome, codes, phases } = await play(scenario)
      expect(codes).toContain(code)
      expect(outcome.jobs.some(isTurned)).toBe(true)
      expect(phases).toContain('accepted')
      // Draws differ from run to run, and may seat all three cheats in one job.
      const cheats = new Set(cheatsOf(outcome).map(({ address }) => address))
      const lost = outcome.jobs.filter(({ phase }) => phase !== 'accepted')
      for (const { assignments } of lost) {
        expect(assignments.filter(({ node }) => !cheats.has(node))).toEqual([])
      }
    }, 600_000)
  }

  it('a false verdict: the others outvote it, and the delivery stands', async () => {
    const { outcome, codes } = await play(scenarios.denying)
    expect(codes).toContain('verdict-outvoted')
    expect(outcome.jobs.some(({ phase }) => phase === 'accepted')).toBe(true)
  }, 600_000)

  it('an equivocating node at once: its two signatures prove it', async () => {
    const { outcome, codes, seen, diary } = await play(scenarios.equivocating)
    expect(codes).toContain('equivocated')
    expect(diary.refusals).toContain('already-answered')
    expect(seen.every(({ address, weight }) => outcome.accused.has(address) && weight === 1)).toBe(
      true,
    )
  }, 600_000)
})
