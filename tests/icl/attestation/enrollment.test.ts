import { decodeJwt } from 'jose'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { KeyedMutex } from '../../../icl/async/mutex.ts'
import { banNode } from '../../../icl/records/bans.ts'
import { createMemoryStore } from '../../../icl/store/memory/store.ts'
import { ProblemError } from '../../../lib/problem.ts'
import { codeOf } from '../../code-of.ts'
import { createTestIcl, type TestIcl } from '../test-icl.ts'
import { createSoftwareTpm, type SoftwareTpm } from './software-tpm.ts'
import { tpmNode, trustIn } from './tpm-node.ts'
import { createVendor, type Vendor } from './tpm-vendor.ts'

let vendor: Vendor
let tpm: SoftwareTpm
let otherTpm: SoftwareTpm
let icl: TestIcl
beforeAll(async () => {
  const icl = await createTestIcl()
  const now = icl.clock.now()
  vendor = await createVendor(now)
  tpm = await createSoftwareTpm(vendor, now)
  otherTpm = await createSoftwareTpm(vendor, now)
  await icl.stop()
})
beforeEach(async () => {
  icl = await createTestIcl({ tpm: trustIn(vendor) })
})
afterEach(() => icl.stop())

describe('a node with a TPM', () => {
  it('enrols it, and gets a certificate that says which TPM proved it', async () => {
    const node = tpmNode(icl, 'n1', tpm)
    expect(await node.challenge()).toMatchObject({
      enrolled: false,
      tpm: { pcrs: [0, 1, 2, 3, 4, 5, 6, 7], event_log: false },
    })
    const { certificate } = await node.join()
    expect(decodeJwt(certificate)).toMatchObject({
      sub: node.address,
      att: { backend: 'tpm', ak: tpm.akName, reset: 5 },
    })
    expect(decodeJwt<{ att: { ek: string } }>(certificate).att.ek).toMatch(/^[0-9a-f]{64}$/)
    expect((await node.challenge()).enrolled).toBe(true)
  })

  it('renews with a quote alone, on any replica, and after a restart of the machine', async () => {
    const node = tpmNode(icl, 'n1', tpm)
    await node.join()
    await node.renew()
    tpm.state.reset += 1
    tpm.state.clock = 1n
    const { certificate } = await node.renew()
    expect(decodeJwt(certificate).att).toMatchObject({ reset: tpm.state.reset })
  })

  it('gets a certificate that ends with the certificates of its TPM', async () => {
    const endsAt = Math.floor(icl.clock.now() / 1000) + 3_600
    const short = await createVendor(icl.clock.now(), { issuer: { notAfter: endsAt * 1000 } })
    const own = await createTestIcl({ tpm: trustIn(short) })
    const node = tpmNode(own, 'n1', await createSoftwareTpm(short, own.clock.now()))
    expect((await node.join()).certificate_expires_at).toBe(endsAt)
    expect((await node.renew()).certificate_expires_at).toBe(endsAt)
    await own.stop()
  })

  it('serves the tiers that the policy allows, not more', async () => {
    const node = tpmNode(icl, 'n1', tpm)
    await node.join()
    icl.chain.nodes.set(node.address, {
      registered: true,
      active: true,
      unbonding: false,
      modelTiers: [0, 1, 2, 3],
    } as never)
    const record = await icl.api().getNode({ params: { address: node.address } })
    expect(record.model_tiers).toEqual([0, 1, 2])
  })

  it('keeps no activation secret in the store', async () => {
    const node = tpmNode(icl, 'n1', tpm)
    const answer = await node.enroll()
    const secret = await tpm.activate(answer)
    const held = JSON.stringify(await Array.fromAsync(icl.deps.store.scan()))
    expect(held).toContain(tpm.akName)
    for (const encoding of ['hex', 'base64', 'base64url'] as const) {
      expect(held).not.toContain(Buffer.from(secret).toString(encoding))
    }
  })

  it('moves to another TPM, and leaves the former to others', async () => {
    const node = tpmNode(icl, 'n1', tpm)
    await node.join()
    await tpmNode(icl, 'n1', otherTpm).join()
    await tpmNode(icl, 'n2', tpm).join()
    expect(await codeOf(tpmNode(icl, 'n2', otherTpm).enroll())).toBe('ek-taken')
  })
})

/** What is done meanwhile is done by another process, which waits for nobody's turn. */
const manyProcesses: KeyedMutex = (_, work) => work()

