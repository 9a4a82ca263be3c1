// Which Ed25519 keys and signatures count (RFC 8032, section 5.1). Under a key of small order a constant "signature" verifies for any message,
// so that its holder can deny whatever it signed. A y that is not reduced, or an S that is not, is accepted by some runtimes and refused by others,
// and a receipt would hold on one and not on the other. These are refused here, before a runtime sees them.

const fieldPrime = 2n ** 255n - 19n
const groupOrder = 2n ** 252n + 27742317777372353535851937790883648493n

/** The y of the eight points of small order; their encodings differ in the sign of x only. */
const yOfOrderEight = 0x7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd84d3d706a17c7n
const weakYs: readonly bigint[] = [
  0n,
  1n,
  fieldPrime - 1n,
  yOfOrderEight,
  fieldPrime - yOfOrderEight,
]

/** False for a public key of another length than 32 bytes, in a spelling that is not canonical, or of small order. */
export function isStrongKey(publicKey: Uint8Array): boolean {
  if (publicKey.length !== 32) return false
  const y = littleEndian(publicKey) & (2n ** 255n - 1n)
  return y < fieldPrime && !weakYs.includes(y)
}

/** False for a signature of another length than 64 bytes, or whose S or y of R is not reduced. */
export function isCanonicalSignature(signature: Uint8Array): boolean {
  if (signature.length !== 64) return false
  const y = littleEndian(signature.subarray(0, 32)) & (2n ** 255n - 1n)
  return y < fieldPrime && littleEndian(signature.subarray(32)) < groupOrder
}

function littleEndian(bytes: Uint8Array): bigint {
  let hex = ''
  for (const byte of bytes) hex = byte.toString(16).padStart(2, '0') + hex
  return BigInt(`0x${hex}`)
}
