import { type Clock, elapsedSince } from '../clock.ts'

/** The steps of an inference in the order in which they begin. `commit-list` runs during the next two. */
export const inferenceSteps = [
  'preview',
  'encrypt-key',
  'store-key',
  'list',
  'seal-prompt',
  'commit-list',
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

/** What each step does, in words for a user. */
export const stepLabels: Record<InferenceStep, string> = {
  preview: 'Asking the coordinator for its pool of nodes',
  'encrypt-key': 'Encrypting both halves of the key for the coprocessor',
  'store-key': 'Storing the key on chain, with a hash of the terms',
  list: 'Drawing the list of nodes, as the coordinator does',
  'seal-prompt': 'Encrypting the prompt for the nodes of the list',
  'commit-list': 'Committing to the list: its first nodes may read the key',
  upload: 'Uploading the encrypted prompt',
  submit: 'Submitting the job',
  inference: 'The nodes answer, and one that agrees delivers',
  receipt: 'Checking the receipt and its signatures',
  'fetch-output': 'Downloading the encrypted output',
  'decrypt-output': 'Decrypting it and checking it against the evidence',
  commit: 'Checking that the receipt stands on chain',
}

/** Reports that a step starts, makes progress, ends or fails. `elapsedMs` counts from the step's start. */
export type StepNews = {
  readonly step: InferenceStep
  readonly phase: 'start' | 'progress' | 'end' | 'failed'
  readonly elapsedMs: number
  readonly detail?: string
}

/** Milliseconds of each step that ran, and of the whole inference. */
export type Timings = Partial<Record<InferenceStep, number>> & { readonly total: number }

/** Runs steps, reports on them, and measures their times. */
export type StepRunner = {
  readonly run: <T>(
    step: InferenceStep,
    body: (progress: (detail: string) => void) => Promise<T>,
    /** True when the result is a success of the step; when left out, each result is. */
    isDone?: (result: T) => boolean,
  ) => Promise<T>
  readonly timings: () => Timings
}

/** Makes a runner. Its total time starts now. */
export function createStepRunner(
  clock: Clock,
  onStep: ((news: StepNews) => void) | undefined,
): StepRunner {
  const began = clock.monotonic()
  const times: Partial<Record<InferenceStep, number>> = {}
  return {
    run: async (step, body, isDone = () => true) => {
      const start = clock.monotonic()
      const tell = (phase: StepNews['phase'], detail?: string) =>
        onStep?.({ step, phase, elapsedMs: elapsedSince(clock, start), ...(detail && { detail }) })
      tell('start')
      try {
        const result = await body((detail) => tell('progress', detail))
        times[step] = elapsedSince(clock, start)
        tell(isDone(result) ? 'end' : 'failed')
        return result
      } catch (error) {
        tell('failed')
        throw error
      }
    },
    timings: () => ({ ...times, total: elapsedSince(clock, began) }),
  }
}
