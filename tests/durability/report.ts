import { table } from '../bench/table.ts'
import type { Problem } from './check.ts'
import { type Ended, isExpired, type PutFault, type RunReport } from './run.ts'

/** What the faults of one kind did. */
type Row = {
  readonly kind: string
  readonly faults: number
  readonly jobs: number
  readonly events: number
  readonly lost: number
  readonly doubled: number
  readonly unsettled: number
  readonly expired: number
  readonly recoveries: readonly (number | undefined)[]
}

/** A job counts for the first fault that came while it ran, else for the one before it. */
function faultOf(faults: readonly PutFault[], { told, job }: Ended): PutFault | undefined {
  const { submittedAt } = told
  const endedAt = job?.settledAt ?? told.endedAt ?? Number.POSITIVE_INFINITY
  const during = faults.find(({ from, to }) => to >= submittedAt && from <= endedAt)
  return during ?? faults.findLast(({ to }) => to < submittedAt)
}

const countOf = (problems: readonly Problem[], kind: Problem['kind']): number =>
  problems.filter((problem) => problem.kind === kind).length

function rowsOf({ faults, ended }: RunReport): readonly Row[] {
  const kinds = [...new Set(faults.map(({ kind }) => kind))].sort((a, b) => a.localeCompare(b))
  const causes = ended.map((one) => ({ one, kind: faultOf(faults, one)?.kind }))
  return kinds.map((kind) => {
    const own = faults.filter((fault) => fault.kind === kind)
    const problems = own.flatMap((fault) => fault.problems)
    const jobs = causes.filter((cause) => cause.kind === kind).map(({ one }) => one)
    return {
      kind,
      faults: own.length,
      jobs: jobs.length,
      events: jobs.reduce((sum, { told }) => sum + told.events.size, 0),
      lost: countOf(problems, 'lost'),
      doubled: countOf(problems, 'doubled'),
      unsettled: countOf(problems, 'unsettled'),
      expired: jobs.filter(isExpired).length,
      recoveries: own.map(({ recoveryMs }) => recoveryMs),
    }
  })
}

const secondsOf = (recoveries: Row['recoveries'], share: number): string => {
  const sorted = recoveries.map((ms) => ms ?? Number.POSITIVE_INFINITY).sort((a, b) => a - b)
  const ms = sorted[Math.ceil(share * sorted.length) - 1] ?? 0
  return Number.isFinite(ms) ? `${(ms / 1000).toFixed(1)} s` : 'never'
}

const titles = [
  'kind',
  'faults',
  'jobs',
  'events',
  'lost',
  'doubled',
  'unsettled',
  'expired',
  'p50',
  'max',
]

/** The table of a run: for each kind what was acknowledged around its faults, what became of it, and how long it took to recover. */
export function tableOf(report: RunReport): string {
  const lines = rowsOf(report).map(({ recoveries, ...row }) => [
    ...Object.values(row).map(String),
    ...[0.5, 1].map((share) => secondsOf(recoveries, share)),
  ])
  return table([titles, ...lines]).trimEnd()
}

/** What is not in the table: statements of nodes, problems that only the end showed, jobs that expired, clients that were turned away. */
export function remarksOf({
  ended,
  statements,
  problems,
  turnedAway,
}: RunReport): readonly string[] {
  const expired = ended.filter(isExpired).map(({ told, job }) => {
    const why = job?.assignments.flatMap(({ reason }) => reason ?? []) ?? []
    const turns = job?.agreement?.turns.flatMap(({ failed }) => failed?.reason ?? [])
    const failedTurns = turns ? `; turns: ${turns.join(', ')}` : ''
    return `  ${told.jobId} ${job?.phase} (${job?.reason}): ${why.join(', ')}${failedTurns}`
  })
  return [
    `statements of nodes that were checked: ${statements}`,
    `clients turned away before a job was acknowledged: ${[...turnedAway].map(([why, times]) => `${why} ${times}`).join(', ') || 'none'}`,
    ...(problems.length > 0 ? ['found in the end:'] : []),
    ...problems.map(({ kind, about, what }) => `  ${kind}: ${about} ${what}`),
    ...(expired.length > 0 ? ['acknowledged and not answered:'] : []),
    ...expired,
  ]
}

/** The sums of several runs. */
export function totalsOf(reports: readonly RunReport[]) {
  const faults = reports.flatMap((report) => report.faults)
  const problems = [
    ...faults.flatMap((fault) => fault.problems),
    ...reports.flatMap((report) => report.problems),
  ]
  return {
    faults: faults.length,
    lost: countOf(problems, 'lost'),
    doubled: countOf(problems, 'doubled'),
    unsettled: countOf(problems, 'unsettled'),
    expired: reports.flatMap(({ ended }) => ended).filter(isExpired).length,
    notBack: faults.filter(({ recoveryMs }) => recoveryMs === undefined).length,
  }
}
