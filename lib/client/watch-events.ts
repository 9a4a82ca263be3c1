import type { JobId } from '../codecs.ts'
import { parseJson } from '../parse-json.ts'
import { JobEvent } from '../schemas/jobs.ts'
import type { ClientContext } from './context.ts'
import { readServerEvents } from './event-stream.ts'

const idleMs = 60_000
const firstDelayMs = 500
const maxDelayMs = 10_000

/** Receives a job's events. */
export type EventWatcher = {
  readonly onEvent: (event: JobEvent) => void
  /** Called with true when the stream opens, and with false when it breaks. */
  readonly onStream: (open: boolean) => void
}

/** Reads a job's events until the job has ended or the signal aborts. Resumes a broken stream after the last event. Never rejects. */
export async function watchEvents(
  { api, clock }: Pick<ClientContext, 'api' | 'clock'>,
  {
    jobId,
    readToken,
    after,
  }: {
    readonly jobId: JobId
    readonly readToken: string
    /** The number (`seq`) of the last known event; when left out, all events are reported. */
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
      // The caller can still poll the job. The stream is retried.
    }
    if (signal.aborted) return
    watcher.onStream(false)
    await clock.sleep(delayMs, signal).catch(() => {})
    delayMs = Math.min(delayMs * 2, maxDelayMs)
  }
}
