import { beforeEach, describe, expect, it } from 'vitest'
import { noPool } from '../../../icl/admin/context.ts'
import { revokeCertificate } from '../../../icl/records/bans.ts'
import {
  createRevocations,
  type Revocable,
  revoke,
  unrevoke,
} from '../../../icl/records/revocations.ts'
import { codeOf } from '../../code-of.ts'
import { useReplicas } from '../replica-set.ts'
import {
  createShared,
  createTestIcl,
  type Shared,
  sessionKeyOf,
  type TestIcl,
} from '../test-icl.ts'
import { createSoftwareTpm } from './software-tpm.ts'
import { type TpmNode, tpmNode, trustIn } from './tpm-node.ts'
import { createVendor } from './tpm-vendor.ts'

const replicas = useReplicas()
let shared: Shared
let first: TestIcl
let second: TestIcl
let node: TpmNode

const icl = await createTestIcl()
const vendor = await createVendor(icl.clock.now())
const tpm = await createSoftwareTpm(vendor, icl.clock.now())
await icl.stop()
beforeEach(async () => {
  shared = createShared()
  first = await replicas.start(shared, 'a', { tpm: trustIn(vendor) })
  second = await replicas.start(shared, 'b', { tpm: trustIn(vendor) })
  node = tpmNode(first, 'n1', tpm)
  await node.join()
})

/** A request that only a certificate allows, at one replica. */
async function poll(icl: TestIcl): Promise<string | undefined> {
  const key = await sessionKeyOf(node.name)
  const api = icl.api({ kind: 'node', address: node.address, key })
  return codeOf(api.getAssignments({ params: { address: node.address }, query: { wait: 0 } }))
}

const held = () => ({ store: shared.store, clock: shared.clock, pool: noPool })

async function certificateOf() {
  const found = await shared.store.findNode(node.address)
  if (!found?.document.certificate.tpm) throw new Error('The node has no TPM')
  const { id, tpm } = found.document.certificate
  return { jti: id, ...tpm }
}

const kinds = ['ek', 'ak', 'jti'] as const

describe('a revocation', () => {
  it.each(kinds)('of %s stops the very next request, on every replica', async (kind) => {
    expect([await poll(first), await poll(second)]).toEqual([undefined, undefined])
    const thing: Revocable = { kind, id: (await certificateOf())[kind] }
    expect(await revoke(held(), thing)).toEqual([node.address])
    expect(await poll(first)).toBe('certificate-expired')
    await shared.clock.advance(2_000)
    expect(await poll(second)).toBe('certificate-expired')
  })

  it('of an address does, too, and the node attests again', async () => {
    await revokeCertificate(held(), node.address)
    expect([await poll(first), await poll(second)]).toEqual([
      'certificate-expired',
      'certificate-expired',
    ])
    await node.renew()
    expect([await poll(first), await poll(second)]).toEqual([undefined, undefined])
  })

  it.each(kinds)(
    'of %s holds against a certificate that was put back, within 2 s',
    async (kind) => {
      const before = (await shared.store.findNode(node.address))!
      const thing: Revocable = { kind, id: (await certificateOf())[kind] }
      await revoke(held(), thing)
      const now = (await shared.store.findNode(node.address))!
      await shared.store.save({ kind: 'node', node: before.document, base: now.version })
      await shared.clock.advance(2_000)
      expect([await poll(first), await poll(second)]).toEqual([
        'certificate-expired',
        'certificate-expired',
      ])
    },
  )

  it.each([
    ['ek', 'ek-revoked'],
    ['ak', 'ak-revoked'],
  ] as const)('of %s refuses quotes and enrolments until it is lifted', async (kind, code) => {
    const thing: Revocable = { kind, id: (await certificateOf())[kind] }
    await revoke(held(), thing)
    expect(await codeOf(node.renew())).toBe(code)
    expect(await codeOf(node.enroll())).toBe(code)
    expect(await unrevoke(held(), thing)).toBe(true)
    expect(await unrevoke(held(), thing)).toBe(false)
    await node.join()
    expect(await poll(second)).toBe(undefined)
  })

  it('in the middle of an enrolment refuses its end', async () => {
    const answer = await node.enroll()
    await revoke(held(), { kind: 'ek', id: (await certificateOf()).ek })
    const body = await node.request(answer.nonce, await tpm.activate(answer))
    expect(await codeOf(node.api.verifyAttestation({ body }))).toBe('ek-revoked')
  })

  it('by the settings counts from the start of the ICL', async () => {
    const { ek } = await certificateOf()
    const revocations = createRevocations(shared, new Set([ek]))
    const third = await replicas.start(shared, 'c', { tpm: trustIn(vendor), revocations })
    expect(await poll(third)).toBe('certificate-expired')
    expect(await codeOf(tpmNode(third, 'n1', tpm).renew())).toBe('ek-revoked')
  })
})
