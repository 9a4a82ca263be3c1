import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { checkAttestationKey } from '../../../icl/attestation/attestation-key.ts'
import { checkEndorsementKey } from '../../../icl/attestation/endorsement-key.ts'
import { makeCredential } from '../../../icl/attestation/make-credential.ts'
import { PcrPolicy } from '../../../icl/attestation/pcr-policy.ts'
import { verifyQuote } from '../../../icl/attestation/verify-quote.ts'
import { fromBase64Url, toBase64Url } from '../../../lib/digest.ts'
import { systemRandom } from '../../../lib/system.ts'
import { toHex } from '../../../lib/tpm/hex.ts'
import { jwkOf, nameOf, type PublicArea } from '../../../lib/tpm/public-area.ts'
import { flushing } from '../../../node/attestation/tpm/contexts.ts'
import { withEndorsementKey } from '../../../node/attestation/tpm/endorsement.ts'
import { createPrimaryKey } from '../../../node/attestation/tpm/primary-keys.ts'
import { type QuoteOfPcrs, quotePcrs } from '../../../node/attestation/tpm/quote.ts'
import {
  attestationKeyTemplate,
  rsaAttestationKeyTemplate,
} from '../../../node/attestation/tpm/templates.ts'
import { withTpm } from '../../../node/attestation/tpm/tpm.ts'
import { codeOf } from '../../code-of.ts'
import { sampleBoot, sampleEventLog } from '../../icl/attestation/sample-event-log.ts'
import { walletOf } from '../../icl/test-icl.ts'
import { createSwtpmMaker, type Swtpm, type SwtpmMaker, whyNoTpm2Tools } from '../../tools/swtpm.ts'
import { attestBy, startTpmIcl, tpm2, tpmOf, trustIn } from './tpm-icl.ts'

const missing = whyNoTpm2Tools()
const forever = new AbortController().signal
const { address } = walletOf('tools')
const pcrs = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 14]
const extraData = new Uint8Array(32).fill(9)
const templates = {
  ecc: attestationKeyTemplate(address),
  rsa: rsaAttestationKeyTemplate(address),
}
const kinds = ['ecc', 'rsa'] as const

