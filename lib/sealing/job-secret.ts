/*
 * Problem: who obtains a prompt's key from the coprocessor must not be able to open a prompt, an answer or evidence.
 *
 * Idea: a second secret of each job, S, never leaves the client except wrapped for the nodes of its list. The client derives it from one
 * signature of its wallet, so that the wallet alone opens its jobs again. Every inner key is derived from S.
 *
 * Invariants: no secret of this file is sent in the clear, stored or logged. The evidence key opens nothing: who gets it can only test a text.
 *
 * Failure cases: a page that gets the signature can derive S of every job of that wallet at that ICL.
 */

import { numberToBytes } from 'viem'
import { hexToBytes } from 'viem/utils'
import type { JobId } from '../codecs.ts'
import { concatBytes, hkdfSha256, sha256, utf8 } from '../digest.ts'

type Bytes = Uint8Array<ArrayBuffer>

const noSalt = new Uint8Array(0)

/** What a client's wallet signs, once for all its jobs at one ICL on one chain (EIP-712). */
export const clientSecretTypedData = (icl: { readonly origin: string; readonly chainId: number }) =>
  ({
    domain: { name: 'svc-client-secret', version: '1', chainId: icl.chainId },
    types: {
      ClientSecret: [
        { name: 'purpose', type: 'string' },
        { name: 'iclOrigin', type: 'string' },
      ],
    },
    primaryType: 'ClientSecret',
    message: {
      purpose:
        'Opens your prompts and answers at this service. Sign it only for a program that may read all of them.',
      iclOrigin: icl.origin,
    },
  }) as const

/** The client's secret from its wallet's signature. v is left out, since wallets spell it differently. */
export const clientSecretFrom = (signature: `0x${string}`): Promise<Bytes> =>
  hkdfSha256(hexToBytes(signature).slice(0, 64), noSalt, 'svc-client-secret-v1', 32)

/** The handles of a prompt key, which name a job's secret. */
export type SecretName = { readonly highHandle: bigint; readonly lowHandle: bigint }

/** The secret of the job that a prompt key belongs to, 32 bytes. */
export function jobSecretOf(
  clientSecret: Uint8Array,
  { highHandle, lowHandle }: SecretName,
): Promise<Bytes> {
  const salt = concatBytes(...[highHandle, lowHandle].map((n) => numberToBytes(n, { size: 32 })))
  return hkdfSha256(clientSecret, salt, 'svc-job-secret-v1', 32)
}

/** SHA-256 of "svc-secret-v1" and the secret, by which a node knows that it has unwrapped the right one. */
export const secretCheckOf = (secret: Uint8Array): Promise<Bytes> =>
  sha256(concatBytes(utf8('svc-secret-v1'), secret))

/** The seed of the pair that a job's secret is wrapped with. */
export const ephemeralSeedOf = (secret: Uint8Array): Promise<Bytes> =>
  hkdfSha256(secret, noSalt, 'svc-ephemeral-v1', 32)

/** The key of a prompt's inner seal. */
export const promptKeyOf = (secret: Uint8Array): Promise<Bytes> =>
  hkdfSha256(secret, noSalt, 'svc-prompt-v2', 32)

/** The key of the inner seal of the output that the assignment `fence` delivers. */
export const outputKeyOf = (secret: Uint8Array, jobId: JobId, fence: number): Promise<Bytes> =>
  keyOfFence(secret, jobId, fence, 'svc-output-v2')

const keyOfFence = (secret: Uint8Array, jobId: JobId, fence: number, info: string) =>
  hkdfSha256(secret, concatBytes(hexToBytes(jobId), numberToBytes(fence, { size: 8 })), info, 32)

/** The key of the answer that the assignment `fence` shows to the other nodes of the job. */
export const shownKeyOf = (secret: Uint8Array, jobId: JobId, fence: number): Promise<Bytes> =>
  keyOfFence(secret, jobId, fence, 'svc-shown-v1')

/** The key of a job's evidence. A client may hand it to others, to show that a text is the one of a receipt. */
export const evidenceKeyOf = (secret: Uint8Array, jobId: JobId): Promise<Bytes> =>
  hkdfSha256(secret, hexToBytes(jobId), 'svc-evidence-v2', 32)
