import { useEffect, useRef, useState } from 'preact/hooks'
import { errorMessage } from '../../lib/error-message.ts'
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
import { useLoaded } from './use-loaded.ts'

/** All clients' jobs by phase, and the detail of the open one. */
export function Jobs({ live, route }: { live: Live; route: Route }) {
  const phase = phases.find((known) => known === route.query.get('phase')) ?? ''
  const { jobs: listed, loaded, more, isMore } = usePages(live, phase)
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

type Older = { readonly jobs: readonly ConsoleJob[]; readonly cursor: string | null }

/** Loads the first page, which is kept up to date, and later pages on request. */
function usePages(live: Live, phase: string) {
  const loaded = useLoaded(`jobs ${phase}`, live.reloads, () => icl.jobs(phase, null))
  const [older, setOlder] = useState<Older | undefined>(undefined)
  const [error, setError] = useState<string | undefined>(undefined)
  const list = `${phase} ${live.reloads}`
  const shownList = useRef(list)
  shownList.current = list
  useEffect(() => {
    setOlder(undefined)
    setError(undefined)
  }, [list])
  const first = loaded.value
  const cursor = older ? older.cursor : (first?.next_cursor ?? null)
  const known = [...(first?.jobs ?? []), ...(older?.jobs ?? [])]
  const last = known.at(-1)?.created_at ?? 0
  const refs = new Set(known.map(({ ref }) => ref))
  // Skips changes of jobs that are older than the shown ones.
  const changed = live.changed.filter(
    (job) => refs.has(job.ref) || cursor === null || job.created_at > last,
  )
  const jobs = newestOf(known, changed).filter(({ status }) => !phase || status === phase)
  const more = () => {
    // Ignores an answer that arrives after another list was opened.
    const isOld = () => shownList.current !== list
    icl.jobs(phase, cursor).then(
      (page) => {
        if (isOld()) return
        setError(undefined)
        setOlder({ jobs: [...(older?.jobs ?? []), ...page.jobs], cursor: page.next_cursor })
      },
      (reason: unknown) => {
        if (!isOld()) setError(errorMessage(reason))
      },
    )
  }
  return {
    jobs,
    loaded: error === undefined ? loaded : { ...loaded, error },
    more,
    isMore: cursor !== null,
  }
}
