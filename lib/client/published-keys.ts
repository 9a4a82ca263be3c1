import type { Api } from '../api.ts'
import { type Clock, elapsedSince, type MonotonicMs } from '../clock.ts'
import { patient } from './context.ts'

const keptMs = 60_000

type Published = { readonly keys: readonly string[]; readonly at: MonotonicMs }

const publishedBy = new WeakMap<object, Published>()

/**
 * Returns the public keys (base64url) that an ICL publishes. They are up to a minute old if `signer` is one of them, and new otherwise: an ICL
 * that has changed its key signs nothing that looks false here.
 */
export async function publishedKeys(
  { api, clock }: { readonly api: Pick<Api, 'getJwks'>; readonly clock: Clock },
  signer: string,
  signal?: AbortSignal,
): Promise<readonly string[]> {
  const known = publishedBy.get(api)
  if (known?.keys.includes(signer) && elapsedSince(clock, known.at) < keptMs) return known.keys
  const at = clock.monotonic()
  const { keys } = await api.getJwks({}, { ...patient, signal })
  const ours = keys.filter(({ kty, crv }) => kty === 'OKP' && crv === 'Ed25519').map(({ x }) => x)
  publishedBy.set(api, { keys: ours, at })
  return ours
}
