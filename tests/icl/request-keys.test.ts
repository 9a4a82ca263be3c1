import nodeCrypto from 'node:crypto'
import { describe, expect, it, vi } from 'vitest'
import { banNode, revokeCertificate } from '../../icl/records/bans.ts'
import { deriveKeys, requestKeyOf } from '../../icl/records/icl-keys.ts'
import { activationMs, createKeyring, rotateKeys } from '../../icl/records/keyring.ts'
import { fromBase64Url, hmacSha256 } from '../../lib/digest.ts'
import { signatureInput } from '../../lib/http-signature.ts'
import { type NodeSigner, nodeKeyId } from '../../lib/request-signature.ts'
import { codeOf } from '../code-of.ts'
import { freshIcl, icl } from './fresh-icl.ts'
import { useReplicas } from './replica-set.ts'
import { runJob } from './run-job.ts'
import {
  attestationOf,
  createShared,
  joinNode,
  joinNodes,
  openedKey,
  origin,
  sessionKeyOf,
  type TestIcl,
  type TestNode,
  walletOf,
} from './test-icl.ts'

freshIcl()
const replicas = useReplicas()

/** A request that is signed otherwise than the node signs it. */
const poll = ({ signer }: TestNode, changes: Partial<NodeSigner> = {}, at: TestIcl = icl) => {
  const api = at.api({ ...signer, ...changes })
  return codeOf(api.getAssignments({ params: { address: signer.address }, query: { wait: 0 } }))
}

describe('a MAC', () => {
  it('counts by the request key of the session, for its node alone', async () => {
    const [node, other] = (await joinNodes(icl, 2)) as [TestNode, TestNode]
    const { address, key, requestKey } = other.signer
    expect(await poll(node)).toBeUndefined()
    const ofBoth = await requestKeyOf(icl.deps.keys, node.address, key.thumbprint)
    const wrong = [
      { address, key, requestKey: ofBoth },
      { requestKey: new Uint8Array(32) },
      { requestKey: fromBase64Url(node.key.publicKey) },
      // The key of another node, by the name of either session, and the name of another with one's own key.
      { requestKey },
      { key, requestKey },
      { key },
      { address },
      { address, key },
    ]
    for (const change of wrong) expect(await poll(node, change)).toBe('signature-invalid')
  })

  it('counts under its own algorithm alone, and a signature under none or ed25519', async () => {
    const { signer } = await joinNode(icl, 'n1')
    const url = new URL(`/internal/assignments/${signer.address}?wait=0`, origin)
    const tried = async (
      alg: string | undefined,
      signs: (base: Uint8Array<ArrayBuffer>) => Promise<Uint8Array>,
    ) => {
      const created = Math.floor(icl.clock.now() / 1000)
      const signable = { method: 'GET', url, headers: new Headers(), hasBody: false }
      const of = { created, keyid: nodeKeyId(signer), ...(alg && { alg }) }
      const { input, base } = signatureInput(signable, of)
      const signature = `node=:${Buffer.from(await signs(base)).toString('base64')}:`
      const headers = { 'signature-input': `node=${input}`, signature }
      return (await icl.fetch(new Request(url, { headers }))).status
    }
    const mac = (base: Uint8Array<ArrayBuffer>) =>
      hmacSha256(signer.requestKey ?? new Uint8Array(32), base)
    const sign = async (base: Uint8Array<ArrayBuffer>) => fromBase64Url(await signer.key.sign(base))
    expect(await tried('hmac-sha256', mac)).toBe(200)
    expect(await tried('ed25519', sign)).toBe(200)
    expect(await tried(undefined, sign)).toBe(200)
    for (const alg of [undefined, 'ed25519', 'HMAC-SHA256']) expect(await tried(alg, mac)).toBe(401)
    for (const alg of ['hmac-sha256', 'rsa-v1_5-sha256']) expect(await tried(alg, sign)).toBe(401)
  })

  it('of a session is not one of the next session', async () => {
    const former = await joinNode(icl, 'n1')
    const current = await joinNode(icl, 'n1', 'another run')
    const { requestKey } = former.signer
    expect(await poll(current, { requestKey })).toBe('signature-invalid')
    expect(await poll(former)).toBe('run-superseded')
    expect(await poll(current)).toBeUndefined()
    const again = await joinNode(icl, 'n1', 'another run')
    expect(again.signer.requestKey).toEqual(current.signer.requestKey)
  })

  it('stops counting with the certificate, as a signature does', async () => {
    const [first, second] = (await joinNodes(icl, 2)) as [TestNode, TestNode]
    await revokeCertificate(icl.deps, first.address)
    await banNode(icl.deps, second.address, 'it lies')
    for (const node of [first, second]) {
      expect(await poll(node)).toBe('certificate-expired')
      expect(await poll(node, { requestKey: undefined })).toBe('certificate-expired')
    }
    await joinNode(icl, 'n1')
    expect(await poll(first)).toBeUndefined()
  })

  it('counts at every replica, after a restart, and after a rotation of the ICL’s signing keys', async () => {
    const shared = createShared()
    const secret = new Uint8Array(32).fill(5)
    const start = async (name: string) => {
      const keys = await createKeyring(shared, secret)
      return replicas.start(shared, name, { keys })
    }
    const [a, b] = [await start('a'), await start('b')]
    const node = await joinNode(a, 'n1')
    expect(await poll(node, {}, b)).toBeUndefined()
    for (const replica of [a, b]) replicas.kill(replica)
    await rotateKeys(shared.store, shared.clock)
    await shared.clock.advance(activationMs)
    const c = await start('c')
    await c.deps.keys.refresh()
    expect(await poll(node, {}, c)).toBeUndefined()
  })

  it('does not count once the ICL has another secret, until the node attests again', async () => {
    const shared = createShared()
    const a = await replicas.start(shared, 'a')
    const node = await joinNode(a, 'n1')
    const keys = await deriveKeys(new Uint8Array(32).fill(6))
    const b = await replicas.start(shared, 'b', { keys })
    expect(await poll(node, {}, b)).toBe('signature-invalid')
    expect(await poll(node, { requestKey: undefined }, b)).toBeUndefined()
    expect(await poll(await joinNode(b, 'n1'), {}, b)).toBeUndefined()
  })
})

