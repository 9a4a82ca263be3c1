import type { Api, Fetch } from '../api.ts'
import { cidOf } from '../cid.ts'
import type { Clock } from '../clock.ts'
import { withDeadline } from '../deadline.ts'
import { concatBytes } from '../digest.ts'
import { maxBlobBytes } from '../endpoints.ts'
import { SvcError } from '../svc-error.ts'

/** A place that serves blobs by their CID. */
export type BlobSource = {
  readonly name: string
  readonly get: (cid: string, signal?: AbortSignal) => Promise<Uint8Array<ArrayBuffer>>
}

const rounds = 3
const waitMs = 1_000
const timeoutMs = 15_000

/** The ICL's own blob store. */
export const iclBlobSource = (api: Pick<Api, 'getBlob'>): BlobSource => ({
  name: 'the ICL',
  get: (cid, signal) => api.getBlob({ params: { cid } }, { signal }),
})

/** An IPFS gateway: GET {gateway}/ipfs/{cid} (spec 4). */
export const gatewayBlobSource = (gateway: string, fetch: Fetch, clock: Clock): BlobSource => ({
  name: gateway,
  get: (cid, signal) =>
    withDeadline(
      clock,
      timeoutMs,
      signal,
      () => new TypeError('it timed out'),
      async (ended) => {
        const base = gateway.endsWith('/') ? gateway : `${gateway}/`
        const response = await fetch(new Request(new URL(`ipfs/${cid}`, base), { signal: ended }))
        if (!response.ok) throw new TypeError(`it answered ${response.status}`)
        return await readBlob(response)
      },
    ),
})

/** Downloads a blob from the first source that has the right bytes; throws SvcError `output-unavailable`. */
export async function fetchBlob(
  sources: readonly BlobSource[],
  cid: string,
  clock: Clock,
  signal?: AbortSignal,
): Promise<Uint8Array<ArrayBuffer>> {
  const failures: string[] = []
  for (let round = 1; ; round++) {
    for (const source of sources) {
      try {
        const blob = await source.get(cid, signal)
        if ((await cidOf(blob)) === cid) return blob
        failures.push(`${source.name}: other bytes than the CID names`)
      } catch (error) {
        signal?.throwIfAborted()
        failures.push(`${source.name}: ${error instanceof Error ? error.message : String(error)}`)
      }
    }
    if (round === rounds) break
    await clock.sleep(waitMs * round, signal)
  }
  throw new SvcError(
    'output-unavailable',
    `The encrypted output ${cid} cannot be downloaded (${[...new Set(failures)].join('; ')})`,
    { hint: 'Try again later or name another IPFS gateway.', retryable: true },
  )
}

async function readBlob(response: Response): Promise<Uint8Array<ArrayBuffer>> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of response.body ?? []) {
    length += chunk.length
    if (length > maxBlobBytes) throw new TypeError('it sent more than a blob holds')
    chunks.push(chunk)
  }
  return concatBytes(...chunks)
}
