import type { Api } from '../../lib/api.ts'
import type { Address, JobId } from '../../lib/codecs.ts'
import { errorText } from '../../lib/host/explain-error.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { ConsoleJobDetail } from '../../lib/schemas/console.ts'
import { describeNumbers } from '../../lib/teacher.ts'

const mostJobs = 10

/** Describes a node's latest jobs in one line each, from the ICL's public console, or says why it has none. */
export async function explainJobs(
  api: Pick<Api, 'getConsoleJob'>,
  address: Address,
  jobIds: readonly JobId[],
): Promise<readonly string[]> {
  const lines: string[] = []
  for (const job of [...new Set(jobIds)].slice(-mostJobs)) {
    try {
      lines.push(`${job}  ${describeJob(await api.getConsoleJob({ params: { job } }), address)}`)
    } catch (error) {
      const isGone = error instanceof ProblemError && error.code === 'job-not-found'
      if (isGone) lines.push(`${job}  has not settled, or is not kept any more`)
      else return [...lines, `${job}  the console does not tell: ${errorText(error)}`]
    }
  }
  return lines
}

/** Describes a job in one line: its list, which nodes were passed over, joined, differed and delivered. */
function describeJob(
  { job, assignments, agreement, deliveries, list }: ConsoleJobDetail,
  address: Address,
): string {
  const nameOf = (node: string | undefined) => (node === address ? 'this node' : (node ?? 'a node'))
  const passed = Object.entries(list.passed).map(([reason, count]) => `${count} ${reason}`)
  const answered = assignments.filter(({ status }) => status === 'revealed')
  const differed = answered.filter(({ node }) => node && !agreement?.group.includes(node))
  const joined = answered.filter(({ batch }) => batch > 0)
  const parts = [
    ['passed over', passed],
    ['joined', joined.map(({ node }) => nameOf(node))],
    ['differed', agreement?.group.length ? differed.map(({ node }) => nameOf(node)) : []],
    [
      'deliveries',
      deliveries.map(({ node, outcome, reason }) => `${outcome} by ${nameOf(node)}${why(reason)}`),
    ],
    [
      'attested',
      assignments.flatMap(({ node, attested }) =>
        attested ? [`${nameOf(node)} ${describeNumbers(attested)}`] : [],
      ),
    ],
  ] as const
  const told = parts.flatMap(([name, items]) =>
    items.length === 0 ? [] : [`${name}: ${items.join(', ')}`],
  )
  const matched =
    job.answers === undefined ? '' : `, ${job.agreed ?? 0} of ${job.answers} answers match`
  return [`${job.status}${matched}`, `list of ${list.members} (${list.rule})`, ...told].join('; ')
}

const why = (reason: string | undefined): string => (reason === undefined ? '' : ` (${reason})`)
