/*
 * Problem: a node signs each request for the ICL alone, and to check a signature of each is an eighth of the ICL's work.
 *
 * Idea: the ICL and a session of a node have a secret key, for a MAC (RFC 9421 `hmac-sha256`). The ICL computes it from its own secret and
 * the session, and sends it in its answer to the attestation, sealed for the node's reading key by HPKE (RFC 9180).
 *
 * Invariants: it is in memory only, and the same for a session on every replica. Statements, which others see, keep their signatures.
 *
 * Failure cases: with another secret the ICL refuses MACs by the former key, and the node attests again.
 */

import type { Address } from '../codecs.ts'
import { concatBytes, fromBase64Url, toBase64Url } from '../digest.ts'
import type { Random } from '../random.ts'
import { SvcError } from '../svc-error.ts'
import { deriveKeyPair, publicBytes, type ReadingKey, wrapFor } from './reading-key.ts'

type Bytes = Uint8Array<ArrayBuffer>

/** The session whose requests a key is for. `thumbprint` names the session key. */
export type RequestSession = {
  readonly origin: string
  readonly chainId: number
  readonly address: Address
  readonly thumbprint: string
}

const ephemeralBytes = 32

const infoFor = ({ origin, chainId, address, thumbprint }: RequestSession): string =>
  ['svc-request-key-v1', chainId, address, thumbprint, origin].join(':')

/** Seals a request key for a node's reading key: 80 bytes in base64url, of which 32 are HPKE's ephemeral key. */
export async function sealRequestKey(
  requestKey: Bytes,
  readingKey: string,
  session: RequestSession,
  random: Random,
): Promise<string> {
  const ephemeral = await deriveKeyPair(random.bytes(32))
  const wrap = await wrapFor(readingKey, requestKey, ephemeral, infoFor(session))
  return toBase64Url(concatBytes(await publicBytes(ephemeral), wrap))
}

/** Opens a sealed request key; throws SvcError `request-key-unreadable`. */
export async function openRequestKey(
  sealed: string,
  readingKey: Pick<ReadingKey, 'unwrap'>,
  session: RequestSession,
): Promise<Bytes> {
  try {
    const bytes = fromBase64Url(sealed)
    const ephemeral = bytes.slice(0, ephemeralBytes)
    return await readingKey.unwrap(bytes.slice(ephemeralBytes), ephemeral, infoFor(session))
  } catch (cause) {
    throw new SvcError(
      'request-key-unreadable',
      'The key that the ICL gave for requests does not open',
      {
        hint: 'Check that nothing between this machine and the ICL changes its answers, and attest again.',
        cause,
      },
    )
  }
}
