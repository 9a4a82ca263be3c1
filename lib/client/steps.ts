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
/** The name of a step. */
export type InferenceStep = (typeof inferenceSteps)[number]

/** What each step of an inference does, for the person who waits for it. */
export const stepLabels: Record<InferenceStep, string> = {
  preview: 'Asking the coordinator for a quorum',
  'seal-prompt': 'Encrypting the prompt with a new key',
  'encrypt-key': 'Encrypting both halves of the key for the coprocessor',
  'store-key': 'Storing the key on chain for the quorum only',
  upload: 'Uploading the encrypted prompt',
  submit: 'Submitting the job',
  inference: 'Leader and verifiers work',
  receipt: 'Checking the receipt and its signatures',
  'fetch-output': 'Downloading the encrypted output',
  'decrypt-output': 'Decrypting it and checking it against the evidence',
  commit: 'Checking that the receipt stands on chain',
}

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
