import { cidOf } from '../../lib/cid.ts'
import { withDeadline } from '../../lib/deadline.ts'
import { maxBlobBytes } from '../../lib/endpoints.ts'
import { AnswerRefused, openAnswer, readAnswer } from '../../lib/outgoing.ts'
import { SvcError } from '../../lib/svc-error.ts'
import type { KuboRpcOptions } from './kubo-rpc.ts'

const defaultAttemptMs = 4_000
/** Not found, gone, and not among its own blocks, as `only-if-cached` demands. */
const absentStatuses: readonly number[] = [404, 410, 412]

/** Reads one of Kubo's own blocks from its gateway; undefined when it has none. Throws SvcError `kubo-unreachable`. */
export async function readByGateway(
  { fetch, clock, attemptMs = defaultAttemptMs }: Omit<KuboRpcOptions, 'rpcUrl'>,
  gatewayUrl: string,
  cid: string,
  signal: AbortSignal | undefined,
): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const timedOut = () => away(`gave no whole answer within ${attemptMs} ms`)
  return await withDeadline(clock, attemptMs, signal, timedOut, async (ended) => {
    try {
      const response = await openAnswer(fetch, `${gatewayUrl}/ipfs/${cid}?format=raw`, {
        headers: { accept: 'application/vnd.ipld.raw', 'cache-control': 'only-if-cached' },
        signal: ended,
      })
      if (!response.ok) {
        await response.body?.cancel()
        if (absentStatuses.includes(response.status)) return undefined
        throw away(`answered ${response.status}`)
      }
      const bytes = await readAnswer(response, maxBlobBytes)
      if ((await cidOf(bytes)) === cid) return bytes
      throw away('sent bytes that do not hash to the CID')
    } catch (error) {
      if (ended.aborted) throw ended.reason
      if (error instanceof AnswerRefused) throw away(error.message, error)
      throw error instanceof SvcError ? error : away('cannot be reached', error)
    }
  })
}

const away = (how: string, cause?: unknown): SvcError =>
  new SvcError('kubo-unreachable', `Kubo's gateway ${how}`, {
    hint: 'Check the gateway in SVC_ICL_BLOBS.',
    retryable: true,
    cause,
  })
