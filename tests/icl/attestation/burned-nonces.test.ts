import { afterAll, beforeAll, expect, it } from 'vitest'
import { noPool } from '../../../icl/admin/context.ts'
import { banNode, unbanNode } from '../../../icl/records/bans.ts'
import { codeOf } from '../../code-of.ts'
import { createTestIcl, type TestIcl } from '../test-icl.ts'
import { createSoftwareTpm, type SoftwareTpm } from './software-tpm.ts'
import { type TpmNode, tpmNode, trustIn } from './tpm-node.ts'
import { createVendor } from './tpm-vendor.ts'

let icl: TestIcl
let node: TpmNode
let stranger: SoftwareTpm
beforeAll(async () => {
  const early = await createTestIcl()
  const vendor = await createVendor(early.clock.now())
  const tpm = await createSoftwareTpm(vendor, early.clock.now())
  const elsewhere = await createVendor(early.clock.now())
  stranger = await createSoftwareTpm(elsewhere, early.clock.now())
  await early.stop()
  icl = await createTestIcl({ tpm: trustIn(vendor) })
  node = tpmNode(icl, 'n1', tpm)
  await node.join()
})
afterAll(() => icl.stop())

type Body = Awaited<ReturnType<TpmNode['request']>>
const evidence = (changes: Partial<Body['evidence']>) => (body: Body) => ({
  ...body,
  evidence: { ...body.evidence, ...changes },
})

it.each<readonly [string, (body: Body) => object]>([
  ['attestation-malformed', evidence({ signature: 'AAAA' })],
  ['quote-signature-invalid', evidence({ attest: 'AAAA' })],
  ['quote-digest-wrong', evidence({ pcrs: {} })],
  [
    'attestation-hmac-invalid',
    (body) => ({ ...body, evidence: { backend: 'mock', hmac: 'AAAA' } }),
  ],
  [
    'session-signature-invalid',
    (body) => ({ ...body, session: { ...body.session, not_after: body.session.not_after - 1 } }),
  ],
  ['invalid-request', (body) => ({ ...body, session: { ...body.session, not_after: 1 } })],
])('a quote that is refused (%s) has burned its nonce', async (code, change) => {
  const { nonce } = await node.challenge()
  const body = await node.request(nonce)
  expect(await codeOf(node.api.verifyAttestation({ body: change(body) as Body }))).toBe(code)
  expect(await codeOf(node.api.verifyAttestation({ body }))).toBe('challenge-used')
})

it.each<readonly [string, () => object]>([
  ['ek-certificate-malformed', () => ({ ek_certificate: 'AAAA' })],
  ['ek-certificate-malformed', () => ({ ek_chain: ['AAAA'] })],
  ['ek-chain-untrusted', () => ({ ek_certificate: stranger.certificate })],
  ['attestation-malformed', () => ({ ak_public: 'AAAA' })],
])('an enrolment that is refused (%s) has burned its nonce', async (code, changes) => {
  const { nonce } = await node.challenge()
  const wrong = node.enrollmentBody(nonce, changes())
  expect(await codeOf(node.api.enrollTpm({ body: wrong }))).toBe(code)
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
