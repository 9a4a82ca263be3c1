import { Registry } from 'prom-client'
import { figureGauges, type Makers, makersOf, type ProcessFigures } from '../../lib/prometheus.ts'
import { AttestationBackend } from '../../lib/schemas/nodes.ts'
import type { Gauges, Metrics } from '../telemetry/metrics.ts'

const requestBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 31]
const callBuckets = [0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5, 10]
const phaseBuckets = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600]

/** Metrics of this process for Prometheus. Without `figures` there are none about the process itself. */
export function createPrometheus(figures?: ProcessFigures): Metrics {
  const registry = new Registry()
  const make = makersOf(registry, 'svc_icl_')
  const counters = countersOf(make)
  const setGauges = gaugesOf(make)
  const setFigures = figures && figureGauges(makersOf(registry, 'process_'), figures)
  return {
    stopwatch: () => performance.now() / 1000,
    request: (operation, status, seconds) => {
      counters.requests.inc({ operation, status })
      counters.requestSeconds.observe({ operation }, seconds)
    },
    call: (port, method, outcome, seconds) => {
      counters.callSeconds.observe({ port, method, outcome }, seconds)
    },
    phase: (from, to, seconds) => {
      counters.phaseChanges.inc({ from, to })
      counters.phaseSeconds.observe({ phase: from }, seconds)
    },
    settled: ({ rule, phase, passed, joined, deliveries, dissents }) => {
      counters.settled.inc({ rule, phase })
      for (const reason of passed) counters.passed.inc({ reason })
      counters.joined.inc({ rule }, joined)
      for (const outcome of deliveries) counters.deliveries.inc({ outcome })
      counters.dissents.inc({ rule }, dissents)
    },
    turn: (seconds) => counters.turnSeconds.observe(seconds),
    limited: (limit) => counters.limited.inc({ limit }),
    held: (kind, change) => counters.held.inc({ kind }, change),
    committed: (results, gas) => {
      counters.commits.inc()
      counters.committedResults.inc(results)
      counters.commitGas.inc(gas)
    },
    webhook: (state) => counters.webhooks.inc({ state }),
    text: (gauges) => {
      setGauges(gauges)
      setFigures?.()
      return registry.metrics()
    },
  }
}

const countersOf = ({ counter, gauge, histogram }: Makers) => {
  const held = gauge('held_requests', 'Open long polls and event streams', ['kind'])
  for (const kind of ['poll', 'events']) held.set({ kind }, 0)
  return {
    held,
    requests: counter('requests_total', 'Requests served', ['operation', 'status']),
    requestSeconds: histogram(
      'request_seconds',
      'Response time of requests (of an event stream: until it began). Long polls wait up to 30 s',
      requestBuckets,
      ['operation'],
    ),
    callSeconds: histogram(
      'call_seconds',
      'Calls to the store and the chain; of a sqlite file, waits for its commits; of a store in memory, none',
      callBuckets,
      ['port', 'method', 'outcome'],
    ),
    phaseChanges: counter('job_phase_changes_total', 'Phase changes of jobs, by this process', [
      'from',
      'to',
    ]),
    phaseSeconds: histogram(
      'job_phase_seconds',
      'Time that jobs spent in a phase that they left',
      phaseBuckets,
      ['phase'],
    ),
    commits: counter('commits_total', 'Transactions that committed results'),
    committedResults: counter('committed_results_total', 'Results in these transactions'),
    commitGas: counter('commit_gas_total', 'Gas used by these transactions'),
    webhooks: counter(
      'webhooks_total',
      'Webhook delivery attempts, by resulting state (waiting: will be retried)',
      ['state'],
    ),
    turnSeconds: histogram(
      'draw_wait_seconds',
      'Time that draws waited for their turn',
      phaseBuckets,
    ),
    limited: counter('rate_limited_total', 'Requests refused by a rate limit', ['limit']),
    ...settledCountersOf(counter),
  }
}

/** Counters of settled jobs, counted by the process that saved the end of the job. */
const settledCountersOf = (counter: Makers['counter']) => ({
  settled: counter('settled_jobs_total', 'Jobs that settled, by their rule of agreement', [
    'rule',
    'phase',
  ]),
  passed: counter(
    'passed_nodes_total',
    'Nodes of lists that were passed over, in jobs that settled',
    ['reason'],
  ),
  joined: counter(
    'joined_seats_total',
    'Seats that were added to the quorum for want of an agreement, in jobs that settled',
    ['rule'],
  ),
  deliveries: counter(
    'deliveries_total',
    'Turns to deliver in jobs that settled; settled: the job was accepted with it',
    ['outcome'],
  ),
  dissents: counter(
    'dissenting_answers_total',
    'Answers outside the agreement, in jobs that settled',
    ['rule'],
  ),
})

function gaugesOf({ gauge }: Makers): (gauges: Gauges) => void {
  const up = gauge('store_up', '1 when the store returned its numbers')
  const jobs = gauge('jobs', 'Jobs in the store by phase', ['phase'])
  const nodes = gauge('nodes', 'Nodes in the pool', ['backend', 'tier'])
  const effects = gauge('outbox_effects', 'Effects that are not delivered yet')
  const age = gauge('outbox_oldest_seconds', 'Age of the oldest overdue effect')
  const draws = gauge('draws_waiting', 'Draws that wait for their turn')
  const rooms = gauge('blob_room_bytes', 'Room for blobs: free, in use, or stored and not in use', [
    ...['uploader', 'part'],
  ])
  const degraded = gauge('degraded_reasons', 'Faults that /readyz names')
  const inMemory = gauge(
    'store_in_memory',
    '1 while the store has no disk: a crash may lose records',
  )
  return (state) => {
    for (const each of [jobs, nodes, effects, age, rooms]) each.reset()
    draws.set(state.drawsWaiting)
    degraded.set(state.degradedReasons)
    inMemory.set(state.inMemory ? 1 : 0)
    for (const [uploader, room] of Object.entries(state.rooms ?? {})) {
      const { bytes, freeBytes, openBytes } = room
      rooms.set({ uploader, part: 'free' }, freeBytes)
      rooms.set({ uploader, part: 'unused' }, Math.max(0, openBytes - freeBytes))
      rooms.set({ uploader, part: 'used' }, bytes - openBytes)
    }
    up.set(state.known ? 1 : 0)
    for (const [phase, count] of Object.entries(state.jobsByPhase)) jobs.set({ phase }, count)
    // An empty pool is not an unknown one.
    if (state.nodes)
      for (const backend of AttestationBackend.options) nodes.set({ backend, tier: 0 }, 0)
    for (const { backend, tier, count } of state.nodes ?? []) nodes.set({ backend, tier }, count)
    if (state.known) {
      effects.set(state.effects)
      age.set(state.oldestEffectSeconds)
    } else {
      effects.remove()
      age.remove()
    }
  }
}
