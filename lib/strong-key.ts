// Which Ed25519 keys and signatures count (RFC 8032, section 5.1). Under a key of small order a constant "signature" verifies for any
// message, so its holder can deny every signature. Some runtimes accept a y or an S that is not reduced and others refuse it, so a receipt
// would be valid on one and not on the other. These are refused here, before a runtime sees them.

/** Writes a number as 32 bytes, the lowest first. */
function bytesOf(value: bigint): Uint8Array {
  const bytes = new Uint8Array(32)
  for (let at = 0; at < 32; at++) bytes[at] = Number((value >> BigInt(8 * at)) & 0xffn)
  return bytes
}

const fieldPrime = 2n ** 255n - 19n
const fieldPrimeBytes = bytesOf(fieldPrime)
const groupOrderBytes = bytesOf(2n ** 252n + 27742317777372353535851937790883648493n)

/** A y of the points of order 8. `weakYs` has the y of all eight points of small order, which otherwise differ in the sign of x only. */
const yOfOrderEight = 0x7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd84d3d706a17c7n
const weakYs: readonly Uint8Array[] = [
  0n,
  1n,
  fieldPrime - 1n,
  yOfOrderEight,
  fieldPrime - yOfOrderEight,
].map(bytesOf)

/** False for a public key that does not have 32 bytes, is not canonical, or is of small order. */
export const isStrongKey = (publicKey: Uint8Array): boolean =>
  publicKey.length === 32 &&
  compareY(publicKey, fieldPrimeBytes) < 0 &&
  weakYs.every((weak) => compareY(publicKey, weak) !== 0)

/** False for a signature that does not have 64 bytes, or whose S or y of R is not reduced. */
export const isCanonicalSignature = (signature: Uint8Array): boolean =>
  signature.length === 64 &&
  compareY(signature.subarray(0, 32), fieldPrimeBytes) < 0 &&
  compare(signature.subarray(32), groupOrderBytes) < 0

/** Like `compare`, without the highest bit of `a`, which is the sign of x. */
const compareY = (a: Uint8Array, b: Uint8Array): number =>
  ((a[31] ?? 0) & 0x7f) - (b[31] ?? 0) || compare(a.subarray(0, 31), b.subarray(0, 31))

/** Compares two numbers of the same length: below, at or above 0. Not constant-time, since the values are public. */
function compare(a: Uint8Array, b: Uint8Array): number {
  for (let at = a.length - 1; at >= 0; at--) {
    const difference = (a[at] ?? 0) - (b[at] ?? 0)
    if (difference !== 0) return difference
  }
  return 0
}
