import { mockKeyHeader } from '../../lib/development.ts'
import { isLoopback, isLoopbackAddress } from '../../lib/ip-address.ts'
import { ProblemError } from '../../lib/problem.ts'
import { toHex } from '../../lib/tpm/hex.ts'
import type { Dependencies } from '../dependencies.ts'

/** Headers that a page or a proxy adds to a request. A node sends none of them. */
const foreign = /^(origin|referer|sec-fetch-site|forwarded|x-forwarded-.*|x-real-ip|via)$/

/**
 * Hands the mock attestation key to a program on this machine, where the settings allow it. Throws `not-found` elsewhere, and for what a
 * page can have a browser send: under a name that leads here (DNS rebinding), or without the header that needs a preflight.
 */
export function viewMockKey(
  { mockAttestationKey: key, sharesMockKey }: Dependencies,
  headers: Headers,
  peerAddress: string | undefined,
): { readonly key: string } {
  const host = `http://${headers.get('host')}`
  const isNear = isLoopbackAddress(peerAddress ?? '') && URL.canParse(host) && isLoopback(host)
  const isByNode =
    headers.has(mockKeyHeader) && ![...headers.keys()].some((name) => foreign.test(name))
  if (key && sharesMockKey && isNear && isByNode) return { key: toHex(key) }
  throw new ProblemError('not-found', 'This ICL shows no mock attestation key here')
}
