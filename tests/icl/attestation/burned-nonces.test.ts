import { afterAll, expect, it } from 'vitest'
import { noPool } from '../../../icl/admin/context.ts'
import { banNode, unbanNode } from '../../../icl/records/bans.ts'
import { codeOf } from '../../code-of.ts'
import { createTestIcl } from '../test-icl.ts'
import { createSoftwareTpm } from './software-tpm.ts'
import { tpmNode, trustIn } from './tpm-node.ts'
import { createVendor } from './tpm-vendor.ts'

const early = await createTestIcl()
const vendor = await createVendor(early.clock.now())
const tpm = await createSoftwareTpm(vendor, early.clock.now())
await early.stop()
const icl = await createTestIcl({ tpm: trustIn(vendor) })
const node = tpmNode(icl, 'n1', tpm)
await node.join()
afterAll(() => icl.stop())

it('an enrolment that is refused has burned its nonce', async () => {
  const { nonce } = await node.challenge()
  const wrong = node.enrollmentBody(nonce, { ak_public: 'AAAA' })
  expect(await codeOf(node.api.enrollTpm({ body: wrong }))).toBe('attestation-malformed')
  const sound = node.api.enrollTpm({ body: node.enrollmentBody(nonce) })
  expect(await codeOf(sound)).toBe('challenge-used')
})

it('a banned node has burned its nonce, too', async () => {
  const held = { store: icl.deps.store, clock: icl.deps.clock, pool: noPool }
  const { nonce } = await node.challenge()
  const body = await node.request(nonce)
  await banNode(held, node.address, 'a test')
  expect(await codeOf(node.api.verifyAttestation({ body }))).toBe('node-banned')
  await unbanNode(held, node.address)
  expect(await codeOf(node.api.verifyAttestation({ body }))).toBe('challenge-used')
})
