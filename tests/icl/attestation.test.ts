import { decodeJwt, decodeProtectedHeader, importJWK, type JWK, jwtVerify } from 'jose'
import { describe, expect, it } from 'vitest'
import { toBase64Url, utf8 } from '../../lib/digest.ts'
import { signedHeaders } from '../../lib/request-signature.ts'
import { signingKeyFromSeed } from '../../lib/session-key.ts'
import { codeOf } from '../code-of.ts'
import { weakKeys } from '../runtimes/inside/ed25519-vectors.ts'
import { grantFor, grantOf, privateKeyOf } from '../sample-reading.ts'
import { freshIcl, icl, startIcl } from './fresh-icl.ts'
import { attestationOf, beat, joinNode, origin, type TestIcl, walletOf } from './test-icl.ts'

freshIcl()

const name = 'n1'
const key = () => signingKeyFromSeed(new Uint8Array(32).fill(4))
const inSeconds = (seconds: number) => Math.floor(icl.clock.now() / 1000) + seconds

async function challenge(of = name) {
  const { address, signer } = walletOf(of)
  const api = icl.api(signer)
  return { api, nonce: (await api.getChallenge({ params: { address } })).nonce }
}

/** Sends what the client would not. */
async function postAttestation(request: object): Promise<Response> {
  const url = new URL('/internal/attestation/verify', origin)
  const body = utf8(JSON.stringify(request))
  const unsigned = new Headers({ 'content-type': 'application/json' })
  const headers = await signedHeaders(
    { method: 'POST', url, headers: unsigned, body },
    walletOf(name).signer,
    { created: inSeconds(0), nonce: crypto.getRandomValues(new Uint8Array(16)) },
  )
  return icl.fetch(new Request(url, { method: 'POST', headers, body }))
}

describe('mock attestation', () => {
  it('gives a certificate that is bound to the session key and checks with the published keys', async () => {
    const { api, nonce } = await challenge()
    const session = await key()
    const body = await attestationOf(name, nonce, session, inSeconds(40 * 3_600))
    const answer = await api.verifyAttestation({ body })
    const { keys } = await api.getJwks()
    const { kid } = decodeProtectedHeader(answer.certificate)
    const jwk = await importJWK(keys.find((entry) => entry.kid === kid) as JWK, 'ES256')
    const { payload } = await jwtVerify(answer.certificate, jwk, {
      currentDate: new Date(icl.clock.now()),
    })
    expect(payload).toMatchObject({
      sub: walletOf(name).address,
      cnf: { jkt: session.thumbprint },
      att: { backend: 'mock' },
    })
    expect(payload.exp! - payload.iat!).toBe(24 * 3_600)
  })

  it('is refused for each thing that is wrong, and every try burns its nonce', async () => {
    const session = await key()
    const day = inSeconds(86_400)
    const wrong = new Uint8Array(16)
    const weak = toBase64Url(new Uint8Array(32))
    const other = await signingKeyFromSeed(new Uint8Array(32).fill(5))
    const cases: [
      string,
      (
        nonce: string,
      ) => Promise<Parameters<ReturnType<TestIcl['api']>['verifyAttestation']>[0]['body']>,
    ][] = [
      ['attestation-hmac-invalid', (nonce) => attestationOf(name, nonce, session, day, wrong)],
      [
        'attestation-hmac-invalid',
        async (nonce) => ({
          ...(await attestationOf(name, nonce, session, day)),
          session_public_key: other.publicKey,
        }),
      ],
      [
        'attestation-backend-refused',
        async (nonce) => ({
          ...(await attestationOf(name, nonce, session, day)),
          evidence: { backend: 'tpm', attest: 'AAAA', signature: 'AAAA', pcrs: {} },
        }),
      ],
      [
        'session-signature-invalid',
        async (nonce) => ({
          ...(await attestationOf(name, nonce, session, day)),
          session: (await attestationOf('n2', nonce, session, day)).session,
        }),
      ],
      [
        'session-proof-invalid',
        // A public key of another node: its sender cannot sign with it.
        (nonce) => attestationOf(name, nonce, { ...session, sign: other.sign }, day),
      ],
      [
        'session-proof-invalid',
        // The digest itself, without its purpose.
        (nonce) =>
          attestationOf(
            name,
            nonce,
            { ...session, sign: (message) => session.sign(message.slice(-32)) },
            day,
          ),
      ],
      // The reading key of another node, of another chain, and one that nothing can be encrypted for.
      ...[
        grantOf(privateKeyOf('n2')),
        grantOf(privateKeyOf(name), 1),
        grantFor(privateKeyOf(name), weak),
      ].map((reading): (typeof cases)[number] => [
        'reading-key-invalid',
        async (nonce) => ({
          ...(await attestationOf(name, nonce, session, day)),
          reading: await reading,
        }),
      ]),
      ['invalid-request', (nonce) => attestationOf(name, nonce, session, inSeconds(49 * 3_600))],
      ['invalid-request', (nonce) => attestationOf(name, nonce, session, inSeconds(-1))],
    ]
    for (const [code, make] of cases) {
      const { api, nonce } = await challenge()
      expect(await codeOf(api.verifyAttestation({ body: await make(nonce) }))).toBe(code)
      const right = await attestationOf(name, nonce, session, day)
      expect(await codeOf(api.verifyAttestation({ body: right }))).toBe('challenge-used')
    }
  })

  it('is refused for a session key that is weak or has two spellings', async () => {
    const { nonce } = await challenge()
    const sound = await attestationOf(name, nonce, await key(), inSeconds(86_400))
    for (const session_public_key of Object.values(weakKeys)) {
      const answer = await postAttestation({ ...sound, session_public_key })
      expect(await answer.json()).toMatchObject({ status: 400, code: 'invalid-request' })
    }
    const { session_signature: _, ...unproved } = sound
    expect((await postAttestation(unproved)).status).toBe(400)
    expect((await postAttestation(sound)).status).toBe(200)
  })

  it('is refused with a nonce that is old, foreign, made up or used', async () => {
    const session = await key()
    const young = await challenge()
    await icl.clock.jump(299_000)
    const early = await attestationOf(name, young.nonce, session, inSeconds(86_400))
    expect(await codeOf(young.api.verifyAttestation({ body: early }))).toBeUndefined()
    const old = await challenge()
    await icl.clock.jump(300_001)
    const late = await attestationOf(name, old.nonce, session, inSeconds(86_400))
    expect(await codeOf(old.api.verifyAttestation({ body: late }))).toBe('challenge-expired')
    const { api, nonce } = await challenge()
    const foreign = (await challenge('n2')).nonce
    const flipped = `${nonce.slice(0, -2)}${nonce.endsWith('A') ? 'B' : 'A'}A`
    for (const bad of [foreign, flipped, 'AAAA']) {
      const body = await attestationOf(name, bad, session, inSeconds(86_400))
      expect(await codeOf(api.verifyAttestation({ body }))).toBe('challenge-invalid')
    }
    const body = await attestationOf(name, nonce, session, inSeconds(86_400))
    expect(await codeOf(api.verifyAttestation({ body }))).toBeUndefined()
    expect(await codeOf(api.verifyAttestation({ body }))).toBe('challenge-used')
  })

  it('is refused when another wallet sends it', async () => {
    const { nonce } = await challenge()
    const body = await attestationOf(name, nonce, await key(), inSeconds(86_400))
    expect(await codeOf(icl.api(walletOf('n2').signer).verifyAttestation({ body }))).toBe(
      'forbidden',
    )
  })

  it('is refused where the operator has not turned it on', async () => {
    await icl.stop()
    await startIcl({ mockAttestationKey: undefined })
    const { api, nonce } = await challenge()
    const body = await attestationOf(name, nonce, await key(), inSeconds(86_400))
    expect(await codeOf(api.verifyAttestation({ body }))).toBe('attestation-backend-refused')
  })
})

