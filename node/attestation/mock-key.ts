import { createApi } from '../../lib/api.ts'
import type { Clock } from '../../lib/clock.ts'
import { isForDevelopment, mockKeyHeader } from '../../lib/development.ts'
import type { Fetch } from '../../lib/outgoing.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { Random } from '../../lib/random.ts'
import { SvcError } from '../../lib/svc-error.ts'

/** The error without a key for mock attestation. */
export const mockKeyMissing = (): SvcError =>
  new SvcError('mock-key-missing', 'mock attestation needs SVC_MOCK_ATTESTATION_KEY', {
    hint: "Set it to the mock key that the ICL's operator gave out (hex of at least 16 bytes), for `svc-node run`, too: each start attests.",
  })

/** Asks an ICL for development for its mock key, in hex. Undefined where it is not one, or shows none. Throws SvcErrors. */
export async function askMockKey(
  { icl, chainId }: { readonly icl: string; readonly chainId: number },
  context: { readonly fetch: Fetch; readonly clock: Clock; readonly random: Random },
  signal?: AbortSignal,
): Promise<string | undefined> {
  if (!isForDevelopment(icl, chainId)) return undefined
  const fetch: Fetch = (request) => {
    request.headers.set(mockKeyHeader, '1')
    return context.fetch(request)
  }
  const api = createApi({ ...context, fetch, baseUrl: icl })
  try {
    return (await api.getMockKey({}, { signal, attempts: 3 })).key
  } catch (error) {
    if (error instanceof ProblemError && error.code === 'not-found') return undefined
    throw error
  }
}
