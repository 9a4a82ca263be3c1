import { bytesToHex, hexToBytes, keccak256, numberToHex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { describe, expect, it } from 'vitest'
import { loadRecovery } from '../../icl/start/machine.ts'
import { Address } from '../../lib/codecs.ts'
import { isSignedByWallet } from '../../lib/wallet-signature.ts'

const curveOrder = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
const account = privateKeyToAccount(`0x${'11'.repeat(32)}`)
const address = Address.parse(account.address)
const hash = keccak256('0x01')
const signature = hexToBytes(await account.sign({ hash }))
const other = Address.parse(privateKeyToAccount(`0x${'22'.repeat(32)}`).address)

const changed = (change: (bytes: Uint8Array) => void): Uint8Array => {
  const bytes = signature.slice()
  change(bytes)
  return bytes
}
const withV = (v: number) => changed((bytes) => bytes.fill(v, 64))
const flipped = (v: number) => (v === 27 ? 28 : 27)

/** The other spelling of the same signature: n - s, and the other parity. */
const highS = changed((bytes) => {
  const s = BigInt(bytesToHex(bytes.subarray(32, 64)))
  bytes.set(hexToBytes(numberToHex(curveOrder - s, { size: 32 })), 32)
  bytes[64] = flipped(bytes[64] ?? 0)
})

for (const [way, recover] of [
  ['viem', undefined],
  ['WebAssembly', await loadRecovery()],
] as const) {
  describe(`a wallet's signature, by ${way}`, () => {
    const isSigned = (bytes: Uint8Array, by = address, of = hash) =>
      isSignedByWallet(by, of, bytes, recover)

    it('is of the wallet that made it, whether v counts from 0 or from 27', async () => {
      expect(await isSigned(signature)).toBe(true)
      expect(await isSigned(withV((signature[64] ?? 0) - 27))).toBe(true)
    })

    it('is of no other wallet and of nothing else', async () => {
      expect(await isSigned(signature, other)).toBe(false)
      expect(await isSigned(signature, address, keccak256('0x02'))).toBe(false)
      expect(await isSigned(withV(flipped(signature[64] ?? 0)))).toBe(false)
    })

    it('has one spelling: the higher s does not count', async () => {
      expect(await isSigned(highS)).toBe(false)
    })

    it('is none with another v or length, or with numbers that are none of the curve', async () => {
      const none = [
        withV(29),
        signature.subarray(0, 64),
        new Uint8Array(0),
        new Uint8Array([...signature, 0]),
        changed((bytes) => bytes.fill(0, 0, 32)),
        changed((bytes) => bytes.fill(0, 32, 64)),
        changed((bytes) => bytes.fill(0xff, 0, 32)),
      ]
      for (const bytes of none) expect(await isSigned(bytes)).toBe(false)
    })
  })
}
