import type { Inference, UncommittedInference } from '../../lib/client/inference.ts'
import { type InferenceStep, inferenceSteps, type StepNews } from '../../lib/client/steps.ts'
import type { JobId } from '../../lib/codecs.ts'
import type { JobEvent } from '../../lib/schemas/jobs.ts'
import type { ReceiptCheck } from './receipt-checks.ts'

/** A step for display; times in milliseconds. */
export type StepState = {
  readonly step: InferenceStep
  readonly status: 'waiting' | 'running' | 'done' | 'failed'
  readonly startedAtMs: number | undefined
  readonly elapsedMs: number | undefined
  /** The parts of the step: the finished ones with their times, then the running one. */
  readonly details: readonly string[]
}

/** What went wrong, and what to do about it. */
export type Failure = { readonly code: string; readonly message: string; readonly hint: string }

/** An inference for display. */
export type Run = {
  readonly status: 'running' | 'done' | 'failed'
  /** What happens before the first step, such as connecting a wallet; undefined once the steps run. */
  readonly preparing: string | undefined
  readonly steps: readonly StepState[]
  readonly jobId: JobId | undefined
  /** False when only this page can open the answer, until it is closed. */
  readonly reopens: boolean
  readonly events: readonly JobEvent[]
  readonly inference: Inference | UncommittedInference | undefined
  readonly checks: readonly ReceiptCheck[]
  readonly failure: Failure | undefined
  /** The longest pause of this page while the key was encrypted, in milliseconds. */
  readonly longestPauseMs: number | undefined
}

/** An event of a run. */
export type RunNews =
  | { readonly kind: 'preparing'; readonly what: string }
  | { readonly kind: 'step'; readonly news: StepNews; readonly nowMs: number }
  | { readonly kind: 'not-reopened' }
  | { readonly kind: 'submitted'; readonly jobId: JobId }
  | { readonly kind: 'event'; readonly event: JobEvent }
  | { readonly kind: 'pause'; readonly longestMs: number }
  | ({ readonly kind: 'ended' } & Pick<Run, 'inference' | 'checks' | 'failure'>)
  | {
      readonly kind: 'failed'
      readonly failure: Failure
      readonly inference: Run['inference']
      readonly nowMs: number
    }

/** Makes a new run. */
export const newRun = (): Run => ({
  status: 'running',
  preparing: 'Connecting',
  steps: inferenceSteps.map((step) => ({
    step,
    status: 'waiting',
    startedAtMs: undefined,
    elapsedMs: undefined,
    details: [],
  })),
  jobId: undefined,
  reopens: true,
  events: [],
  inference: undefined,
  checks: [],
  failure: undefined,
  longestPauseMs: undefined,
})

// Such as `prove`, and later `prove: 7.1 s, 19194 bytes`.
const isOver = (detail: string): boolean => detail.includes(': ')

const withDetail = (details: readonly string[], detail: string | undefined): readonly string[] => [
  ...details.filter(isOver),
  ...(detail === undefined ? [] : [detail]),
]

const withStep = (
  run: Run,
  wanted: InferenceStep,
  change: (state: StepState) => Partial<StepState>,
): Run => ({
  ...run,
  steps: run.steps.map((state) => (state.step === wanted ? { ...state, ...change(state) } : state)),
})

function afterStep(run: Run, { step, phase, elapsedMs, detail }: StepNews, nowMs: number): Run {
  switch (phase) {
    case 'start':
      return {
        ...withStep(run, step, () => ({ status: 'running', startedAtMs: nowMs })),
        preparing: undefined,
      }
    case 'progress':
      // The table of nodes shows this step's progress.
      if (step === 'inference') return run
      return withStep(run, step, ({ details }) => ({ details: withDetail(details, detail) }))
    case 'end':
      return withStep(run, step, () => ({ status: 'done', elapsedMs }))
    case 'failed':
      return withStep(run, step, () => ({ status: 'failed', elapsedMs }))
  }
}

const failedStep = (state: StepState, nowMs: number): StepState =>
  state.status === 'running'
    ? { ...state, status: 'failed', elapsedMs: nowMs - (state.startedAtMs ?? nowMs) }
    : state

/** Applies an event to a run. */
export function afterNews(run: Run, news: RunNews): Run {
  switch (news.kind) {
    case 'preparing':
      return { ...run, preparing: news.what }
    case 'step':
      return afterStep(run, news.news, news.nowMs)
    case 'not-reopened':
      return { ...run, reopens: false }
    case 'submitted':
      return { ...run, jobId: news.jobId }
    case 'event':
      return { ...run, events: [...run.events, news.event] }
    case 'pause':
      return { ...run, longestPauseMs: news.longestMs }
    case 'ended': {
      const { inference, checks, failure } = news
      const status = failure === undefined ? 'done' : 'failed'
      return { ...run, status, preparing: undefined, inference, checks, failure }
    }
    case 'failed': {
      const { failure, inference, nowMs } = news
      const steps = run.steps.map((state) => failedStep(state, nowMs))
      return { ...run, status: 'failed', preparing: undefined, inference, failure, steps }
    }
  }
}
