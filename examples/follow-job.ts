// Reads the events of a job as they happen, and goes on after the last one that was seen.

import { type JobEvent, type JobId, watchEvents } from '../lib/client/mod.ts'
import { client } from './connect.ts'

type Job = { readonly jobId: JobId; readonly readToken: string }

const jobs: Job[] = []
await client.infer('How far does the light reach?', {
  model: 'openai:gpt-4o-mini',
  // The token reads this one job, without a wallet: another process may follow it.
  onSubmitted: (submitted) => jobs.push(submitted),
})
const [job] = jobs
if (job === undefined) throw new Error('There is no job')

/** Reads a job's events until one of them is `enough`. A stream that breaks is resumed by itself. */
async function readUntil(from: Job & { after?: number }, enough: (event: JobEvent) => boolean) {
  const stop = new AbortController()
  const events: JobEvent[] = []
  const onEvent = (event: JobEvent) => {
    if (stop.signal.aborted) return
    events.push(event)
    if (enough(event)) stop.abort()
  }
  await watchEvents(client.context, from, { onEvent, onStream: () => {} }, stop.signal)
  return events
}

const first = await readUntil(job, ({ type }) => type === 'claimed')
const after = first.at(-1)?.seq ?? 0
const rest = await readUntil({ ...job, after }, ({ phase }) => phase === 'accepted')
for (const { seq, type, role = '', phase } of [...first, ...rest]) {
  console.log(`${seq} ${type} ${role} (${phase})`)
}