it('the answer to an attestation discloses the request key to its node alone', async () => {
  const { address, signer } = walletOf('n1')
  const api = icl.api(signer)
  const key = await sessionKeyOf('n1')
  const session: NodeSigner = { kind: 'node', address, key }
  const attest = async () => {
    const { nonce } = await api.getChallenge({ params: { address } })
    const notAfter = Math.floor(icl.clock.now() / 1000) + 86_400
    return api.verifyAttestation({ body: await attestationOf('n1', nonce, key, notAfter) })
  }
  const [first, second] = [await attest(), await attest()]
  expect(first.request_key).not.toBe(second.request_key)
  const requestKey = await requestKeyOf(icl.deps.keys, address, key.thumbprint)
  for (const { request_key: sealed } of [first, second]) {
    expect(await openedKey('n1', sealed, session)).toEqual(requestKey)
    expect(await codeOf(openedKey('n2', sealed, session))).toBe('request-key-unreadable')
  }
})

it('of a job, the ICL checks the signatures of the receipt’s statements, and no others', async () => {
  const nodes = await joinNodes(icl, 3)
  const checked = vi.spyOn(nodeCrypto, 'verify')
  try {
    const { view } = await runJob(icl, nodes, ['yes', 'yes', 'yes'])
    expect((await view()).status).toBe('accepted')
    // Three answers, a delivery and two verdicts.
    expect(checked).toHaveBeenCalledTimes(6)
  } finally {
    checked.mockRestore()
  }
})
