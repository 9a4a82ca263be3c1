import { privateKeyToAccount } from 'viem/accounts'
import { describe, expect, it } from 'vitest'
import type { Api } from '../../../lib/api.ts'
import { attestationDigest, sessionProofBytes } from '../../../lib/attestation.ts'
import { hmacSha256, toBase64Url } from '../../../lib/digest.ts'
import type { AttestationRequest } from '../../../lib/schemas/attestation.ts'
import { verifySession } from '../../../lib/session-grant.ts'
import { signingKeyFromSeed, verifySignature } from '../../../lib/session-key.ts'
import { attest } from '../../../node/attestation/attest.ts'
import { createAttestor } from '../../../node/attestation/attestor.ts'
import { newSessionKey } from '../../../node/attestation/session.ts'
import { aHash, anAddress } from '../../branded.ts'
import { sampleReading } from '../../sample-reading.ts'
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
  const first = await newSessionKey(random)
  expect((await newSessionKey(random)).publicKey).not.toBe(first.publicKey)
  expect(asked).toEqual([32, 32])
  const { publicKey } = await signingKeyFromSeed(countingRandom().bytes(32))
  expect(first.publicKey).toBe(publicKey)
})

describe('attesting', () => {
  it('binds nonce, ICL, chain and session key, and has the wallet sign the session', async () => {
    const clock = createVirtualClock()
    const now = Math.floor(clock.now() / 1000)
    const requests: AttestationRequest[] = []
    const api: Pick<Api, 'getChallenge' | 'enrollTpm' | 'verifyAttestation'> = {
      enrollTpm: () => Promise.reject(new Error('mock enrols nothing')),
      getChallenge: async () => ({ nonce: 'bm9uY2U', expires_at: now + 300, enrolled: false }),
      verifyAttestation: async ({ body }) => {
        requests.push(body)
        return { certificate: 'a.b.c', certificate_expires_at: now + 86_400 }
      },
    }
    const sessionKey = await newSessionKey(countingRandom())
    const attestor = createAttestor('mock', { mockKeyHex })
    const chainId = 31_337
    const readingKey = { publicKey: sampleReading.key }
    const options = { api, account, address, icl, chainId, sessionKey, readingKey, attestor, clock }
    expect(await attest(options)).toEqual({ certificate: 'a.b.c', expiresAt: now + 86_400 })

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

  it('needs the mock key', () => {
    expect(() => createAttestor('mock', {})).toThrow('SVC_MOCK_ATTESTATION_KEY')
  })
})
