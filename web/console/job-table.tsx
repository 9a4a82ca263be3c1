import type { ConsoleJob } from '../../lib/schemas/console.ts'
import { short, took, words } from './format.ts'
import { PhaseMark } from './marks.tsx'
import { Ago, Empty } from './note.tsx'
import { hrefOf } from './route.ts'
import { ofNumbers, Table } from './table.tsx'

/** A job's name in URLs: its id, which lasts, or else its ref. */
const nameOf = ({ jobId, ref }: ConsoleJob): string => jobId ?? ref

type Props = {
  readonly jobs: readonly ConsoleJob[]
  readonly query: Readonly<Record<string, string>>
  readonly open: string | undefined
}

const headings = ['Job', 'Phase', 'Why', 'Model', 'Agreed', ofNumbers('Took'), ofNumbers('Created')]

/** A table of jobs, each a link to its detail. */
export function JobTable({ jobs, query, open }: Props) {
  if (jobs.length === 0) return <Empty>No matching jobs.</Empty>
  return (
    <Table headings={headings}>
      {jobs.map((job) => {
        const isOpen = open !== undefined && (open === job.ref || open === job.jobId)
        return (
          <tr key={job.ref} class={isOpen ? 'chosen' : undefined}>
            <th scope="row">
              <a
                href={hrefOf('jobs', nameOf(job), query)}
                aria-current={isOpen ? 'true' : undefined}
              >
                <code>{job.jobId ? short(job.jobId) : job.ref.slice(0, 8)}</code>
              </a>
            </th>
            <td>
              <PhaseMark phase={job.status} />
            </td>
            <td class="soft">{job.reason && words(job.reason)}</td>
            <td>
              {job.model_id} <small>{job.comparator}</small>
            </td>
            <td data-name="agreed">{job.answers ? `${job.agreed} of ${job.answers}` : ''}</td>
            <td class="number" data-name="took">
              {job.seconds === undefined ? '' : took(job.seconds)}
            </td>
            <td class="number">
              <Ago at={job.created_at} />
            </td>
          </tr>
        )
      })}
    </Table>
  )
}
