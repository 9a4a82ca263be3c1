import type { LocalAccount } from 'viem'
import type { Api } from '../../lib/api.ts'
import { type Clock, unixSeconds } from '../../lib/clock.ts'
import type { Address } from '../../lib/codecs.ts'
import { sessionTypedData } from '../../lib/session-grant.ts'
import type { SigningKey } from '../../lib/session-key.ts'
import type { Attestor } from './attestor.ts'

// Statements in receipts are checked against the session: it outlives the certificate of 24 h.
const sessionSeconds = 30 * 3_600

/** Who attests where, and with which session key. */
export type AttestOptions = {
  /** Signed by the wallet. */
  readonly api: Pick<Api, 'getChallenge' | 'verifyAttestation'>
  readonly account: Pick<LocalAccount, 'signTypedData'>
  readonly address: Address
  readonly icl: string
  readonly chainId: number
  readonly sessionKey: SigningKey
  readonly attestor: Attestor
  readonly clock: Clock
  readonly signal?: AbortSignal | undefined
}

/** A fresh certificate; times in Unix seconds. */
export type Attested = { readonly certificate: string; readonly expiresAt: number }

/** Attests with the ICL: challenge, session grant, evidence (spec 5); throws ProblemError and SvcError as the calls do. */
export async function attest(options: AttestOptions): Promise<Attested> {
  const { api, address, icl, chainId, sessionKey, signal } = options
  const { nonce } = await api.getChallenge({ params: { address } }, { signal, attempts: 3 })
  const notAfter = unixSeconds(options.clock) + sessionSeconds
  const session = { address, key: sessionKey.publicKey, iclOrigin: icl, chainId, notAfter }
  const evidence = await options.attestor.prove({
    origin: icl,
    chainId,
    address,
    nonce,
    sessionPublicKey: sessionKey.publicKey,
  })
  const answer = await api.verifyAttestation(
    {
      body: {
        operator_address: address,
        nonce,
        session_public_key: sessionKey.publicKey,
        session: {
          not_after: notAfter,
          signature: await options.account.signTypedData(sessionTypedData(session)),
        },
        evidence,
      },
    },
    // The nonce is burned by the first try, so another one needs another challenge.
    { signal },
  )
  return { certificate: answer.certificate, expiresAt: answer.certificate_expires_at }
}
