import { Aes128Gcm, CipherSuite, DhkemX25519HkdfSha256, HkdfSha256 } from '@hpke/core'
import * as peer from 'hpke'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { describe, expect, it, vi } from 'vitest'
import { loadRecovery } from '../../../icl/start/machine.ts'
import type { Address } from '../../../lib/codecs.ts'
import { toBase64Url, utf8 } from '../../../lib/digest.ts'
import { ReadingGrant } from '../../../lib/schemas/reading.ts'
import {
  deriveKeyPair,
  publicBytes,
  readingKeyOf,
  verifyReading,
  wrapFor,
} from '../../../lib/sealing/reading-key.ts'
import { grantFor, sampleReading } from '../../sample-reading.ts'

const unhex = (text: string) => new Uint8Array(Buffer.from(text, 'hex'))
const hex = (bytes: ArrayBuffer | Uint8Array) => Buffer.from(bytes as ArrayBuffer).toString('hex')

/** RFC 9180, A.1.1: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, AES-128-GCM, base mode, sequence number 0. */
const rfc = {
  info: '4f6465206f6e2061204772656369616e2055726e',
  ikmE: '7268600d403fce431561aef583ee1613527cff655c1343f29812e66706df3234',
  ikmR: '6db9df30aa07dd42ee5e8181afdb977e538f5e1fec8a06223f33f7013e525037',
  enc: '37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431',
  text: '4265617574792069732074727574682c20747275746820626561757479',
  aad: '436f756e742d30',
  sealed:
    'f938558b5d72f1a23810b4be2ab4f84331acc02fc97babc53a52ae8218a355a96d8770ac83d07bea87e13c512a',
}

describe('HPKE with a derived ephemeral key', () => {
  it('makes the keys and the ciphertext of RFC 9180', async () => {
    const ephemeral = await deriveKeyPair(unhex(rfc.ikmE))
    const recipient = await deriveKeyPair(unhex(rfc.ikmR))
    expect(hex(await publicBytes(ephemeral))).toBe(rfc.enc)
    const suite = new CipherSuite({
      ...{ kem: new DhkemX25519HkdfSha256(), kdf: new HkdfSha256(), aead: new Aes128Gcm() },
    })
    const parts = { recipientPublicKey: recipient.publicKey, ekm: ephemeral }
    const sender = await suite.createSenderContext({ ...parts, info: unhex(rfc.info) })
    expect(hex(sender.enc)).toBe(rfc.enc)
    const sealed = await sender.seal(unhex(rfc.text).buffer, unhex(rfc.aad).buffer)
    expect(hex(sealed)).toBe(rfc.sealed)
  })

  it('is opened by another implementation, and opens what that one has sealed', async () => {
    const suite = new peer.CipherSuite(
      ...[peer.KEM_DHKEM_X25519_HKDF_SHA256, peer.KDF_HKDF_SHA256, peer.AEAD_AES_256_GCM],
    )
    const secret = new Uint8Array(32).fill(4)
    const info = 'svc-wrap-v1:some'
    const ephemeral = await deriveKeyPair(new Uint8Array(32).fill(5))
    const theirs = await suite.DeriveKeyPair(new Uint8Array(32).fill(6), true)
    const theirKey = toBase64Url(await suite.SerializePublicKey(theirs.publicKey))
    const wrap = await wrapFor(theirKey, secret, ephemeral, info)
    const enc = await publicBytes(ephemeral)
    expect(wrap).toHaveLength(48)
    expect(await suite.Open(theirs, enc, wrap, { info: utf8(info) })).toEqual(secret)

    const own = await readingKeyOf(new Uint8Array(32).fill(7))
    const publicKey = await suite.DeserializePublicKey(Buffer.from(own.publicKey, 'base64url'))
    const sent = await suite.Seal(publicKey, secret, { info: utf8(info) })
    const bytes = (part: Uint8Array) => new Uint8Array(part)
    const opened = own.unwrap(bytes(sent.ciphertext), bytes(sent.encapsulatedSecret), info)
    expect(await opened).toEqual(secret)
    const elsewhere = own.unwrap(bytes(sent.ciphertext), bytes(sent.encapsulatedSecret), 'other')
    await expect(elsewhere).rejects.toThrow()
  })

  it('wraps nothing for a key of small order', async () => {
    const ephemeral = await deriveKeyPair(new Uint8Array(32).fill(5))
    const orders = ['00'.repeat(32), `01${'00'.repeat(31)}`, `ec${'ff'.repeat(30)}7f`]
    for (const order of orders) {
      const key = toBase64Url(unhex(order))
      await expect(wrapFor(key, new Uint8Array(32), ephemeral, 'x')).rejects.toThrow()
    }
  })
})

it('a reading key has one spelling', () => {
  const takes = (order: string) =>
    ReadingGrant.safeParse({ ...sampleReading, key: toBase64Url(unhex(order)) }).success
  expect(takes('09'.repeat(32))).toBe(true)
  expect(takes(`ec${'ff'.repeat(30)}7f`)).toBe(true)
  // 2^255 - 19 is zero, and what is above has a shorter spelling. The highest bit is ignored by X25519.
  expect(takes(`ed${'ff'.repeat(30)}7f`)).toBe(false)
  expect(takes(`${'ff'.repeat(31)}7f`)).toBe(false)
  expect(takes(`${'09'.repeat(31)}89`)).toBe(false)
  expect(takes(`ff00${'ff'.repeat(29)}7f`)).toBe(true)
})

it('a signature of a reading key is checked once, and another one each time until it holds', async () => {
  const wallet = generatePrivateKey()
  const node = privateKeyToAddress(wallet).toLowerCase() as Address
  const { key } = sampleReading
  const [own, strange] = [await grantFor(wallet, key), await grantFor(generatePrivateKey(), key)]
  const recover = vi.fn(await loadRecovery())
  const verify = (grant: ReadingGrant) => verifyReading(node, 31_337, grant, recover)
  expect([await verify(own), await verify(own)]).toEqual([true, true])
  expect(recover).toHaveBeenCalledTimes(1)
  expect([await verify(strange), await verify(strange)]).toEqual([false, false])
  expect(recover).toHaveBeenCalledTimes(3)
  expect(await verifyReading(node, 1, own, recover)).toBe(false)
})
