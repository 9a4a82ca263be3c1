import type { JobPhase, WebhookState } from '../../lib/schemas/jobs.ts'
import type { RateName } from '../../lib/schemas/network.ts'
import type { SettledJob } from './settled-job.ts'

/** How the ICL stands at one moment. */
export type Gauges = {
  /** Whether the store told; when not, what it should have told is left out. */
  readonly known: boolean
  readonly jobsByPhase: Readonly<Partial<Record<JobPhase, number>>>
  /** Nodes in the pool, by attestation backend and by each tier that they serve; undefined when the chain is away. */
  readonly nodes:
    | readonly { readonly backend: string; readonly tier: number; readonly count: number }[]
    | undefined
  readonly effects: number
  /** Draws that wait for their turn, in this process. */
  readonly drawsWaiting: number
  /** Age of the oldest overdue effect, in seconds. */
  readonly oldestEffectSeconds: number
}

/** Why a connection is held open. */
export type HeldKind = 'poll' | 'events'

/** Counts what the ICL does, for its operator. Labels are few and never name a caller. */
export interface Metrics {
  /** Seconds of a stopwatch that runs on: what something took is the difference of two readings. */
  stopwatch(): number
  /** An answered request; `operation` is one of the endpoint table, or `unknown`. */
  request(operation: string, status: number, seconds: number): void
  /** A call to the store or the chain. */
  call(port: 'store' | 'chain', method: string, outcome: 'ok' | 'error', seconds: number): void
  /** A job left a phase for another after so many seconds. */
  phase(from: JobPhase, to: JobPhase, seconds: number): void
  /** A job has settled. */
  settled(job: SettledJob): void
  /** A draw has had its turn after so many seconds. */
  turn(seconds: number): void
  /** A request that a rate limit refused. */
  limited(rate: RateName): void
  held(kind: HeldKind, change: 1 | -1): void
  /** A transaction with so many results got into a block for so much gas. */
  committed(results: number, gas: number): void
  /** A try to tell a client's server that a job has settled left its webhook in this state. */
  webhook(state: WebhookState): void
  /** Everything as Prometheus reads it. */
  text(gauges: Gauges): Promise<string>
}

/** Counts nothing. */
export const noMetrics: Metrics = {
  stopwatch: () => 0,
  request: () => {},
  call: () => {},
  phase: () => {},
  settled: () => {},
  turn: () => {},
  limited: () => {},
  held: () => {},
  committed: () => {},
  webhook: () => {},
  text: async () => '',
}
