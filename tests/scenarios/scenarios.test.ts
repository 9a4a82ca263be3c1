import { describe, expect, it } from 'vitest'
import { cheatsOf, wronglyAccepted } from './report.ts'
import { playScenario, type Scenario, scenarios } from './scenarios.ts'

const seed = Number(process.env.SCENARIO_SEED ?? 1)

/** Plays until any cheat is seen; what is wrong in every scenario is told with the seed. */
async function play(scenario: Scenario) {
  const { outcome, diary } = await playScenario(scenario, seed, { jobs: 150, until: 'any is seen' })
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
  it('a lazy verifier at once: its own evidence refutes its match, and it is accused', async () => {
    const { outcome, seen, phases } = await play(scenarios.lazy)
    for (const { events, address, weight } of seen) {
      // It may have led before, as it should: the first verdict that it gives is refuted.
      const verdicts = new Set(
        events.map(({ code }) => code).filter((code) => /^verdict/.test(code)),
      )
      expect([seed, verdicts, weight]).toEqual([seed, new Set(['verdict-refuted']), 1])
      expect(outcome.accused.has(address)).toBe(true)
    }
    expect(phases).toEqual(new Set(['accepted']))
  }, 600_000)

  it('a copying verifier: it sees nothing before it commits, and cannot open what it committed to', async () => {
    const { diary, codes, seen, outcome } = await play(scenarios.copying)
    expect(diary.peeked).toEqual([])
    expect(new Set(diary.refusals)).toEqual(new Set(['commitment-mismatch']))
    expect(codes).toContain('never-revealed')
    expect(seen.every(({ address }) => !outcome.accused.has(address))).toBe(true)
  }, 600_000)

  it('a verifier that reveals something else: it cannot open its commitment', async () => {
    const { diary, codes } = await play(scenarios.another)
    expect(new Set(diary.refusals)).toEqual(new Set(['commitment-mismatch']))
    expect(codes).toContain('never-revealed')
  }, 600_000)

  it('a colluding pair when it leads: the other verifiers reject its answer, and the job is done again', async () => {
    const { outcome, codes } = await play(scenarios.pair)
    expect(codes.has('result-rejected') || codes.has('verdict-outvoted')).toBe(true)
    expect(outcome.jobs.some(({ round }) => round > 0)).toBe(true)
  }, 600_000)

  for (const [scenario, reason] of [
    [scenarios.withholding, 'output-unavailable'],
    [scenarios.unreadable, 'output-mismatch'],
  ] as const) {
    it(`a ${scenario.name}: verifiers say ${reason}, and another quorum does the job`, async () => {
      const { outcome, codes } = await play(scenario)
      expect(codes).toContain('result-rejected')
      const redone = outcome.jobs.filter(({ round }) => round > 0)
      const reasons = redone.flatMap(({ assignments }) =>
        assignments.map(({ verdict }) => verdict?.body.reason),
      )
      expect(reasons).toContain(reason)
      // A client lets the ICL grant its key to so many nodes only: after two bad leaders in a row a job may wait in vain.
      const ends = redone.map(({ phase, reason }) => `${phase} (${reason})`)
      const good = ['accepted (quorum-agreed)', 'expired (awaiting-grant)']
      expect([seed, ends.filter((end) => !good.includes(end))]).toEqual([seed, []])
      expect(ends).toContain('accepted (quorum-agreed)')
    }, 600_000)
  }

  it('an equivocating leader at once: its two signatures prove it', async () => {
    const { outcome, codes, seen, diary } = await play(scenarios.equivocating)
    expect(codes).toContain('equivocated')
    expect(diary.refusals).toContain('already-answered')
    expect(seen.every(({ address, weight }) => outcome.accused.has(address) && weight === 1)).toBe(
      true,
    )
  }, 600_000)
})