describe('a certificate', () => {
  it('stops counting when it expires, and counts again after attesting again', async () => {
    const node = await joinNode(icl, name)
    await icl.clock.jump(24 * 3_600_000)
    expect(await codeOf(beat(icl, node))).toBe('certificate-expired')
    const again = await joinNode(icl, name)
    expect(again.key.thumbprint).toBe(node.key.thumbprint)
    expect((await beat(icl, node)).status).toBe('ignored')
  })

  it('is what a node without one is told it lacks', async () => {
    const { address } = walletOf('n9')
    const signer = { kind: 'node', address, key: await key() } as const
    const call = icl.api(signer).getAssignments({ params: { address }, query: { wait: 0 } })
    expect(await codeOf(call)).toBe('not-attested')
  })
})

describe('heartbeats', () => {
  it('say why a node is not considered', async () => {
    const node = await joinNode(icl, name)
    await icl.clock.advance(1_000)
    expect(await beat(icl, node)).toMatchObject({ eligible: true, reasons: [] })
    icl.chain.nodes.delete(node.address)
    await icl.clock.advance(1_000)
    expect(await beat(icl, node)).toMatchObject({ eligible: false, reasons: ['not-registered'] })
  })

  it('keep a node in the pool for 150 s', async () => {
    const node = await joinNode(icl, name)
    const active = async () =>
      (await icl.api().getActiveNodes({ query: { min_tier: 0 } })).nodes.length
    const poll = () =>
      node.api.getAssignments({ params: { address: node.address }, query: { wait: 0 } })
    expect(await active()).toBe(1)
    for (let passed = 0; passed < 150; passed += 50) {
      await icl.clock.advance(50_000)
      await poll()
    }
    expect(await active()).toBe(1)
    await icl.clock.advance(1_000)
    expect(await active()).toBe(0)
  })

  it('of a node that leaves take it out of the pool', async () => {
    const node = await joinNode(icl, name)
    await icl.clock.advance(1_000)
    await node.api.postHeartbeat({
      body: {
        operator_address: node.address,
        timestamp: inSeconds(0),
        version: '1',
        free_slots: 0,
        supported_model_ids: [],
        final: true,
      },
    })
    expect((await icl.api().getActiveNodes({ query: { min_tier: 0 } })).nodes).toEqual([])
  })
})

it('a certificate names no more than it has to', async () => {
  const { api, nonce } = await challenge()
  const body = await attestationOf(name, nonce, await key(), inSeconds(86_400))
  const { certificate } = await api.verifyAttestation({ body })
  expect(new Set(Object.keys(decodeJwt(certificate)))).toEqual(
    new Set(['iss', 'sub', 'iat', 'exp', 'jti', 'cnf', 'att']),
  )
})
