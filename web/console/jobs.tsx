import type { ConsoleJob } from '../../lib/schemas/console.ts'
import { useFind } from './find.tsx'
import { count, short, words } from './format.ts'
import { icl } from './icl.ts'
import { JobDetail } from './job-detail.tsx'
import { JobTable } from './job-table.tsx'
import { phases } from './marks.tsx'
import { LoadNote } from './note.tsx'
import { newestOf } from './overview.tsx'
import { hrefOf, type Route } from './route.ts'
import type { Live } from './use-live.ts'
import { usePages } from './use-pages.ts'

/** All clients' jobs by phase, and the detail of the open one. */
export function Jobs({ live, route }: { live: Live; route: Route }) {
  const phase = phases.find((known) => known === route.query.get('phase')) ?? ''
  const { jobs: listed, loaded, more, isMore } = useJobs(live, phase)
  const { field, sought } = useFind('job id, model, reason')
  const jobs = listed.filter((job) => textOf(job).includes(sought))
  const query = { phase }
  return (
    <div class={route.open ? 'split open' : 'split'}>
      <section class="panel" aria-labelledby="jobs-title">
        <h2 id="jobs-title">
          Jobs <small>{count(jobs.length)} shown</small>
        </h2>
        <nav class="filters" aria-label="Phases">
          {['', ...phases].map((each) => (
            <a
              key={each}
              href={hrefOf('jobs', '', { phase: each })}
              aria-current={each === phase ? 'true' : undefined}
            >
              {each || 'all'} <small>{countOf(live, each)}</small>
            </a>
          ))}
        </nav>
        <search class="filters">
          {field}
          {namePattern.test(sought) && (
            <a href={hrefOf('jobs', sought, query)}>Open {short(sought)}</a>
          )}
        </search>
        <LoadNote loaded={loaded} what="Jobs" />
        {loaded.value && <JobTable jobs={jobs} query={query} open={route.open} />}
        {isMore && (
          <button type="button" onClick={more}>
            Show older jobs
          </button>
        )}
      </section>
      {route.open && (
        <JobDetail
          key={route.open}
          name={route.open}
          live={live}
          back={hrefOf('jobs', '', query)}
        />
      )}
    </div>
  )
}

/** A job's id, or its ref. */
const namePattern = /^(0x[0-9a-f]{64}|[0-9a-f]{16})$/

const textOf = ({ ref, jobId, model_id, comparator, reason }: ConsoleJob): string =>
  [ref, jobId, model_id, comparator, reason, reason && words(reason)].join(' ').toLowerCase()

function countOf({ overview }: Live, phase: string): string {
  const counts = overview?.jobs_by_phase
  if (!counts) return ''
  const chosen = phases.filter((each) => phase === '' || each === phase)
  return count(chosen.reduce((total, each) => total + (counts[each] ?? 0), 0))
}

/** The jobs of a phase, with the changes since they were read. */
function useJobs(live: Live, phase: string) {
  const pages = usePages(`jobs ${phase}`, live.reloads, (cursor) => icl.jobs(phase, cursor))
  const last = pages.items.at(-1)?.created_at ?? 0
  const refs = new Set(pages.items.map(({ ref }) => ref))
  // Skips changes of jobs that are older than the shown ones.
  const changed = live.changed.filter(
    (job) => refs.has(job.ref) || !pages.isMore || job.created_at > last,
  )
  const jobs = newestOf(pages.items, changed).filter(({ status }) => !phase || status === phase)
  return { ...pages, jobs }
}
