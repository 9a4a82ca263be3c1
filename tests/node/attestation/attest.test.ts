import { privateKeyToAccount } from 'viem/accounts'
import { describe, expect, it } from 'vitest'
import type { Api } from '../../../lib/api.ts'
import { attestationDigest, sessionProofBytes } from '../../../lib/attestation.ts'
import { hmacSha256, toBase64Url } from '../../../lib/digest.ts'
import type { AttestationRequest } from '../../../lib/schemas/attestation.ts'
import { type RequestSession, sealRequestKey } from '../../../lib/sealing/request-key.ts'
import { verifySession } from '../../../lib/session-grant.ts'
import { signingKeyFromSeed, verifySignature } from '../../../lib/session-key.ts'
import { systemRandom } from '../../../lib/system.ts'
import { attest } from '../../../node/attestation/attest.ts'
import { createAttestor } from '../../../node/attestation/attestor.ts'
import { newSigner } from '../../../node/attestation/session.ts'
import { aHash, anAddress } from '../../branded.ts'
import { codeOf } from '../../code-of.ts'
import { readerOf } from '../../sample-reading.ts'
import { createVirtualClock } from '../../virtual-clock.ts'
import { countingRandom, icl } from '../fakes.ts'

const walletKey = aHash(`0x${'31'.repeat(32)}`)
const account = privateKeyToAccount(walletKey)
const address = anAddress(account.address)
const mockKeyHex = 'ab'.repeat(16)

it('the session key is made of 32 random bytes and nothing else', async () => {
  const asked: number[] = []
  const { bytes } = countingRandom()
  const random = {
    bytes: (length: number) => {
      asked.push(length)
      return bytes(length)
    },
  }
  const { key: first } = await newSigner(address, random)
  expect((await newSigner(address, random)).key.publicKey).not.toBe(first.publicKey)
  expect(asked).toEqual([32, 32])
  const { publicKey } = await signingKeyFromSeed(countingRandom().bytes(32))
  expect(first.publicKey).toBe(publicKey)
})

const requestKey = new Uint8Array(32).fill(8)

/** A node that attests with an ICL whose answer has the request key sealed for a session like its own. */
async function attesting(changes: Partial<RequestSession> = {}) {
  const clock = createVirtualClock()
  const now = Math.floor(clock.now() / 1000)
  const requests: AttestationRequest[] = []
  const signer = await newSigner(address, countingRandom())
  const readingKey = await readerOf(walletKey)
  const chainId = 31_337
  const session = { origin: icl, chainId, address, thumbprint: signer.key.thumbprint, ...changes }
  const sealed = await sealRequestKey(requestKey, readingKey.publicKey, session, systemRandom)
  const api: Pick<Api, 'getChallenge' | 'enrollTpm' | 'verifyAttestation'> = {
    enrollTpm: () => Promise.reject(new Error('mock enrols nothing')),
    getChallenge: async () => ({ nonce: 'bm9uY2U', expires_at: now + 300, enrolled: false }),
    verifyAttestation: async ({ body }) => {
      requests.push(body)
      return { certificate: 'a.b.c', certificate_expires_at: now + 86_400, request_key: sealed }
    },
  }
  const attestor = createAttestor('mock', { mockKeyHex })
  const options = { api, account, signer, icl, chainId, readingKey, attestor, clock }
  return { now, requests, signer, chainId, attested: attest(options) }
}

describe('attesting', () => {
  it('binds nonce, ICL, chain and session key, and has the wallet sign the session', async () => {
    const { now, requests, signer, chainId, attested } = await attesting()
    const { key: sessionKey } = signer
    expect(await attested).toEqual({ certificate: 'a.b.c', expiresAt: now + 86_400 })
    expect(signer.requestKey).toEqual(requestKey)

    const [request] = requests
    const binding = {
      origin: icl,
      chainId,
      backend: 'mock' as const,
      address,
      nonce: 'bm9uY2U',
      activationSecret: new Uint8Array(),
      sessionPublicKey: sessionKey.publicKey,
    }
    const digest = await attestationDigest(binding)
    const hmac = await hmacSha256(new Uint8Array(16).fill(0xab), digest)
    expect(request?.evidence).toEqual({ backend: 'mock', hmac: toBase64Url(hmac) })
    const proof = request!.session_signature
    expect(await verifySignature(sessionKey.publicKey, proof, sessionProofBytes(digest))).toBe(true)
    const { not_after: notAfter, signature } = request!.session
    expect(notAfter).toBeGreaterThan(now + 86_400)
    expect(notAfter).toBeLessThanOrEqual(now + 48 * 3_600)
    const session = { address, key: sessionKey.publicKey, iclOrigin: icl, chainId, notAfter }
    expect(await verifySession(session, signature)).toBe(true)
  })

  it('fails when the request key is sealed for another session', async () => {
    for (const change of [{ thumbprint: 'T'.repeat(43) }, { origin: 'https://other.test' }]) {
      const { signer, attested } = await attesting(change)
      expect(await codeOf(attested)).toBe('request-key-unreadable')
      expect(signer.requestKey).toBeUndefined()
    }
  })

  it('needs the mock key', () => {
    expect(() => createAttestor('mock', {})).toThrow('SVC_MOCK_ATTESTATION_KEY')
  })
})
