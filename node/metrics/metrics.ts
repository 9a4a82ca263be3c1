import { Registry } from 'prom-client'
import type { z } from 'zod'
import { type Clock, elapsedSince, type MonotonicMs } from '../../lib/clock.ts'
import { figureGauges, makersOf, type ProcessFigures } from '../../lib/prometheus.ts'
import { AbortReason, VerdictReason } from '../../lib/schemas/jobs.ts'
import type { NodeRecord } from '../../lib/schemas/nodes.ts'
import type { Spent } from '../chain/sending.ts'
import type { DaemonState } from '../daemon.ts'
import type { JobRecord } from '../journal/history.ts'

const callBuckets = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120]

/** The metrics of a node, for its operator. Labels are few, and never name a job, a prompt or a caller. */
export type NodeMetrics = ReturnType<typeof createNodeMetrics>

/** Makes the metrics of a node. Ages are by the monotonic clock. */
export function createNodeMetrics(options: {
  readonly clock: Clock
  readonly figures: ProcessFigures
  readonly labels: { readonly version: string; readonly address: string }
}) {
  const registry = new Registry()
  const make = makersOf(registry, 'svc_node_')
  make
    .gauge('info', 'Version and address of the node', ['version', 'address'])
    .set(options.labels, 1)
  const setState = stateGauges(make, options.clock)
  const setFigures = figureGauges(makersOf(registry, 'process_'), options.figures)
  const counters = countersOf(make)
  return {
    ...counters,
    ...setState,
    record: recordGauges(make),
    /** Returns all metrics in the text format of Prometheus. */
    text: (): Promise<string> => {
      setState.refresh()
      setFigures()
      return registry.metrics()
    },
  }
}

type Make = ReturnType<typeof makersOf>

/** Gauges of the moment at which they are read. */
function stateGauges({ gauge }: Make, clock: Clock) {
  const age = gauge(
    'heartbeat_age_seconds',
    'Time since the ICL last took a heartbeat; before the first, since the start',
  )
  const eligible = gauge(
    'eligible',
    '1 when the ICL considered the node for jobs at that heartbeat',
  )
  const certificate = gauge(
    'certificate_left_seconds',
    'Time left of the certificate; 0 without one, absent until the daemon runs',
  )
  certificate.remove()
  const slots = gauge('slots', 'Slots for jobs; none is free while the node takes no work', [
    'state',
  ])
  const running = gauge('jobs_running', 'Jobs that have not ended')
  const paidFor = gauge('answers_paid_for', 'Answers that the wallet can pay to deliver')
  paidFor.remove()
  let heardAt: MonotonicMs = clock.monotonic()
  let state: DaemonState | undefined
  return {
    /** The ICL took a heartbeat. */
    heard: (isEligible: boolean): void => {
      heardAt = clock.monotonic()
      eligible.set(isEligible ? 1 : 0)
    },
    /** The daemon runs. */
    started: (of: DaemonState): void => {
      state = of
    },
    paidFor: (answers: number): void => paidFor.set(answers),
    refresh: (): void => {
      age.set(elapsedSince(clock, heardAt) / 1000)
      if (state) certificate.set(state.certificateSeconds())
      slots.set({ state: 'free' }, state?.freeSlots() ?? 0)
      slots.set({ state: 'used' }, state?.usedSlots() ?? 0)
      running.set(state?.runningJobs() ?? 0)
    },
  }
}

const Cause = AbortReason.or(VerdictReason)

function countersOf({ counter, histogram }: Make) {
  const jobs = counter('jobs_total', 'Jobs that ended, by end and cause', ['end', 'cause'])
  const tokens = counter('tokens_total', 'Tokens as providers counted them', ['model', 'kind'])
  const calls = histogram(
    'provider_call_seconds',
    'Calls to providers for jobs, by end: ok, gone when the job was over, or the cause of the failure',
    callBuckets,
    ['provider', 'end'],
  )
  const transactions = counter('transactions_total', 'Transactions of the daemon in blocks')
  const gas = counter('gas_total', 'Gas that they used')
  const wei = counter('gas_wei_total', 'What that gas cost, in wei')
  return {
    /** Counts what a line of the history tells. */
    job: ({ outcome, reason, model_id: model, usage, ended_at }: JobRecord): void => {
      // Other reasons are free text.
      const cause = Cause.safeParse(reason).data ?? ''
      if (ended_at !== undefined) jobs.inc({ end: outcome, cause })
      if (usage === undefined) return
      tokens.inc({ model, kind: 'input' }, usage.input_tokens)
      tokens.inc({ model, kind: 'output' }, usage.output_tokens)
    },
    call: (provider: string, end: 'ok' | 'gone' | AbortReason, ms: number): void =>
      calls.observe({ provider, end }, ms / 1000),
    spent: (spent: Spent): void => {
      transactions.inc()
      gas.inc(Number(spent.gas))
      if (spent.wei !== undefined) wei.inc(Number(spent.wei))
    },
  }
}

/** The gauges of the node's record at the ICL. Without a record they are absent. */
function recordGauges({ gauge }: Make) {
  const score = gauge('reputation_score', "The node's score at the ICL, at most 1000")
  const results = gauge('results', 'Results of all time, as the ICL counts them', ['end'])
  const slashed = gauge('slashed_gwei', 'Stake lost so far')
  const clear = () => {
    for (const each of [score, slashed]) each.remove()
    results.reset()
  }
  clear()
  return (record: z.output<typeof NodeRecord> | undefined): void => {
    clear()
    if (record === undefined) return
    const { metrics } = record
    score.set(metrics.reputation_score)
    slashed.set(metrics.total_slash_amount)
    results.set({ end: 'accepted' }, metrics.tasks_accepted)
    results.set({ end: 'rejected' }, metrics.tasks_rejected)
  }
}
