import { inOrder, standingOf, utcDayOf, weightOf } from '../../lib/reputation.ts'
import { walletOf } from '../icl/test-icl.ts'
import { type AttackOutcome, cheatName, honestName, partsOf } from './play-attack.ts'
import { countsOf } from './report.ts'

/** The columns of the table of jobs whose answers are weighed. */
export const weighedHeadings = [
  'scenario',
  'jobs, accepted',
  'honest answers outside',
  'unlikely, odd',
  'honest: least, median',
  'most lost in a day',
  'own nodes: jobs',
  'below all honest after',
  'half weight after',
  'weights',
  'share of draws',
  'events of own nodes',
] as const

/** A row of that table. */
export function weighedRow(outcome: AttackOutcome): readonly string[] {
  const { attack, jobs, honestWeights, cheatWeights, events, share } = outcome
  const honest = honestWeights.map((_, index) => eventsOf(outcome, honestName(index)))
  const cheats = cheatWeights.map((_, index) => eventsOf(outcome, cheatName(index)))
  const codes = honest.flat().map(({ code }) => code)
  const count = (...names: readonly string[]) => codes.filter((code) => names.includes(code)).length
  const answers = codes.filter((code) => code.startsWith('answer-') && code !== 'answered-late')
  const outside = count('answer-likely', 'answer-dissented', 'answer-contradicted')
  const ordered = honestWeights.toSorted((a, b) => a - b)
  const days = [...new Set(events.map(({ at }) => utcDayOf(at)))].toSorted((a, b) => a - b)
  const lost = honest.flatMap((own) =>
    days.map((day) => weightBefore(own, day) - weightBefore(own, day + 1)),
  )
  const percent = (part: number) => `${(100 * part).toFixed(1)} %`
  const accepted = jobs.filter(({ phase }) => phase === 'accepted').length
  return [
    attack.name,
    `${jobs.length}, ${percent(accepted / jobs.length)}`,
    percent(outside / answers.length),
    `${count('answer-unlikely', 'never-shown')}, ${count('numbers-odd')}`,
    `${ordered[0]}, ${ordered[ordered.length >> 1]}`,
    String(Math.max(0, ...lost)),
    outcome.parts.join(' ') || '-',
    cheats.map((own, index) => belowAllAfter(outcome, honest, own, index)).join(' ') || '-',
    outcome.halvedAfter.map((after) => after ?? '-').join(' ') || '-',
    cheatWeights.join(' ') || '-',
    cheats.length === 0 ? '-' : share.map(percent).join(' to '),
    cheats.length === 0 ? '-' : countsOf(cheats.flat().map(({ code }) => code)),
  ]
}

type Events = AttackOutcome['events']

const eventsOf = ({ events }: AttackOutcome, name: string): Events =>
  inOrder(events.filter(({ node }) => node === walletOf(name).address))

const weightBefore = (events: Events, day: number): number =>
  weightOf(standingOf(events.filter(({ at }) => utcDayOf(at) < day)))

/** After how many of its jobs a node's weight stays below every honest node's; `-` for never. */
function belowAllAfter(
  { jobs }: AttackOutcome,
  honest: readonly Events[],
  own: Events,
  index: number,
): string {
  const parts = partsOf(jobs, walletOf(cheatName(index)).address)
  const weightAt = (events: Events, time: number) =>
    weightOf(standingOf(events.filter(({ at }) => at <= time)))
  const isBelow = parts.map(({ settledAt = 0, createdAt }) => {
    const time = Math.max(settledAt, createdAt) + 60_000
    const least = Math.min(...honest.map((events) => weightAt(events, time)))
    return weightAt(own, time) < least
  })
  const last = isBelow.lastIndexOf(false)
  return last + 1 < isBelow.length ? String(last + 2) : '-'
}
