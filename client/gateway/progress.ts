import { type StepNews, stepLabels } from '../../lib/client/steps.ts'
import { type Clock, elapsedSince } from '../../lib/clock.ts'
import type { JobId } from '../../lib/codecs.ts'

/** How far the job of a request is: its step and the nodes, and nothing of what was said. */
export type Progress = {
  readonly onStep: (news: StepNews) => void
  readonly onSubmitted: (job: { readonly jobId: JobId }) => void
  /** Resolves once the job is submitted; never rejects. */
  readonly submitted: Promise<void>
  /** The job, once it is submitted. */
  readonly jobId: () => JobId | undefined
  /** One line, such as `12.3 s, The nodes answer, and one that agrees delivers: claimed leader 0x12ab34`. */
  readonly line: () => string
  /** Calls the listener, the only one, each time the line has other words. */
  readonly listen: (listener: () => void) => void
}

/** Follows a job from its request on. */
export function createProgress(clock: Clock): Progress {
  const began = clock.monotonic()
  // Node 20 has no Promise.withResolvers.
  let resolve = () => {}
  const submitted = new Promise<void>((done) => {
    resolve = done
  })
  let words = 'Waiting for a turn'
  let jobId: JobId | undefined
  let tell = () => {}
  return {
    submitted,
    jobId: () => jobId,
    onSubmitted: (job) => {
      jobId = job.jobId
      resolve()
    },
    onStep: ({ step, phase, detail }) => {
      if (phase !== 'start' && phase !== 'progress') return
      const label = stepLabels[step]
      // Comments are lines, and an ICL could send more than one.
      words = printableLine(detail === undefined ? label : `${label}: ${detail}`)
      tell()
    },
    line: () => `${(elapsedSince(clock, began) / 1_000).toFixed(1)} s, ${words}`,
    listen: (listener) => {
      tell = listener
    },
  }
}

const printableLine = (text: string): string => text.replace(/[^\x20-\x7e]+/g, ' ').slice(0, 300)
