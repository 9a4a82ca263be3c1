import type { Clock } from '../../lib/clock.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { JobView } from '../../lib/schemas/jobs.ts'
import { coordinator } from '../icl/fake-chain.ts'
import { modelId, type Outside, walletOf } from '../icl/test-icl.ts'
import { untilHeard } from './node.ts'

const patienceMs = 1_200_000
const patient = { attempts: 30, timeoutMs: 5_000 }
const drawAgain: ReadonlySet<string> = new Set([
  'preview-stale',
  'preview-invalid',
  'not-enough-nodes',
])
let nextHandle = 10_000_000n
// As many nodes besides the quorum as a client lets the ICL grant its key to.
const grants = 6

/** A client that submits one job with a delegation and follows it until it has settled, and is on chain if it belongs there. */
export async function runClient(
  { icl, clock }: { readonly icl: Outside; readonly clock: Clock },
  name: string,
  /** Milliseconds between two looks at its job. */
  lookMs = 1_000,
  /** Hears of submissions that it gave up, to draw again: a replica that was frozen in one may take it in all the same. */
  onGivenUp: (handle: bigint) => void = () => {},
): Promise<JobView> {
  const { address, signer } = walletOf(name)
  const api = icl.api(signer)
  const submitOnce = async () => {
    const preview = await api.previewQuorum(
      { query: { client: address, model_id: modelId, min_tier: 0, verifier_count: 2 } },
      patient,
    )
    const [high, low] = [nextHandle++, nextHandle++]
    const readers = [preview.leader, ...preview.verifiers]
    icl.chain.store(high, low, address, readers, coordinator)
    const record = icl.chain.records.get(`${high}:${low}`)
    if (record) icl.chain.records.set(`${high}:${low}`, { ...record, grantsLeft: grants })
    const body = {
      model_id: modelId,
      prompt_cid: `bafkrei${'a'.repeat(52)}`,
      kpHighHandle: high,
      kpLowHandle: low,
      preview: preview.preview,
      client_nonce: high,
    }
    try {
      return await untilHeard(clock, undefined, () => api.submitJob({ body }, patient))
    } catch (error) {
      onGivenUp(high)
      throw error
    }
  }
  const submit = async (): ReturnType<typeof submitOnce> => {
    for (;;) {
      try {
        return await submitOnce()
      } catch (error) {
        // Another job was faster, or there is nobody free: it draws again.
        if (!(error instanceof ProblemError && drawAgain.has(error.code))) throw error
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
    const isOpen = ['open', 'running', 'verifying'].includes(view.status)
    if (!isOpen && (view.status !== 'accepted' || view.commit_tx !== undefined)) return view
    if (clock.now() > end) throw new Error(`job ${view.jobId} is still ${view.status}`)
    await clock.sleep(lookMs)
  }
}
