import type { Clock } from '../../lib/clock.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { JobView } from '../../lib/schemas/jobs.ts'
import { listedKey, submissionOf } from '../icl/test-client.ts'
import { type Outside, walletOf } from '../icl/test-icl.ts'
import { untilHeard } from './node.ts'

const patienceMs = 1_200_000
const patient = { attempts: 30, timeoutMs: 5_000 }
const storeAgain: ReadonlySet<string> = new Set([
  'terms-refused',
  'list-refused',
  'not-enough-nodes',
  'not-enough-serving',
])

/** A client that submits one job and follows it until it has settled, and is on chain if it belongs there. */
export async function runClient(
  { icl, clock }: { readonly icl: Outside; readonly clock: Clock },
  name: string,
  /** Milliseconds between two looks at its job. */
  lookMs = 1_000,
  /** Hears of submissions that it gave up, to store another key: a replica that was frozen in one may take it in all the same. */
  onGivenUp: (handle: bigint) => void = () => {},
): Promise<JobView> {
  const { signer } = walletOf(name)
  const api = icl.api(signer)
  const submitOnce = async () => {
    const key = await listedKey(icl, { client: name, calls: patient })
    const { body, commit } = submissionOf(icl, key)
    commit()
    try {
      return await untilHeard(clock, undefined, () => api.submitJob({ body }, patient))
    } catch (error) {
      onGivenUp(key.highHandle)
      throw error
    }
  }
  const submit = async (): ReturnType<typeof submitOnce> => {
    for (;;) {
      try {
        return await submitOnce()
      } catch (error) {
        // The pool is another one by now, or there is nobody: it stores another key.
        if (!(error instanceof ProblemError && storeAgain.has(error.code))) throw error
        await clock.sleep(1_000)
      }
    }
  }
  const submitted = await submit()
  const path = { params: { jobId: submitted.jobId } }
  const reader = { readToken: submitted.read_token, timeoutMs: 5_000 }
  const end = clock.now() + patienceMs
  for (;;) {
    const view = await untilHeard(clock, undefined, () => api.getJob(path, reader))
    const isOpen = ['open', 'running'].includes(view.status)
    if (!isOpen && (view.status !== 'accepted' || view.commit_tx !== undefined)) return view
    if (clock.now() > end) throw new Error(`job ${view.jobId} is still ${view.status}`)
    await clock.sleep(lookMs)
  }
}
