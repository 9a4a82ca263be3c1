import type { ConsoleJob, ConsoleOverview } from '../../lib/schemas/console.ts'
import { clockTime, count, span, words } from './format.ts'
import { icl } from './icl.ts'
import { JobTable } from './job-table.tsx'
import { Mark, phases, type Tone, toneOf } from './marks.tsx'
import { LoadNote } from './note.tsx'
import { Latency, Throughput } from './plot.tsx'
import { hrefOf } from './route.ts'
import type { Live } from './use-live.ts'
import { useLoaded } from './use-loaded.ts'

const shownJobs = 8

/** The service's health, its jobs, and their durations. */
export function Overview({ live }: { live: Live }) {
  const { overview } = live
  if (!overview) return <LoadNote loaded={{}} what="The overview" />
  const { minutes, minutes_since: since, jobs_by_phase: byPhase } = overview
  const hour = minutes?.[0]?.at ?? 0
  return (
    <>
      <Health overview={overview} />
      <div class="columns">
        <section aria-labelledby="phases-title" class="panel">
          <h2 id="phases-title">Jobs by phase</h2>
          {byPhase ? <Phases counts={byPhase} /> : noData}
        </section>
        <section aria-labelledby="hour-title" class="panel plots">
          <h2 id="hour-title">The last hour</h2>
          {minutes ? (
            <>
              <Throughput minutes={minutes} />
              <Latency minutes={minutes} />
              {since !== null && since > hour + 60 && (
                <p class="note">
                  Whole since {clockTime(since)} UTC only: there were more jobs than are read.
                </p>
              )}
            </>
          ) : (
            noData
          )}
        </section>
      </div>
      <Newest live={live} />
    </>
  )
}

const noData = <p class="note bad">No data: the store is unavailable.</p>

function Health({ overview }: { overview: ConsoleOverview }) {
  const { chain, draws_waiting: draws, ready, reasons } = overview
  return (
    <section aria-labelledby="health-title">
      <h2 id="health-title" class="unseen">
        Health
      </h2>
      <dl class="tiles">
        <Tile name="Service" {...either(ready, 'ready', 'not ready')} />
        <Tile
          name="Chain"
          {...either(chain.connected, 'reachable', 'not reachable')}
          more={`id ${overview.chain_id}`}
        />
        <Tile name="Store" {...storeState(overview)} />
        <Tile name="Outbox" {...outboxState(overview)} />
        <Tile
          name="Draws"
          tone={draws > 0 ? 'busy' : 'good'}
          value={draws > 0 ? `${count(draws)} wait` : 'none waits'}
        />
        <Tile name="Nodes" {...nodesState(overview)} />
        <Tile name="Waiting for nodes" {...waitingState(overview)} />
        <Tile name="Refused in an hour" {...refusedState(overview)} />
      </dl>
      {reasons.length > 0 && (
        <ul class="reasons" aria-label="Problems">
          {reasons.map((reason) => (
            <li key={reason}>{reason}</li>
          ))}
        </ul>
      )}
    </section>
  )
}

const longWaitSeconds = 60

const either = (isGood: boolean, good: string, bad: string): TileState =>
  isGood ? { tone: 'good', value: good } : { tone: 'bad', value: bad }

const numberText = (value: number): string => (value === 0 ? 'none' : count(value))

const outboxState = ({ outbox }: ConsoleOverview): TileState => {
  if (outbox === null) return { tone: 'bad', value: 'not known' }
  const { waiting, oldest_seconds: oldest } = outbox
  return {
    tone: (oldest ?? 0) > 60 ? 'bad' : waiting > 0 ? 'busy' : 'good',
    value: waiting === 0 ? 'empty' : `${count(waiting)} to do`,
    more: oldest ? `overdue ${span(oldest)}` : undefined,
  }
}

