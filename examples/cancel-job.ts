// Cancels a job at the ICL: aborting the signal of an inference is all that it takes.

import type { JobId } from '../lib/client/mod.ts'
import { client } from './connect.ts'

const stop = new AbortController()
let jobId: JobId | undefined
const work = client.infer('Count to a thousand.', {
  model: 'openai:gpt-4o-mini',
  signal: stop.signal,
  onSubmitted: (job) => {
    jobId = job.jobId
    stop.abort() // as a button would
  },
})
await work.catch((error: unknown) => {
  if (!stop.signal.aborted) throw error
})
if (jobId === undefined) throw new Error('The job was not submitted')
console.log((await client.job(jobId)).status)
