import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import type { Gauges, Metrics } from '../telemetry/metrics.ts'
import type { ProcessFigures } from './host.ts'

const prefix = 'svc_icl_'
const requestBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 31]
const callBuckets = [0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5, 10]
const phaseBuckets = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600]

/** Metrics of this process for Prometheus. Without `figures` there are none about the process itself. */
export function createPrometheus(figures?: ProcessFigures): Metrics {
  const registry = new Registry()
  const counters = countersOf(registry)
  const setGauges = gaugesOf(registry, figures)
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
      return registry.metrics()
    },
  }
}

const countersOf = (registry: Registry) => {
  const registers = [registry]
  const held = new Gauge({
    name: `${prefix}held_requests`,
    help: 'Open long polls and event streams',
    labelNames: ['kind'],
    registers,
  })
  for (const kind of ['poll', 'events']) held.set({ kind }, 0)
  return {
    held,
    ...settledCountersOf(registers),
    requests: new Counter({
      name: `${prefix}requests_total`,
      help: 'Requests served',
      labelNames: ['operation', 'status'],
      registers,
    }),
    requestSeconds: new Histogram({
      name: `${prefix}request_seconds`,
      help: 'Response time of requests (of an event stream: until it began). Long polls wait up to 30 s',
      labelNames: ['operation'],
      buckets: requestBuckets,
      registers,
    }),
    callSeconds: new Histogram({
      name: `${prefix}call_seconds`,
      help: 'Calls to the store and the chain; of a sqlite file, waits for its commits',
      labelNames: ['port', 'method', 'outcome'],
      buckets: callBuckets,
      registers,
    }),
    phaseChanges: new Counter({
      name: `${prefix}job_phase_changes_total`,
      help: 'Phase changes of jobs, by this process',
      labelNames: ['from', 'to'],
      registers,
    }),
    phaseSeconds: new Histogram({
      name: `${prefix}job_phase_seconds`,
      help: 'Time that jobs spent in a phase that they left',
      labelNames: ['phase'],
      buckets: phaseBuckets,
      registers,
    }),
    commits: new Counter({
      name: `${prefix}commits_total`,
      help: 'Transactions that committed results',
      registers,
    }),
    committedResults: new Counter({
      name: `${prefix}committed_results_total`,
      help: 'Results in these transactions',
      registers,
    }),
    commitGas: new Counter({
      name: `${prefix}commit_gas_total`,
      help: 'Gas used by these transactions',
      registers,
    }),
    webhooks: new Counter({
      name: `${prefix}webhooks_total`,
      help: 'Webhook delivery attempts, by resulting state (waiting: will be retried)',
      labelNames: ['state'],
      registers,
    }),
    turnSeconds: new Histogram({
      name: `${prefix}draw_wait_seconds`,
      help: 'Time that draws waited for their turn',
      buckets: phaseBuckets,
      registers,
    }),
    limited: new Counter({
      name: `${prefix}rate_limited_total`,
      help: 'Requests refused by a rate limit',
      labelNames: ['limit'],
      registers,
    }),
  }
}

/** Counters of settled jobs, counted by the process that saved the end of the job. */
const settledCountersOf = (registers: Registry[]) => ({
  settled: new Counter({
    name: `${prefix}settled_jobs_total`,
    help: 'Jobs that settled, by their rule of agreement',
    labelNames: ['rule', 'phase'],
    registers,
  }),
  passed: new Counter({
    name: `${prefix}passed_nodes_total`,
    help: 'Nodes of lists that were passed over, in jobs that settled',
    labelNames: ['reason'],
    registers,
  }),
  joined: new Counter({
    name: `${prefix}joined_seats_total`,
    help: 'Seats that were added to the quorum for want of an agreement, in jobs that settled',
    labelNames: ['rule'],
    registers,
  }),
  deliveries: new Counter({
    name: `${prefix}deliveries_total`,
    help: 'Turns to deliver in jobs that settled; settled: the job was accepted with it',
    labelNames: ['outcome'],
    registers,
  }),
  dissents: new Counter({
    name: `${prefix}dissenting_answers_total`,
    help: 'Answers outside the agreement, in jobs that settled',
    labelNames: ['rule'],
    registers,
  }),
})

function gaugesOf(
  registry: Registry,
  figures: ProcessFigures | undefined,
): (gauges: Gauges) => void {
  const gauge = <T extends string>(name: string, help: string, labelNames: readonly T[] = []) =>
    new Gauge({ name, help, labelNames: [...labelNames], registers: [registry] })
  const up = gauge(`${prefix}store_up`, '1 when the store returned its numbers')
  const jobs = gauge(`${prefix}jobs`, 'Jobs in the store by phase', ['phase'])
  const nodes = gauge(`${prefix}nodes`, 'Nodes in the pool', ['backend', 'tier'])
  const effects = gauge(`${prefix}outbox_effects`, 'Effects that are not delivered yet')
  const age = gauge(`${prefix}outbox_oldest_seconds`, 'Age of the oldest overdue effect')
  const draws = gauge(`${prefix}draws_waiting`, 'Draws that wait for their turn')
  const setFigures = figures && figureGauges(registry, figures)

  return (state) => {
    for (const each of [jobs, nodes, effects, age]) each.reset()
    draws.set(state.drawsWaiting)
    up.set(state.known ? 1 : 0)
    for (const [phase, count] of Object.entries(state.jobsByPhase)) jobs.set({ phase }, count)
    for (const { backend, tier, count } of state.nodes ?? []) nodes.set({ backend, tier }, count)
    if (state.known) {
      effects.set(state.effects)
      age.set(state.oldestEffectSeconds)
    } else {
      effects.remove()
      age.remove()
    }
    setFigures?.()
  }
}

function figureGauges(registry: Registry, figures: ProcessFigures): () => void {
  const registers = [registry]
  const memory = new Gauge({
    name: 'process_resident_memory_bytes',
    help: 'Resident memory',
    registers,
  })
  const cpu = new Counter({ name: 'process_cpu_seconds_total', help: 'Processor time', registers })
  const startedAt = new Gauge({
    name: 'process_start_time_seconds',
    help: 'When the process started, in Unix seconds',
    registers,
  })
  startedAt.set(figures.startedAt)
  return () => {
    memory.set(figures.memoryBytes())
    cpu.reset()
    cpu.inc(figures.processorSeconds())
  }
}
