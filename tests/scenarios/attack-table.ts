import type { AttackOutcome, NodeDay } from './play-attack.ts'

/** The columns of the table of attacks. */
export const attackHeadings = [
  'attack',
  'jobs: others + own',
  'accepted lies: others + own',
  'victim’s weight, by UTC day',
  'taken at most in a day',
  'gas, M',
  'own nodes: jobs',
  'half weight after',
  'weights',
  'share of draws',
  'honest: least, median',
] as const

/** One row of the table. */
export function attackRow(outcome: AttackOutcome): readonly string[] {
  const { attack, jobs, ownJobs, lies, gas, victim, honestWeights, cheatWeights, share } = outcome
  const percent = (part: number) => `${(100 * part).toFixed(1)} %`
  const ordered = honestWeights.toSorted((a, b) => a - b)
  return [
    attack.name,
    `${jobs.length - ownJobs} + ${ownJobs}`,
    `${lies.others} + ${lies.own}`,
    [victim[0]?.before, ...victim.map(({ after }) => after)].join(' '),
    percent(Math.max(...victim.map(takenOf))),
    (gas / 1e6).toFixed(1),
    outcome.parts.join(' ') || '-',
    outcome.halvedAfter.map((count) => count ?? '-').join(' ') || '-',
    cheatWeights.join(' ') || '-',
    cheatWeights.length === 0 ? '-' : share.map(percent).join(' to '),
    `${ordered[0]}, ${ordered[Math.floor(ordered.length / 2)]}`,
  ]
}

/** What part of the weight that the victim would have had at the end of the day the owner's jobs took. */
const takenOf = ({ after, alone }: NodeDay): number => Math.max(0, 1 - after / alone)

/** What of the promises does not hold. */
export function brokenPromises({ attack, victim, lies, broken }: AttackOutcome): readonly string[] {
  const days = victim.flatMap((day, index) => {
    const least = Math.floor(0.9 * day.alone) - 1
    const isKept = attack.nodes > 0 || day.after >= least
    const said = `${attack.name}: on day ${index + 1} an owner without nodes took ${(100 * takenOf(day)).toFixed(1)} % of its victim's weight, ${day.alone} to ${day.after}`
    return isKept ? [] : [said]
  })
  // One more than two of an owner's nodes can agree by themselves: docs/security.md says how often.
  const others =
    lies.others > 0 && attack.nodes < 3
      ? [`${attack.name}: ${lies.others} lies in jobs of others`]
      : []
  return [...broken, ...days, ...others]
}
