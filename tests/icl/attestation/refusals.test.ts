import { afterAll, beforeEach, expect, it } from 'vitest'
import { PcrPolicy } from '../../../icl/attestation/pcr-policy.ts'
import type { Dependencies } from '../../../icl/dependencies.ts'
import { codeOf } from '../../code-of.ts'
import { attestationOf, createTestIcl, sessionKeyOf, type TestIcl } from '../test-icl.ts'
import { bootPcrs, bootValues, createSoftwareTpm, type SoftwareTpm } from './software-tpm.ts'
import { type TpmNode, tpmNode, trustIn } from './tpm-node.ts'
import { createVendor } from './tpm-vendor.ts'

let icl: TestIcl
let node: TpmNode
let neighbour: TpmNode
const rows: (readonly [attack: string, code: string])[] = []
const nothing = new Uint8Array()

icl = await createTestIcl()
const now = icl.clock.now()
const vendor = await createVendor(now)
const elsewhere = await createVendor(now)
const tpms: Readonly<
  Record<'own' | 'others' | 'unrestricted' | 'stranger' | 'decrypting', SoftwareTpm>
> = {
  own: await createSoftwareTpm(vendor, now),
  others: await createSoftwareTpm(vendor, now),
  // The attributes of a key that signs whatever it is given.
  unrestricted: await createSoftwareTpm(vendor, now, 0x00040072),
  decrypting: await createSoftwareTpm(vendor, now, 0x00070072),
  stranger: await createSoftwareTpm(elsewhere, now),
}
await icl.stop()
beforeEach(async () => {
  icl = await createTestIcl({ tpm: trustIn(vendor) })
  node = tpmNode(icl, 'n1', tpms.own)
  neighbour = tpmNode(icl, 'n2', tpms.others)
  await node.join()
  await neighbour.join()
})
afterAll(() => {
  const width = Math.max(...rows.map(([attack]) => attack.length))
  const table = rows.map(([attack, code]) => `  ${attack.padEnd(width)}  ${code}`)
  // biome-ignore lint/suspicious/noConsole: the table of what was refused is what this file shows
  console.log(['', 'Attacks on attestation and what they got:', ...table, ''].join('\n'))
})

/** Puts another ICL in the place of the one that runs. */
async function restart(changes: Partial<Dependencies>): Promise<void> {
  await icl.stop()
  icl = await createTestIcl(changes)
}

type Attack = readonly [attack: string, code: string, run: () => Promise<unknown>]
const attack = (...row: Attack): Attack => row