const nodesState = ({ nodes }: ConsoleOverview): TileState =>
  nodes === null
    ? { tone: 'bad', value: 'not known' }
    : {
        tone: nodes.active === 0 ? 'bad' : 'good',
        value: `${count(nodes.active)} active`,
        more: `of ${count(nodes.certified)} certified`,
      }

const waitingState = ({ jobs_by_phase: jobs, waiting_since: since, at }: ConsoleOverview) => {
  const seconds = since === null ? 0 : at - since
  const open = jobs?.open ?? 0
  return {
    tone: open === 0 ? 'good' : seconds > longWaitSeconds ? 'bad' : 'busy',
    value: jobs ? numberText(open) : 'not known',
    more: seconds > 0 ? `for ${span(seconds)}` : undefined,
  } satisfies TileState
}

const refusedState = ({ refused }: ConsoleOverview): TileState => {
  const all = Object.entries(refused)
  const total = all.reduce((sum, [, times]) => sum + times, 0)
  return {
    tone: total === 0 ? 'good' : 'busy',
    value: numberText(total),
    more: all.map(([code, times]) => `${count(times)} ${words(code)}`).join(', '),
  }
}

const storeState = ({ store: { connected, durable, writable } }: ConsoleOverview): TileState => {
  if (!writable) return { tone: 'bad', value: 'takes no saves' }
  if (!durable) return { tone: 'quiet', value: 'in memory', more: 'forgets on restart' }
  return connected
    ? { tone: 'good', value: 'reachable' }
    : { tone: 'bad', value: 'away', more: 'saves wait in the journal' }
}

type TileState = { readonly tone: Tone; readonly value: string; readonly more?: string | undefined }

function Tile({ name, tone, value, more }: TileState & { readonly name: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        <Mark tone={tone}>{value}</Mark>
        {more && <small>{more}</small>}
      </dd>
    </div>
  )
}

function Phases({ counts }: { counts: NonNullable<ConsoleOverview['jobs_by_phase']> }) {
  const most = Math.max(...phases.map((phase) => counts[phase] ?? 0), 1)
  return (
    <table class="phases">
      <thead class="unseen">
        <tr>
          <th scope="col">Phase</th>
          <th scope="col">Jobs</th>
          <th scope="col">Share</th>
        </tr>
      </thead>
      <tbody>
        {phases.map((phase) => {
          const jobs = counts[phase] ?? 0
          const width = jobs === 0 ? 0 : Math.max((jobs / most) * 100, 1.5)
          return (
            <tr key={phase}>
              <th scope="row">
                <a href={hrefOf('jobs', '', { phase })}>
                  <Mark tone={toneOf(phase)}>{phase}</Mark>
                </a>
              </th>
              <td class="number">{count(jobs)}</td>
              <td class="bar">
                <svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
                  <rect class={toneOf(phase)} width={width} height="8" />
                </svg>
              </td>
            </tr>
          )
        })}
      </tbody>
    </table>
  )
}

function Newest({ live }: { live: Live }) {
  const loaded = useLoaded('newest', live.reloads, () => icl.jobs('', null))
  const jobs = newestOf(loaded.value?.items ?? [], live.changed).slice(0, shownJobs)
  return (
    <section aria-labelledby="newest-title" class="panel">
      <h2 id="newest-title">
        Newest jobs <a href={hrefOf('jobs')}>all jobs</a>
      </h2>
      <LoadNote loaded={loaded} what="Jobs" />
      {loaded.value && <JobTable jobs={jobs} query={{}} open={undefined} />}
    </section>
  )
}

/** Merges changes into jobs, newest first. */
export function newestOf(
  jobs: readonly ConsoleJob[],
  changed: readonly ConsoleJob[],
): readonly ConsoleJob[] {
  const byRef = new Map([...jobs, ...changed].map((job) => [job.ref, job]))
  return [...byRef.values()].sort((a, b) => b.created_at - a.created_at || (a.ref < b.ref ? -1 : 1))
}
