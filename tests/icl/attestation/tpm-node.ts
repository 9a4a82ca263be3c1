import { PcrPolicy } from '../../../icl/attestation/pcr-policy.ts'
import type { TpmTrust } from '../../../icl/attestation/tpm-trust.ts'
import { attestationDigest, sessionProofBytes } from '../../../lib/attestation.ts'
import { sessionTypedData } from '../../../lib/session-grant.ts'
import { grantOf, privateKeyOf } from '../../sample-reading.ts'
import { sessionKeyOf, type TestIcl, walletOf } from '../test-icl.ts'
import type { QuoteChanges, SoftwareTpm } from './software-tpm.ts'
import { certificateOf, type Vendor } from './tpm-vendor.ts'

/** What an ICL has to trust so that a vendor's TPMs are accepted. */
export const trustIn = (vendor: Vendor, changes: Partial<TpmTrust> = {}): TpmTrust => ({
  roots: [certificateOf(vendor.root)],
  models: undefined,
  policy: PcrPolicy.parse({}),
  highestTier: 2,
  ...changes,
})

/** What a node with a TPM says to an ICL, step by step. */
export type TpmNode = ReturnType<typeof tpmNode>

/** As much of a TPM as a node uses; a real one quotes what is, whatever changes are asked for. */
export type NodeTpm = Pick<SoftwareTpm, 'certificate' | 'chain' | 'akPublic' | 'activate' | 'quote'>

/** A node by its wallet's name; nothing has been said yet. */
export function tpmNode(icl: Pick<TestIcl, 'api' | 'clock' | 'deps'>, name: string, tpm: NodeTpm) {
  const { account, address, signer } = walletOf(name)
  const api = icl.api(signer)
  const { public_url, chain_id: chainId } = icl.deps.network
  const origin = new URL(public_url).origin
  const challenge = () => api.getChallenge({ params: { address } })
  const enrollmentBody = (nonce: string, changes: object = {}) => ({
    operator_address: address,
    nonce,
    ek_certificate: tpm.certificate,
    ek_chain: tpm.chain,
    ak_public: tpm.akPublic,
    ...changes,
  })
  const enroll = async (changes: object = {}) => {
    const { nonce } = await challenge()
    return api.enrollTpm({ body: enrollmentBody(nonce, changes) })
  }
  const bindingOf = async (nonce: string, secret: Uint8Array) => ({
    origin,
    chainId,
    backend: 'tpm' as const,
    address,
    nonce,
    activationSecret: secret,
    sessionPublicKey: (await sessionKeyOf(name)).publicKey,
  })
  /** A quote by `by`, wrapped in a request that is sound in every other way. */
  const request = async (
    nonce: string,
    secret: Uint8Array = new Uint8Array(),
    changes: QuoteChanges = {},
    by: Pick<NodeTpm, 'quote'> = tpm,
  ) => {
    const key = await sessionKeyOf(name)
    const notAfter = Math.floor(icl.clock.now() / 1000) + 86_400
    const session = { address, key: key.publicKey, iclOrigin: origin, chainId, notAfter }
    const digest = await attestationDigest(await bindingOf(nonce, secret))
    return {
      operator_address: address,
      nonce,
      session_public_key: key.publicKey,
      session: {
        not_after: notAfter,
        signature: await account.signTypedData(sessionTypedData(session)),
      },
      reading: await grantOf(privateKeyOf(name)),
      session_signature: await key.sign(sessionProofBytes(digest)),
      evidence: await by.quote(digest, changes),
    }
  }
  return {
    name,
    address,
    api,
    tpm,
    challenge,
    enrollmentBody,
    enroll,
    bindingOf,
    request,
    /** Enrols and attests. */
    join: async (changes: QuoteChanges = {}) => {
      const answer = await enroll()
      const secret = await tpm.activate(answer)
      return api.verifyAttestation({ body: await request(answer.nonce, secret, changes) })
    },
    /** Attests with the TPM that is enrolled. */
    renew: async (changes: QuoteChanges = {}) => {
      const { nonce } = await challenge()
      return api.verifyAttestation({ body: await request(nonce, new Uint8Array(), changes) })
    },
    /** Requests signed by the session key. */
    sessionApi: async () => icl.api({ kind: 'node', address, key: await sessionKeyOf(name) }),
  }
}