/** Everything that is tried: each row is one change to what would be accepted. */
const attacks: readonly Attack[] = [
  attack('a nonce used before', 'challenge-used', async () => {
    const { nonce } = await node.challenge()
    await node.api.verifyAttestation({ body: await node.request(nonce) })
    return node.api.verifyAttestation({ body: await node.request(nonce) })
  }),
  attack('a nonce used before, by a try that failed', 'challenge-used', async () => {
    const { nonce } = await node.challenge()
    const wrong = await node.request(nonce, nothing, { magic: 1 })
    await codeOf(node.api.verifyAttestation({ body: wrong }))
    return node.api.verifyAttestation({ body: await node.request(nonce) })
  }),
  attack('a nonce of 301 s ago', 'challenge-expired', async () => {
    const body = await node.request((await node.challenge()).nonce)
    await icl.clock.jump(301_000)
    return node.api.verifyAttestation({ body })
  }),
  attack("another node's nonce", 'challenge-invalid', async () => {
    const { nonce } = await neighbour.challenge()
    return node.api.verifyAttestation({ body: await node.request(nonce) })
  }),
  attack("another node's enrolment nonce", 'challenge-invalid', async () => {
    const { nonce } = await neighbour.enroll()
    return node.api.verifyAttestation({ body: await node.request(nonce) })
  }),
  attack('a backend that is off (mock)', 'attestation-backend-refused', async () => {
    await restart({ tpm: trustIn(vendor), mockAttestationKey: undefined })
    const there = tpmNode(icl, 'n1', tpms.own)
    const { nonce } = await there.challenge()
    const notAfter = Math.floor(icl.clock.now() / 1000) + 3_600
    const key = await sessionKeyOf('n1')
    return there.api.verifyAttestation({ body: await attestationOf('n1', nonce, key, notAfter) })
  }),
  attack('a session key put in the place of the quoted one', 'quote-binding-wrong', async () => {
    const body = await node.request((await node.challenge()).nonce)
    const { publicKey } = await sessionKeyOf('thief')
    return node.api.verifyAttestation({ body: { ...body, session_public_key: publicKey } })
  }),
  attack('an attestation key that is not restricted', 'ak-refused', () =>
    tpmNode(icl, 'n3', tpms.unrestricted).enroll(),
  ),
  attack('an attestation key that also decrypts', 'ak-refused', () =>
    tpmNode(icl, 'n3', tpms.decrypting).enroll(),
  ),
  attack(
    'the attestation key of another TPM: its secret cannot be recovered',
    'quote-binding-wrong',
    async () => {
      // The TPM with this endorsement key does not have the key that was named, and the other TPM not the endorsement key.
      const mixed = { ...tpms.own, akPublic: tpms.stranger.akPublic }
      const answer = await tpmNode(icl, 'n1', mixed).enroll()
      await expect(tpms.own.activate(answer)).rejects.toThrow('TPM_RC_INTEGRITY')
      await expect(tpms.stranger.activate(answer)).rejects.toThrow()
      const body = await node.request(answer.nonce, nothing, {}, tpms.stranger)
      return node.api.verifyAttestation({ body })
    },
  ),
  attack('an endorsement key that leads to no trusted root', 'ek-chain-untrusted', () =>
    tpmNode(icl, 'n3', tpms.stranger).enroll(),
  ),
  attack('an endorsement key without the issuer between', 'ek-chain-untrusted', () =>
    neighbour.enroll({ ek_chain: [] }),
  ),
  attack('bytes that are no certificate', 'ek-certificate-malformed', () =>
    neighbour.enroll({ ek_certificate: 'MIIBAAAA' }),
  ),
  attack('a second address on one TPM', 'ek-taken', () => tpmNode(icl, 'n3', tpms.own).enroll()),
  attack('register values that were not quoted', 'quote-digest-wrong', async () => {
    const body = await node.request((await node.challenge()).nonce)
    const pcrs = { ...body.evidence.pcrs, '4': '00'.repeat(32) }
    return node.api.verifyAttestation({ body: { ...body, evidence: { ...body.evidence, pcrs } } })
  }),
  attack('a register value left out', 'quote-digest-wrong', async () => {
    const body = await node.request((await node.challenge()).nonce)
    const { '7': _, ...pcrs } = body.evidence.pcrs
    return node.api.verifyAttestation({ body: { ...body, evidence: { ...body.evidence, pcrs } } })
  }),
  attack('fewer registers than asked', 'quote-selection-wrong', () =>
    node.renew({ pcrs: [0, 1, 2] }),
  ),
  attack('more registers than asked', 'quote-selection-wrong', () =>
    node.renew({ pcrs: [...bootPcrs, 16] }),
  ),
  attack('registers of another bank', 'quote-selection-wrong', () => node.renew({ bank: 0x0c })),
  attack('a counter of machine starts that went back', 'quote-counter-back', () =>
    node.renew({ reset: 4 }),
  ),
  attack('a clock that went back in one start', 'quote-counter-back', () =>
    node.renew({ clock: 1n }),
  ),
  attack('a structure with another magic', 'quote-magic-wrong', () =>
    node.renew({ magic: 0xff544348 }),
  ),
  attack('a certification in the place of a quote', 'quote-type-wrong', () =>
    node.renew({ type: 0x8017 }),
  ),
  attack('a quote by a key that comes with the request', 'quote-signature-invalid', async () => {
    const { nonce } = await node.challenge()
    const body = await node.request(nonce, nothing, {}, tpms.stranger)
    const evidence = { ...body.evidence, ak_public: tpms.stranger.akPublic }
    return node.api.verifyAttestation({ body: { ...body, evidence } })
  }),
  attack("a neighbour's TPM", 'quote-signature-invalid', async () => {
    const { nonce } = await node.challenge()
    return node.api.verifyAttestation({
      body: await node.request(nonce, nothing, {}, tpms.others),
    })
  }),
  attack('an enrolment whose secret nobody recovered', 'quote-binding-wrong', async () => {
    const { nonce } = await node.enroll()
    return node.api.verifyAttestation({ body: await node.request(nonce) })
  }),
  attack('a quote by a TPM that was never enrolled', 'tpm-not-enrolled', () =>
    tpmNode(icl, 'n3', tpms.stranger).renew(),
  ),
  attack('register values that the policy does not have', 'pcr-policy-refused', async () => {
    const policy = PcrPolicy.parse({ values: { '7': [bootValues([7])['7']] } })
    await restart({ tpm: trustIn(vendor, { policy }) })
    const there = tpmNode(icl, 'n1', tpms.own)
    await there.join()
    return there.renew({ values: { ...bootValues(bootPcrs), '7': 'ff'.repeat(32) } })
  }),
  attack('no event log where the policy asks for one', 'event-log-wrong', async () => {
    const policy = PcrPolicy.parse({ event_log: true })
    await restart({ tpm: trustIn(vendor, { policy }) })
    return tpmNode(icl, 'n1', tpms.own).join()
  }),
  attack('a model of TPM that is not accepted', 'tpm-model-refused', async () => {
    const models = [{ manufacturer: 'INTC', model: undefined }]
    await restart({ tpm: trustIn(vendor, { models }) })
    return tpmNode(icl, 'n1', tpms.own).enroll()
  }),
]

it.each(attacks)('an attack on attestation gets its code: %s: %s', async (attack, code, run) => {
  const got = await codeOf(run())
  rows.push([attack, String(got)])
  expect(got).toBe(code)
  await icl.stop()
})

it('the same steps without an attack are accepted', async () => {
  await node.renew()
  await neighbour.join()
  await node.renew({ reset: 9 })
  await icl.stop()
})