describe('beside the tpm2-tools of Debian', () => {
  if (missing !== undefined) {
    it.skip(missing, () => {})
    return
  }
  let maker: SwtpmMaker
  let tpm: Swtpm
  let folder: string
  const run = (command: string, ...args: readonly string[]) => tpm2(tpm, folder, command, ...args)
  const file = (name: string) => join(folder, name)
  const bytesOf = async (name: string) => new Uint8Array(await readFile(file(name)))
  beforeAll(async () => {
    maker = await createSwtpmMaker()
    folder = maker.folder
    tpm = await maker.start()
    await run('pcrextend', `14:sha256=${'ab'.repeat(32)}`)
  })
  afterAll(() => maker.stop())

  describe.each(kinds)('with an %s attestation key', (kind) => {
    it('tpm2_checkquote accepts our quote, and no other nonce, registers or key', async () => {
      const make = () =>
        withTpm(tpmOf(tpm), forever, async (open) => {
          const key = await createPrimaryKey(open, templates[kind])
          return await flushing(open, key.handle, async () => ({
            quote: await quotePcrs(open, key, extraData, pcrs),
            area: key.area,
          }))
        })
      const { quote, area } = await make()
      // The same TPM makes the same key again.
      expect((await make()).area.bytes).toEqual(area.bytes)
      await writeQuote(kind, quote, area)
      const check = (nonce: Uint8Array, values = `${kind}.pcrs`) =>
        run(
          'checkquote',
          ...['-u', `${kind}.pem`, '-m', `${kind}.attest`, '-s', `${kind}.signature`],
          ...['-f', values, '-g', 'sha256', '-q', toHex(nonce)],
        )
      expect(await check(extraData)).toContain('pcrs:')
      await expect(check(new Uint8Array(32))).rejects.toThrow()
      const wrong = await bytesOf(`${kind}.pcrs`)
      // In the first register's value.
      wrong[150] = 1
      await writeFile(file('wrong.pcrs'), wrong)
      await expect(check(extraData, 'wrong.pcrs')).rejects.toThrow()
    })

    it('our verifier accepts the quote of tpm2_quote, and no other extra data', async () => {
      const [algorithm, scheme] = kind === 'ecc' ? ['ecc', 'ecdsa'] : ['rsa', 'rsassa']
      await run('createek', '-c', 'tool.ek', '-G', 'rsa', '-u', 'tool-ek.pub')
      await run(
        'createak',
        ...['-C', 'tool.ek', '-c', 'tool.ak', '-G', algorithm, '-g', 'sha256', '-s', scheme],
        ...['-u', 'tool-ak.pub', '-f', 'tss', '-n', 'tool-ak.name'],
      )
      await run(
        'quote',
        ...['-c', 'tool.ak', '-l', `sha256:${pcrs.join(',')}`, '-q', toHex(extraData)],
        ...['-m', 'tool.attest', '-s', 'tool.signature', '-o', 'tool.pcrs', '-F', 'values'],
      )
      // TPM2B_PUBLIC: a length, then the area.
      const area = checkAttestationKey((await bytesOf('tool-ak.pub')).slice(2))
      expect(toHex(await nameOf(area))).toBe(toHex(await bytesOf('tool-ak.name')))
      const values = await bytesOf('tool.pcrs')
      const evidence = {
        backend: 'tpm' as const,
        attest: toBase64Url(await bytesOf('tool.attest')),
        signature: toBase64Url(await bytesOf('tool.signature')),
        pcrs: Object.fromEntries(
          pcrs.map((pcr, place) => [String(pcr), toHex(values.slice(place * 32, place * 32 + 32))]),
        ),
      }
      const verified = await verifyQuote(area, evidence, extraData, pcrs)
      expect(toHex(verified.pcrs.get(14) ?? new Uint8Array())).not.toBe('00'.repeat(32))
      const other = verifyQuote(area, evidence, new Uint8Array(32), pcrs)
      expect(await codeOf(other)).toBe('quote-binding-wrong')
    })
  })

  it('tpm2_createek makes our endorsement key, and tpm2_activatecredential opens our credential', async () => {
    await run('createek', '-c', 'ek.ctx', '-G', 'rsa', '-u', 'ek.pub')
    await run(
      'createak',
      ...[
        '-C',
        'ek.ctx',
        '-c',
        'ak.ctx',
        '-G',
        'ecc',
        '-g',
        'sha256',
        '-s',
        'ecdsa',
        '-n',
        'ak.name',
      ],
    )
    const area = await withTpm(tpmOf(tpm), forever, (open) =>
      withEndorsementKey(open, async (key) => key.area),
    )
    expect(toHex(area.bytes)).toBe(toHex((await bytesOf('ek.pub')).slice(2)))

    await run('nvread', '0x1c00002', '-C', 'o', '-o', 'ek.der')
    const certificate = toBase64Url(await bytesOf('ek.der'))
    const trust = trustIn(maker.rootsPem)
    const endorsement = await checkEndorsementKey(trust, certificate, [], Date.now())
    const secret = systemRandom.bytes(32)
    const name = await bytesOf('ak.name')
    const credential = await makeCredential(endorsement.key, name, secret, systemRandom)
    const u16 = (value: number) => Buffer.from([value >> 8, value & 0xff])
    const sized = (bytes: Uint8Array) => Buffer.concat([u16(bytes.length), bytes])
    const header = Buffer.from('badcc0de00000001', 'hex')
    const parts = [header, sized(credential.credentialBlob), sized(credential.encryptedSecret)]
    await writeFile(file('credential'), Buffer.concat(parts))
    await run('startauthsession', '--policy-session', '-S', 'session.ctx')
    await run('policysecret', '-S', 'session.ctx', '-c', 'e')
    await run(
      'activatecredential',
      ...[
        '-c',
        'ak.ctx',
        '-C',
        'ek.ctx',
        '-i',
        'credential',
        '-o',
        'secret',
        '-P',
        'session:session.ctx',
      ],
    )
    await run('flushcontext', 'session.ctx')
    expect(toHex(await bytesOf('secret'))).toBe(toHex(secret))
  })

  it('an endorsement key that is kept in the TPM is used, else it is made, which gives the same', async () => {
    const found = () =>
      withTpm(tpmOf(tpm), forever, (open) => withEndorsementKey(open, async (key) => key))
    const icl = await startTpmIcl(trustIn(maker.rootsPem))
    const kept = await found()
    expect(kept.handle).toBe(0x81010001)
    expect((await attestBy(icl, 'tools', tpmOf(tpm))).kinds).toContain('activate')
    await run('evictcontrol', '-c', '0x81010001')
    const made = await found()
    expect(made.handle >>> 24).toBe(0x80)
    expect(made.area).toEqual(kept.area)
    await icl.stop()
  })

  it('issuers in the memory of the TPM are sent along, over several indices', async () => {
    const der = Buffer.from(maker.issuerPem.replace(/-----.*-----|\s/g, ''), 'base64')
    const parts = [der.subarray(0, 700), der.subarray(700)]
    for (const [place, part] of parts.entries()) {
      const index = `0x1c0010${place}`
      await writeFile(file('part'), part)
      const attributes = 'ownerwrite|ownerread|authread|ppwrite|ppread|no_da'
      await run('nvdefine', index, '-C', 'o', '-s', String(part.length), '-a', attributes)
      await run('nvwrite', index, '-C', 'o', '-i', 'part')
    }
    const icl = await startTpmIcl(trustIn(maker.rootPem))
    expect((await attestBy(icl, 'tools', tpmOf(tpm))).kinds).toContain('activate')
    await icl.stop()
  })

  it('what other programs keep at the places of its key and of issuers does not stop it', async () => {
    const used = await maker.start()
    const make = (command: string, ...args: readonly string[]) =>
      tpm2(used, folder, command, ...args)
    await make('evictcontrol', '-c', '0x81010001')
    await make('createprimary', '-C', 'o', '-c', 'other.ctx')
    await make('create', '-C', 'other.ctx', '-G', 'hmac', '-u', 'hmac.pub', '-r', 'hmac.priv')
    await make('load', '-C', 'other.ctx', '-u', 'hmac.pub', '-r', 'hmac.priv', '-c', 'hmac.ctx')
    await make('evictcontrol', '-c', 'hmac.ctx', '0x81010001')
    await make('nvdefine', '0x1c00100', '-C', 'o', '-s', '32', '-p', 'secret')
    await attestTo(used)
  })

  it('a boot that was measured is quoted with its event log, which has to lead to it', async () => {
    await tpm.restart()
    const { log } = await sampleEventLog(sampleBoot, 0)
    for (const { pcr, digest, data } of sampleBoot) {
      const measured = digest ?? new Uint8Array(await crypto.subtle.digest('SHA-256', data))
      await run('pcrextend', `${pcr}:sha256=${toHex(measured)}`)
    }
    const policy = PcrPolicy.parse({ event_log: true, events: { secure_boot: true } })
    const icl = await startTpmIcl(trustIn(maker.rootsPem, { policy }))
    const withLog = (text: string) => {
      const options = tpmOf(tpm)
      const readEventLog = async () => fromBase64Url(text)
      return { ...options, device: { ...options.device, readEventLog } }
    }
    expect((await attestBy(icl, 'tools', withLog(log))).kinds).toContain('quote')
    const { log: another } = await sampleEventLog(sampleBoot.slice(1), 0)
    expect(await codeOf(attestBy(icl, 'tools', withLog(another)))).toBe('event-log-wrong')
    await icl.stop()
  })

  it('a TPM that was cleared keeps its keys, and enrols again for its counters', async () => {
    const icl = await startTpmIcl(trustIn(maker.rootsPem))
    for (let starts = 0; starts < 3; starts++) await tpm.restart()
    const before = await attestBy(icl, 'tools', tpmOf(tpm))
    await run('clear', '-c', 'p')
    const after = await attestBy(icl, 'tools', tpmOf(tpm))
    expect(after.kinds).toEqual(['challenge', 'quote', 'challenge', 'enrol', 'activate', 'quote'])
    const enrolled = ({ steps }: typeof before) => steps.find(({ kind }) => kind === 'enrol')
    expect(enrolled(after)).toEqual(enrolled(before))
    await icl.stop()
  })

  it('a TPM without SHA-256 registers, and one with a password, say so', async () => {
    await run('changeauth', '-c', 'e', 'secret')
    expect(await codeOf(attestTo(tpm))).toBe('tpm-password')
    await run('changeauth', '-c', 'e', '-p', 'secret')
    await run('hierarchycontrol', '-C', 'p', 'ehEnable', 'clear')
    expect(await codeOf(attestTo(tpm))).toBe('tpm-hierarchy-closed')
    await run('pcrallocate', 'sha1:all+sha256:none')
    await tpm.restart()
    expect(await codeOf(attestTo(tpm))).toBe('tpm-bank-missing')
  })

  async function attestTo(one: Swtpm): Promise<void> {
    const icl = await startTpmIcl(trustIn(maker.rootsPem))
    try {
      await attestBy(icl, 'tools', tpmOf(one))
    } finally {
      await icl.stop()
    }
  }

  /** A quote as tpm2_checkquote wants it. */
  async function writeQuote(name: string, quote: QuoteOfPcrs, { key }: PublicArea): Promise<void> {
    const algorithm =
      key.kind === 'ecc'
        ? { name: 'ECDSA', namedCurve: 'P-256' }
        : { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }
    const imported = await crypto.subtle.importKey('jwk', jwkOf(key), algorithm, true, ['verify'])
    const spki = Buffer.from(await crypto.subtle.exportKey('spki', imported))
    const pem = `-----BEGIN PUBLIC KEY-----\n${spki.toString('base64')}\n-----END PUBLIC KEY-----\n`
    await writeFile(file(`${name}.pem`), pem)
    await writeFile(file(`${name}.attest`), quote.attest)
    await writeFile(file(`${name}.signature`), quote.signature)
    await writeFile(file(`${name}.pcrs`), pcrFile(quote))
  }
})

