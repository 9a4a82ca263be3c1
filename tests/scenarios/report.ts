import type { Job } from '../../icl/rules/job.ts'
import { evidenceOf } from '../icl/node-steps.ts'
import { rightAnswer } from './conducts.ts'
import type { NodeOutcome, Outcome } from './run-scenario.ts'

/** How often each of some texts is there, the most frequent first. */
export function countsOf(texts: readonly string[]): string {
  const counts = new Map<string, number>()
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1)
  const sorted = [...counts].toSorted((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
  return sorted.map(([text, count]) => `${text} x${count}`).join(', ') || '-'
}

/** The jobs that were accepted with another answer than the right one. */
export async function wronglyAccepted({ jobs }: Outcome): Promise<readonly Job[]> {
  const wrong: Job[] = []
  for (const job of jobs) {
    const { answers, delivery } = job.receipt ?? {}
    const deliverer = delivery?.body.address
    const evidence = answers?.find(({ body }) => body.address === deliverer)?.body.evidence
    if (!evidence) continue
    if (evidence.digest !== (await evidenceOf(rightAnswer(job.id))).digest) wrong.push(job)
  }
  return wrong
}

/** True when a member of the job's agreement failed to deliver. */
export const isTurned = ({ agreement }: Job): boolean =>
  agreement?.turns.some(({ failed }) => failed) === true

/** The nodes of a simulation that cheat. */
export const cheatsOf = ({ nodes }: Outcome): readonly NodeOutcome[] =>
  nodes.filter(({ isHonest }) => !isHonest)

const orNever = (count: number | undefined): string => (count === undefined ? '-' : String(count))

/** One row of the table of scenarios. */
export async function rowOf(name: string, outcome: Outcome): Promise<readonly string[]> {
  const cheats = cheatsOf(outcome)
  const honest = outcome.nodes.filter(({ isHonest }) => isHonest)
  const wrong = await wronglyAccepted(outcome)
  const turned = outcome.jobs.filter(isTurned).length
  return [
    name,
    cheats.map(({ parts }) => parts.length).join(' '),
    cheats.map(({ seenAfter }) => orNever(seenAfter)).join(' '),
    cheats.map(({ avoidedAfter }) => orNever(avoidedAfter)).join(' '),
    cheats.map(({ standing }) => standing.score).join(' '),
    String(Math.min(...honest.map(({ standing }) => standing.score))),
    cheats.map(({ weight }) => weight).join(' '),
    `${cheats.filter(({ address }) => outcome.accused.has(address)).length} of ${cheats.length}`,
    countsOf(outcome.jobs.map(({ phase }) => phase)),
    String(turned),
    String(wrong.length),
    countsOf(
      cheats
        .flatMap(({ events }) => events.map(({ code }) => code))
        .filter((code) => !/agreed$|delivered$|slashed/.test(code) || code === 'never-delivered'),
    ),
  ]
}

/** What the columns of the table say. */
export const headings = [
  'scenario',
  'jobs with each',
  'seen after',
  'half weight after',
  'scores',
  'worst honest',
  'weights',
  'accused',
  'jobs ended',
  'turns failed in',
  'wrong accepted',
  'what the service noted of them',
]
