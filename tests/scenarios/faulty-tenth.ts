import { isSettled } from '../../icl/rules/job.ts'
import { median, table } from '../bench/table.ts'
import { createDice } from '../simulation/dice.ts'
import {
  equivocator,
  lazy,
  neverDelivers,
  neverReveals,
  newDiary,
  revealsAnother,
  silent,
  wrongAnswers,
} from './conducts.ts'
import { countsOf, isTurned, wronglyAccepted } from './report.ts'
import { type Cheat, type Outcome, runScenario } from './run-scenario.ts'

/** The ways to be at fault that are dealt out. */
const kinds: readonly Cheat[] = [
  { name: 'wrong answers', conduct: wrongAnswers() },
  { name: 'lazy', conduct: lazy },
  { name: 'never reveals', conduct: neverReveals },
  { name: 'reveals another', conduct: revealsAnother(newDiary()) },
  { name: 'equivocates', conduct: equivocator(newDiary()) },
  { name: 'never delivers', conduct: neverDelivers },
  { name: 'no output', conduct: {}, output: 'output-unavailable' },
  { name: 'silent', conduct: silent },
]

/** From how many jobs on every faulty node is to have a lower score than every honest one. */
const manyJobs = 1_000

/** What came of jobs among nodes of which a tenth is at fault, and what should not have. */
export type TenthReport = {
  readonly outcome: Outcome
  readonly wrong: number
  readonly problems: readonly string[]
}

/** Runs jobs among nodes of which a tenth is at fault, each in a way that chance chooses. */
export async function faultyTenth({
  seed,
  jobs,
  nodes,
}: {
  readonly seed: number
  readonly jobs: number
  readonly nodes: number
}): Promise<TenthReport> {
  const dice = createDice(seed)
  const count = Math.round(nodes / 10)
  const dealt = kinds
    .map((kind) => ({ kind, order: dice.next() }))
    .toSorted((a, b) => a.order - b.order)
    .map(({ kind }) => kind)
  const cheats = Array.from({ length: count }, (_, index) => {
    const kind = dealt[index % dealt.length]
    if (!kind) throw new TypeError('There are kinds to deal')
    return { ...kind, name: `${kind.name} ${index}` }
  })
  const outcome = await runScenario({ seed, jobs, honestNodes: nodes - count, cheats })
  return { outcome, ...(await problemsOf(outcome)) }
}

async function problemsOf(outcome: Outcome) {
  const { jobs, nodes, accused, broken } = outcome
  const honest = nodes.filter(({ isHonest }) => isHonest)
  // One that would cheat in a role that it never had has done nothing wrong.
  const seen = nodes.filter((node) => !node.isHonest && node.seenAfter !== undefined)
  const wrong = await wronglyAccepted(outcome)
  const scores = honest.map(({ standing }) => standing.score)
  // In few jobs one that cheats in one role only may answer more often, and well, than most honest nodes have a part at all:
  // then all that were seen count together.
  const faulty = seen.map(({ name, standing }) => ({ name, score: standing.score }))
  const mean = faulty.reduce((sum, { score }) => sum + score, 0) / faulty.length
  const [judged, bound] =
    jobs.length < manyJobs
      ? [[{ name: 'the mean faulty node', score: mean }], median(scores)]
      : [faulty, Math.min(...scores)]
  const problems = [
    ...broken,
    // Were nothing noted of anybody, all else here would hold.
    ...(seen.length > 0 ? [] : ['no faulty node was seen']),
    ...jobs.filter(({ phase }) => !isSettled(phase)).map(({ id }) => `job ${id} has not settled`),
    ...honest
      .filter(({ address }) => accused.has(address))
      .map(({ name }) => `${name} was accused`),
    ...honest
      .filter(({ standing }) => standing.slashedGwei > 0)
      .map(({ name }) => `${name} was slashed`),
    ...judged
      .filter(({ score }) => score >= bound)
      .map(({ name, score }) => `${name} has ${score}, honest nodes ${bound}`),
  ]
  return { wrong: wrong.length, problems }
}

/** The report as text: how the jobs ended, and the nodes from the lowest score up. */
export function facesOf({ outcome, wrong, problems }: TenthReport): string {
  const { jobs, nodes, seed, accused } = outcome
  const lowest = nodes.toSorted((a, b) => a.standing.score - b.standing.score)
  const rows = lowest
    .slice(0, nodes.filter(({ isHonest }) => !isHonest).length + 5)
    .map(({ name, standing, weight, parts, seenAfter, address, events }) => [
      name,
      String(standing.score),
      String(weight),
      String(parts.length),
      seenAfter === undefined ? '-' : String(seenAfter),
      accused.has(address) ? 'accused' : '',
      countsOf(events.map(({ code }) => code)),
    ])
  return [
    `seed ${seed}: ${jobs.length} jobs among ${nodes.length} nodes: ${countsOf(jobs.map(({ phase, reason }) => `${phase} (${reason})`))}`,
    `wrong answers accepted: ${wrong}; failed turns in ${jobs.filter(isTurned).length}`,
    table([['lowest scores', 'score', 'weight', 'jobs', 'seen after', '', 'scored for'], ...rows]),
    problems.length === 0
      ? `every job settled; no honest node was accused or slashed; ${jobs.length < manyJobs ? 'the faulty nodes that were seen ended, in the mean, below half of the honest ones' : 'every faulty node that was seen ended below every honest one'}`
      : problems.join('\n'),
    `faulty nodes ${countFaulty(lowest)}`,
  ].join('\n')
}

/** How many of the lowest scores are those of faulty nodes. */
function countFaulty(lowest: Outcome['nodes']): string {
  const count = lowest.filter(({ isHonest }) => !isHonest).length
  const among = lowest.slice(0, count).filter(({ isHonest }) => !isHonest).length
  return `among the ${count} lowest scores: ${among}`
}