/** The file of register values that tpm2_quote writes: TPML_PCR_SELECTION and TPML_DIGEST as the C structures lie in memory. */
function pcrFile({ pcrs: values }: QuoteOfPcrs): Uint8Array {
  const bits = new Uint8Array(4)
  for (const pcr of values.keys()) bits[pcr >> 3] = (bits[pcr >> 3] ?? 0) | (1 << (pcr & 7))
  const u16 = (value: number) => Uint8Array.of(value & 0xff, value >> 8)
  const u32 = (value: number) => Buffer.concat([u16(value & 0xffff), u16(value >>> 16)])
  const selection = Buffer.concat([
    u16(0x0b),
    Uint8Array.of(3),
    bits.subarray(0, 3),
    new Uint8Array(2),
  ])
  const banks = Buffer.concat([u32(1), selection, new Uint8Array(15 * 8)])
  const all = [...values.values()]
  const lists: Uint8Array[] = []
  for (let start = 0; start < all.length; start += 8) {
    const part = all.slice(start, start + 8)
    const digests = part.map((digest) => Buffer.concat([u16(32), digest, new Uint8Array(32)]))
    const empty = new Uint8Array((8 - part.length) * 66)
    lists.push(Buffer.concat([u32(part.length), ...digests, empty]))
  }
  return Buffer.concat([banks, u32(lists.length), ...lists])
}
