import type { JobPhase, WebhookState } from '../../lib/schemas/jobs.ts'
import type { RateName } from '../../lib/schemas/network.ts'
import type { SettledJob } from './settled-job.ts'

/** The gauges of the ICL at one moment. */
export type Gauges = {
  /** True when the store answered; otherwise the figures of the store are left out. */
  readonly known: boolean
  readonly jobsByPhase: Readonly<Partial<Record<JobPhase, number>>>
  /** Nodes in the pool, by attestation backend and by each tier that they serve; undefined when the chain does not answer. */
  readonly nodes:
    | readonly { readonly backend: string; readonly tier: number; readonly count: number }[]
    | undefined
  readonly effects: number
  /** Draws in the queue of this process. */
  readonly drawsWaiting: number
  /** How many faults `GET /readyz` names. */
  readonly degradedReasons: number
  /** True when the store has no disk, so that a crash may lose what was acknowledged. */
  readonly inMemory: boolean
  /** The rooms for blobs by uploader; undefined when the blob store does not answer. */
  readonly rooms:
    | Readonly<Record<string, { bytes: number; freeBytes: number; openBytes: number }>>
    | undefined
  /** Age of the oldest overdue effect, in seconds. */
  readonly oldestEffectSeconds: number
}

/** Why a connection is held open. */
export type HeldKind = 'poll' | 'events'

/** The metrics of the ICL, for its operator. Labels are few and never name a caller. */
export interface Metrics {
  /** Returns the seconds of a running stopwatch: the difference of two readings is a duration. */
  stopwatch(): number
  /** Counts an answered request; `operation` is one of the endpoint table, or `unknown`. */
  request(operation: string, status: number, seconds: number): void
  /** Counts a call to the store or the chain. */
  call(port: 'store' | 'chain', method: string, outcome: 'ok' | 'error', seconds: number): void
  /** Counts a job's change of phase, with the seconds that it spent in the phase `from`. */
  phase(from: JobPhase, to: JobPhase, seconds: number): void
  /** Counts a job that has settled. */
  settled(job: SettledJob): void
  /** Counts a draw that got its turn after so many seconds. */
  turn(seconds: number): void
  /** Counts a request that a rate limit refused. */
  limited(rate: RateName): void
  held(kind: HeldKind, change: 1 | -1): void
  /** Counts a mined transaction, with its number of results and the gas that it used. */
  committed(results: number, gas: number): void
  /** Counts an attempt to deliver a webhook, by the state in which it left the webhook. */
  webhook(state: WebhookState): void
  /** Returns all metrics in the text format of Prometheus. */
  text(gauges: Gauges): Promise<string>
}

/** Metrics that count nothing. */
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
