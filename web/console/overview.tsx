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
          {byPhase ? (
            <Phases counts={byPhase} />
          ) : (
            <p class="note bad">No data: the store is unavailable.</p>
          )}
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
            <p class="note bad">No data: the store is unavailable.</p>
          )}
        </section>
      </div>
      <Newest live={live} />
    </>
  )
}

type Props = { readonly overview: ConsoleOverview }

function Health({ overview }: Props) {
  const { chain, store, outbox, nodes, ready, reasons } = overview
  const isFar = (outbox?.oldest_seconds ?? 0) > 60
  return (
    <section aria-labelledby="health-title">
      <h2 id="health-title" class="unseen">
        Health
      </h2>
      <dl class="tiles">
        <Tile name="Service" tone={ready ? 'good' : 'bad'} value={ready ? 'ready' : 'not ready'} />
        <Tile
          name="Chain"
          tone={chain.connected ? 'good' : 'bad'}
          value={chain.connected ? 'reachable' : 'not reachable'}
          more={`id ${overview.chain_id}`}
        />
        <Tile name="Store" {...storeState(store)} />
        <Tile
          name="Outbox"
          tone={outbox === null || isFar ? 'bad' : outbox.waiting > 0 ? 'busy' : 'good'}
          value={
            outbox === null
              ? 'not known'
              : outbox.waiting === 0
                ? 'empty'
                : `${count(outbox.waiting)} to do`
          }
          more={outbox?.oldest_seconds ? `overdue ${span(outbox.oldest_seconds)}` : undefined}
        />
        <Tile
          name="Draws"
          tone={overview.draws_waiting > 0 ? 'busy' : 'good'}
          value={
            overview.draws_waiting > 0 ? `${count(overview.draws_waiting)} wait` : 'none waits'
          }
        />
        <Tile
          name="Nodes"
          tone={nodes === null || nodes.active === 0 ? 'bad' : 'good'}
          value={nodes === null ? 'not known' : `${count(nodes.active)} active`}
          more={nodes === null ? undefined : `of ${count(nodes.certified)} certified`}
        />
        <Waiting overview={overview} />
        <Refused counts={overview.refused} />
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

function Waiting({ overview: { jobs_by_phase: jobs, waiting_since: since, at } }: Props) {
  const seconds = since === null ? 0 : at - since
  const open = jobs?.open ?? 0
  return (
    <Tile
      name="Waiting for nodes"
      tone={open === 0 ? 'good' : seconds > longWaitSeconds ? 'bad' : 'busy'}
      value={jobs ? numberText(open) : 'not known'}
      more={seconds > 0 ? `for ${span(seconds)}` : undefined}
    />
  )
}

const numberText = (value: number): string => (value === 0 ? 'none' : count(value))

function Refused({ counts }: { counts: ConsoleOverview['refused'] }) {
  const all = Object.entries(counts)
  const total = all.reduce((sum, [, times]) => sum + times, 0)
  return (
    <Tile
      name="Refused in an hour"
      tone={total === 0 ? 'good' : 'busy'}
      value={numberText(total)}
      more={all.map(([code, times]) => `${count(times)} ${words(code)}`).join(', ')}
    />
  )
}

function storeState({ connected, durable, writable }: ConsoleOverview['store']): TileState {
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
  const jobs = newestOf(loaded.value?.jobs ?? [], live.changed).slice(0, shownJobs)
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
