import type { Clock } from '../../lib/clock.ts'
import { withDeadline } from '../../lib/deadline.ts'
import { SvcError } from '../../lib/svc-error.ts'

/** Ten minutes of a job, ten more for outages of the ICL, and one for the ICL to say that the job is over. */
export const longestJobMs = 1_260_000

/** Works on an assignment for `longestJobMs` at most, whatever deadlines the ICL names. Then throws SvcError `node-failed`. */
export const inJobTime = <T>(
  clock: Clock,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> => withDeadline(clock, longestJobMs, signal, endless, work)

const endless = (): SvcError =>
  new SvcError('node-failed', 'the job did not end within 21 minutes', {
    hint: 'Tell the operator of the ICL: no job may last so long.',
  })
