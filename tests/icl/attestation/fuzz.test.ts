import { afterAll, describe, expect, it } from 'vitest'
import { checkAttestationKey } from '../../../icl/attestation/attestation-key.ts'
import { checkEndorsementKey } from '../../../icl/attestation/endorsement-key.ts'
import { checkPcrPolicy, PcrPolicy } from '../../../icl/attestation/pcr-policy.ts'
import { verifyQuote } from '../../../icl/attestation/verify-quote.ts'
import { fromBase64Url, toBase64Url } from '../../../lib/digest.ts'
import { ProblemError } from '../../../lib/problem.ts'
import type { TpmEvidence } from '../../../lib/schemas/attestation.ts'
import { parsePublicArea } from '../../../lib/tpm/public-area.ts'
import { createTestIcl, type TestIcl } from '../test-icl.ts'
import { sampleEventLog } from './sample-event-log.ts'
import { bootPcrs, createSoftwareTpm } from './software-tpm.ts'
import { tpmNode, trustIn } from './tpm-node.ts'
import { createVendor } from './tpm-vendor.ts'

let icl: TestIcl
const extraData = new Uint8Array(32).fill(9)
// Thousands of signatures take their time on a busy machine.
const patience = { timeout: 240_000 }
let tried = 0
const codes = new Map<string, number>()

icl = await createTestIcl()
const vendor = await createVendor(icl.clock.now())
const tpm = await createSoftwareTpm(vendor, icl.clock.now())
const evidence = await tpm.quote(extraData)
await icl.stop()
icl = await createTestIcl({ tpm: trustIn(vendor) })
afterAll(async () => {
  await icl.stop()
  const counts = [...codes].map(([code, count]) => `  ${code} ${count}`)
  // biome-ignore lint/suspicious/noConsole: how much was tried is what this file shows
  console.log([`${tried} damaged pieces of evidence, refused as`, ...counts].join('\n'))
})

/** The same numbers every time: a linear congruence is random enough to choose bits with. */
function numbers(seed: number) {
  let state = seed
  return (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

/** Every truncation, and so many copies with one to four bits flipped. */
function* damaged(
  base64Url: string,
  flips: number,
  seed: number,
): Generator<Uint8Array<ArrayBuffer>> {
  const whole = fromBase64Url(base64Url)
  for (let length = 0; length < whole.length; length++) yield whole.slice(0, length)
  const next = numbers(seed)
  for (let copy = 0; copy < flips; copy++) {
    const bytes = whole.slice()
    for (let flip = next(4); flip >= 0; flip--) {
      const at = next(bytes.length)
      bytes[at] = (bytes[at] ?? 0) ^ (1 << next(8))
    }
    // Two flips may undo one another.
    if (toBase64Url(bytes) !== base64Url) yield bytes
  }
}

async function refusalOf(check: () => unknown): Promise<string> {
  tried += 1
  try {
    await check()
    return 'accepted'
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error
    expect([400, 403]).toContain(error.status)
    codes.set(error.code, (codes.get(error.code) ?? 0) + 1)
    return error.code
  }
}

const verify = (changes: Partial<TpmEvidence>) =>
  verifyQuote(
    parsePublicArea(fromBase64Url(tpm.akPublic)),
    { ...evidence, ...changes },
    extraData,
    bootPcrs,
  )

describe('damaged evidence is refused with a code, never with a failure', () => {
  it('a structure that its signature does not fit', patience, async () => {
    await verify({})
    for (const bytes of damaged(evidence.attest, 3_000, 1)) {
      const code = await refusalOf(() => verify({ attest: toBase64Url(bytes) }))
      expect(code).toBe('quote-signature-invalid')
    }
  })

  it('a signature', patience, async () => {
    for (const bytes of damaged(evidence.signature, 3_000, 2)) {
      const code = await refusalOf(() => verify({ signature: toBase64Url(bytes) }))
      expect(['quote-signature-invalid', 'attestation-malformed']).toContain(code)
    }
  })

  it(
    'a structure that the key itself signed: what is checked after the signature',
    patience,
    async () => {
      // Neither the signer's name nor counters, flags and firmware are compared with anything here.
      const free = 4 + 2 + 2 + 34
      const counters = free + 2 + 32
      for (const bytes of damaged(evidence.attest, 2_000, 3)) {
        const signature = await tpm.sign(bytes)
        const code = await refusalOf(() => verify({ attest: toBase64Url(bytes), signature }))
        if (code !== 'accepted') continue
        const whole = fromBase64Url(evidence.attest)
        const changed = [...whole.keys()].filter((at) => whole[at] !== bytes[at])
        const isFree = (at: number) =>
          (at >= 8 && at < free) || (at >= counters && at < counters + 25)
        expect(changed.filter((at) => !isFree(at))).toEqual([])
      }
    },
  )

  it('an attestation key', patience, async () => {
    for (const bytes of damaged(tpm.akPublic, 3_000, 4)) {
      await refusalOf(() => checkAttestationKey(bytes))
    }
  })

  it('a certificate of an endorsement key', patience, async () => {
    const now = icl.clock.now()
    const whole = fromBase64Url(tpm.certificate)
    const signedEnd = 8 + (((whole[6] ?? 0) << 8) | (whole[7] ?? 0))
    for (const bytes of damaged(tpm.certificate, 600, 5)) {
      const check = () => checkEndorsementKey(trustIn(vendor), toBase64Url(bytes), tpm.chain, now)
      const code = await refusalOf(check)
      // The parser reads the wrapping of the signature generously; what is signed has to be whole.
      if (code === 'accepted') expect(bytes.slice(0, signedEnd)).toEqual(whole.slice(0, signedEnd))
      else expect(code).toMatch(/^ek-/)
    }
  })

  it('an event log', patience, async () => {
    const { log, pcrs } = await sampleEventLog()
    const policy = PcrPolicy.parse({ pcrs: [...pcrs.keys()], event_log: true })
    await checkPcrPolicy(policy, pcrs, log)
    for (const bytes of damaged(log, 1_000, 6)) {
      await refusalOf(() => checkPcrPolicy(policy, pcrs, toBase64Url(bytes)))
    }
  })

  it('over HTTP', patience, async () => {
    const node = tpmNode(icl, 'n1', tpm)
    await node.join()
    const { signature: sound } = evidence
    const pieces = [...damaged(evidence.attest, 40, 7)].filter((_, index) => index % 3 === 0)
    for (const [index, bytes] of pieces.entries()) {
      const { nonce } = await node.challenge()
      const body = await node.request(nonce)
      const piece = toBase64Url(bytes)
      if (piece === '') continue
      const changed = index % 2 ? { attest: piece } : { signature: index % 4 ? piece : sound }
      const code = await refusalOf(() =>
        node.api.verifyAttestation({
          body: { ...body, evidence: { ...body.evidence, ...changed } },
        }),
      )
      expect(['quote-signature-invalid', 'attestation-malformed']).toContain(code)
    }
  })

  it('in more than 10,000 cases', () => {
    expect(tried).toBeGreaterThan(10_000)
  })
})
