import type { JobId } from '../codecs.ts'
import { parseJson } from '../parse-json.ts'
import { JobEvent } from '../schemas/jobs.ts'
import type { ClientContext } from './context.ts'
import { readServerEvents } from './event-stream.ts'

const idleMs = 60_000
const firstDelayMs = 500
const maxDelayMs = 10_000

/** Who wants to know of a job's events. */
export type EventWatcher = {
  readonly onEvent: (event: JobEvent) => void
  /** Called with false when the stream breaks, and with true when it is open. */
  readonly onStream: (open: boolean) => void
}

/** Reads a job's events until the signal aborts, resuming a broken stream after the last event; never rejects. */
export async function watchEvents(
  { api, clock }: Pick<ClientContext, 'api' | 'clock'>,
  {
    jobId,
    readToken,
    after,
  }: {
    readonly jobId: JobId
    readonly readToken: string
    /** The number (`seq`) of the last event that is known already; all are told when left out. */
    readonly after?: number
  },
  watcher: EventWatcher,
  signal: AbortSignal,
): Promise<void> {
  let lastEventId = after === undefined ? undefined : String(after)
  let delayMs = firstDelayMs
  while (!signal.aborted) {
    try {
      const response = await api.followJob(
        { params: { jobId } },
        { readToken, signal, ...(lastEventId !== undefined && { lastEventId }) },
      )
      // The job has ended, and its last event is known.
      if (response.status === 204) return
      watcher.onStream(true)
      for await (const { id, data } of readServerEvents(response, { clock, idleMs, signal })) {
        delayMs = firstDelayMs
        lastEventId = id ?? lastEventId
        const event = JobEvent.safeParse(parseJson(data))
        if (event.success) watcher.onEvent(event.data)
      }
    } catch {
      // Whatever broke the stream, the job can still be asked for; the stream is tried again.
    }
    if (signal.aborted) return
    watcher.onStream(false)
    await clock.sleep(delayMs, signal).catch(() => {})
    delayMs = Math.min(delayMs * 2, maxDelayMs)
  }
}
