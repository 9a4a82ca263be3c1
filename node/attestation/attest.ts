import type { LocalAccount } from 'viem'
import type { Api } from '../../lib/api.ts'
import { sessionProofBytes } from '../../lib/attestation.ts'
import { type Clock, unixSeconds } from '../../lib/clock.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { ProblemCode } from '../../lib/problem-codes.ts'
import type { NodeSigner } from '../../lib/request-signature.ts'
import { type ReadingKey, readingTypedData } from '../../lib/sealing/reading-key.ts'
import { openRequestKey } from '../../lib/sealing/request-key.ts'
import { sessionTypedData } from '../../lib/session-grant.ts'
import type { AttestationStep, Attestor, Proof } from './proof.ts'

// The session outlives the certificate of 24 h, because receipts are checked against it.
const sessionSeconds = 30 * 3_600

/** The errors after which the node enrols its TPM again. */
const curedByEnrolling: readonly ProblemCode[] = [
  'tpm-not-enrolled',
  'quote-signature-invalid',
  'quote-counter-back',
]

/** The node, its ICL, and the session key to attest. */
export type AttestOptions = {
  /** The client of the ICL, which signs with the wallet. */
  readonly api: Pick<Api, 'getChallenge' | 'enrollTpm' | 'verifyAttestation'>
  readonly account: Pick<LocalAccount, 'signTypedData'>
  /** Its session key is attested, and its request key set. */
  readonly signer: NodeSigner
  readonly icl: string
  readonly chainId: number
  readonly readingKey: ReadingKey
  readonly attestor: Attestor
  readonly clock: Clock
  readonly signal?: AbortSignal | undefined
  /** Called for every step. */
  readonly note?: (step: AttestationStep) => void
}

/** A new certificate. `expiresAt` is Unix seconds. */
export type Attested = { readonly certificate: string; readonly expiresAt: number }

/** Attests with the ICL: challenge, session grant, evidence (spec 5). Gives the signer its request key. Throws the ProblemErrors and SvcErrors of its calls. */
export async function attest(options: AttestOptions): Promise<Attested> {
  const proof = await prove(options, false)
  try {
    return await verify(options, proof)
  } catch (error) {
    const isCured = error instanceof ProblemError && curedByEnrolling.includes(error.code)
    if (!isCured || proof.evidence.backend !== 'tpm' || proof.isEnrolment) throw error
    return await verify(options, await prove(options, true))
  }
}

async function prove(options: AttestOptions, enrolsAgain: boolean): Promise<Proof> {
  const { api, icl, chainId, signal, note = () => {} } = options
  const { address, key } = options.signer
  const challenge = await api.getChallenge({ params: { address } }, { signal, attempts: 3 })
  note({ kind: 'challenge', isEnrolled: challenge.enrolled })
  return await options.attestor.prove({
    origin: icl,
    chainId,
    address,
    sessionPublicKey: key.publicKey,
    challenge,
    enrolsAgain,
    enroll: (tpm) =>
      api.enrollTpm(
        { body: { operator_address: address, nonce: challenge.nonce, ...tpm } },
        // Not retried, because the first try uses the nonce up. Another try needs another challenge.
        { signal },
      ),
    note,
    signal: signal ?? new AbortController().signal,
  })
}

async function verify(
  options: AttestOptions,
  { nonce, digest, evidence }: Proof,
): Promise<Attested> {
  const { api, account, signer, icl, chainId, readingKey, signal } = options
  const { address, key: sessionKey } = signer
  const notAfter = unixSeconds(options.clock) + sessionSeconds
  const session = { address, key: sessionKey.publicKey, iclOrigin: icl, chainId, notAfter }
  const reading = readingTypedData({ node: address, key: readingKey.publicKey, chainId })
  const answer = await api.verifyAttestation(
    {
      body: {
        operator_address: address,
        nonce,
        session_public_key: sessionKey.publicKey,
        session: {
          not_after: notAfter,
          signature: await account.signTypedData(sessionTypedData(session)),
        },
        reading: { key: readingKey.publicKey, signature: await account.signTypedData(reading) },
        session_signature: await sessionKey.sign(sessionProofBytes(digest)),
        evidence,
      },
    },
    // Not retried, for the same reason.
    { signal },
  )
  const { thumbprint } = sessionKey
  const ofSession = { origin: icl, chainId, address, thumbprint }
  signer.requestKey = await openRequestKey(answer.request_key, readingKey, ofSession)
  return { certificate: answer.certificate, expiresAt: answer.certificate_expires_at }
}