describe('a release', () => {
  it('by the old wallet frees the TPM and ends its certificate', async () => {
    const [old, next] = [tpmNode(icl, 'n1', tpm), tpmNode(icl, 'n2', tpm)]
    await old.join()
    const sessionApi = await old.sessionApi()
    const poll = () =>
      sessionApi.getAssignments({ params: { address: old.address }, query: { wait: 0 } })
    await poll()
    expect(await codeOf(next.enroll())).toBe('ek-taken')
    const { released } = await old.api.releaseTpm({ body: { operator_address: old.address } })
    expect(released).toHaveLength(1)
    expect(await codeOf(poll())).toBe('certificate-expired')
    expect((await old.challenge()).enrolled).toBe(false)
    await next.join()
    expect(await codeOf(old.renew())).toBe('tpm-not-enrolled')
    expect(
      (await old.api.releaseTpm({ body: { operator_address: old.address } })).released,
    ).toEqual([])
  })

  it('frees a TPM, too, whose enrolment broke off before the node was saved', async () => {
    const store = createMemoryStore()
    let away: 'node' | undefined
    // Over MongoDB the keys come first, and the node may never come.
    const saveAll: typeof store.saveAll = async (writes) => {
      if (!writes.some(({ kind }) => kind === away)) return store.saveAll(writes)
      await store.saveAll(writes.filter(({ kind }) => kind === 'key'))
      throw new ProblemError('unavailable', 'away')
    }
    const own = await createTestIcl({ tpm: trustIn(vendor), store: { ...store, saveAll } })
    const [old, next] = [tpmNode(own, 'n1', tpm), tpmNode(own, 'n2', tpm)]
    away = 'node'
    expect(await codeOf(old.join())).toBe('unavailable')
    away = undefined
    expect(await codeOf(next.enroll())).toBe('ek-taken')
    const { released } = await old.api.releaseTpm({ body: { operator_address: old.address } })
    expect(released).toHaveLength(1)
    await next.join()
    await own.stop()
  })

  it.each(['renew', 'join'] as const)(
    'leaves no certificate to the old wallet, whatever it does meanwhile: %s',
    async (what) => {
      const store = createMemoryStore()
      let meanwhile: (() => Promise<unknown>) | undefined
      const saveAll: typeof store.saveAll = async (writes) => {
        const run = writes.some(({ kind }) => kind === 'release-key') ? meanwhile : undefined
        meanwhile = run ? undefined : meanwhile
        await run?.()
        return store.saveAll(writes)
      }
      const own = await createTestIcl({
        ...{ tpm: trustIn(vendor), store: { ...store, saveAll }, turns: manyProcesses },
      })
      const [old, next] = [tpmNode(own, 'n1', tpm), tpmNode(own, 'n2', tpm)]
      await old.join()
      const sessionApi = await old.sessionApi()
      let didTry = false
      meanwhile = async () => {
        didTry = true
        await codeOf(old[what]())
      }
      await old.api.releaseTpm({ body: { operator_address: old.address } })
      expect(didTry).toBe(true)
      await next.join()
      const poll = sessionApi.getAssignments({
        params: { address: old.address },
        query: { wait: 0 },
      })
      expect(await codeOf(poll)).toBe('certificate-expired')
      expect((await old.challenge()).enrolled).toBe(false)
      await own.stop()
    },
  )

  it('that comes while a quote is looked at refuses it, and no other wallet sees two', async () => {
    const store = createMemoryStore()
    let meanwhile: (() => Promise<unknown>) | undefined
    const saveAll: typeof store.saveAll = async (writes) => {
      const run = writes.some(({ kind }) => kind === 'node') ? meanwhile : undefined
      meanwhile = run ? undefined : meanwhile
      await run?.()
      return store.saveAll(writes)
    }
    const own = await createTestIcl({
      ...{ tpm: trustIn(vendor), store: { ...store, saveAll }, turns: manyProcesses },
    })
    const [old, next] = [tpmNode(own, 'n1', tpm), tpmNode(own, 'n2', tpm)]
    await old.join()
    meanwhile = async () => {
      await old.api.releaseTpm({ body: { operator_address: old.address } })
      await next.join()
    }
    expect(await codeOf(old.renew())).toBe('tpm-not-enrolled')
    const { document } = (await store.findNode(old.address))!
    expect(document.enrollment).toBe(undefined)
    expect(document.certificate.expiresAt).toBe(document.certificate.issuedAt)
    await own.stop()
  })

  it('by a banned wallet is refused: its machine does not come back with another', async () => {
    const [banned, next] = [tpmNode(icl, 'n1', tpm), tpmNode(icl, 'n2', tpm)]
    await banned.join()
    await banNode(icl.deps, banned.address, 'it lies')
    const body = { operator_address: banned.address }
    expect(await codeOf(banned.api.releaseTpm({ body }))).toBe('node-banned')
    expect(await codeOf(next.enroll())).toBe('ek-taken')
  })

  it('by anybody else is refused', async () => {
    const [node, other] = [tpmNode(icl, 'n1', tpm), tpmNode(icl, 'n2', otherTpm)]
    await node.join()
    const body = { operator_address: node.address }
    expect(await codeOf(other.api.releaseTpm({ body }))).toBe('forbidden')
    await node.renew()
  })
})

it('of two addresses that enrol one TPM at the same moment, one gets it', async () => {
  const nodes = ['n1', 'n2', 'n3', 'n4'].map((name) => tpmNode(icl, name, tpm))
  const bodies: Awaited<ReturnType<(typeof nodes)[number]['request']>>[] = []
  for (const node of nodes) {
    const answer = await node.enroll()
    bodies.push(await node.request(answer.nonce, await tpm.activate(answer)))
  }
  const codes = await Promise.all(
    nodes.map(async ({ api }, index) => {
      const call = api.verifyAttestation({ body: bodies[index]! })
      return call.then(
        () => 'attested',
        () => codeOf(call),
      )
    }),
  )
  expect(codes.sort()).toEqual(['attested', 'ek-taken', 'ek-taken', 'ek-taken'])
})

it('an ICL that names no roots accepts no TPM and asks for no quote', async () => {
  const plain = await createTestIcl()
  const node = tpmNode(plain, 'n1', tpm)
  expect(await node.challenge()).not.toHaveProperty('tpm')
  expect(await codeOf(node.enroll())).toBe('attestation-backend-refused')
  await plain.stop()
})
