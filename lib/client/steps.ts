import type { Clock } from '../clock.ts'

/** The steps of an inference in the order in which they run. */
export const inferenceSteps = [
  'preview',
  'seal-prompt',
  'encrypt-key',
  'store-key',
  'upload',
  'submit',
  'inference',
  'receipt',
  'fetch-output',
  'decrypt-output',
  'commit',
] as const
export type InferenceStep = (typeof inferenceSteps)[number]

/** News of a step; `elapsedMs` counts from the step's start. */
export type StepNews = {
  readonly step: InferenceStep
  readonly phase: 'start' | 'progress' | 'end'
  readonly elapsedMs: number
  readonly detail?: string
}

/** Milliseconds per step that ran, and of the whole. */
export type Timings = Partial<Record<InferenceStep, number>> & { readonly total: number }

/** Runs steps, tells of them, and keeps their times. */
export type StepRunner = {
  readonly run: <T>(
    step: InferenceStep,
    body: (progress: (detail: string) => void) => Promise<T>,
  ) => Promise<T>
  readonly timings: () => Timings
}

/** Makes a runner; its total starts now. */
export function createStepRunner(
  clock: Clock,
  onStep: ((news: StepNews) => void) | undefined,
): StepRunner {
  const began = clock.now()
  const times: Partial<Record<InferenceStep, number>> = {}
  return {
    run: async (step, body) => {
      const start = clock.now()
      const elapsed = () => clock.now() - start
      onStep?.({ step, phase: 'start', elapsedMs: 0 })
      const result = await body((detail) => {
        onStep?.({ step, phase: 'progress', elapsedMs: elapsed(), detail })
      })
      times[step] = elapsed()
      onStep?.({ step, phase: 'end', elapsedMs: elapsed() })
      return result
    },
    timings: () => ({ ...times, total: clock.now() - began }),
  }
}
