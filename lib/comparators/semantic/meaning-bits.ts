import { hmacSha256, utf8 } from '../../digest.ts'
import { SvcError } from '../../svc-error.ts'
import { createSipHash } from '../similar/sip-hash.ts'
import { meaningBits } from './thresholds.ts'

const maxDimensions = 4_096
const maxComponent = 1_024
// Sums of integers are the same on every engine; sums of fractions depend on their order.
const unitsPerOne = 2 ** 20

/**
 * The signs of 2,048 random projections of a vector, eight to a byte: two vectors differ in as large a share of them as their angle is of a half
 * turn. The projections (+1 and -1) come from the key, so that without it the bits say nothing. Throws SvcError `embedding-refused` for
 * what is no vector.
 */
export async function meaningBitsOf(
  vector: readonly number[],
  key: Uint8Array<ArrayBuffer>,
): Promise<Uint8Array<ArrayBuffer>> {
  const units = unitsOf(vector)
  const hash = createSipHash(await hmacSha256(key, utf8('svc-meaning 1')))
  const bits = new Uint8Array(meaningBits / 8)
  const words = Math.ceil(units.length / 64)
  for (let row = 0; row < meaningBits; row++) {
    let sum = 0
    for (let word = 0; word < words; word++) {
      const { low, high } = hash.number(row * words + word)
      sum += signedSum(units, word * 64, low) + signedSum(units, word * 64 + 32, high)
    }
    // A sum of nothing has no sign: the key gives it one, or the bits of some vectors were mostly zeros.
    const isPositive = sum === 0 ? (hash.number(meaningBits * words + row).low & 1) === 1 : sum > 0
    if (isPositive) bits[row >>> 3] = (bits[row >>> 3] ?? 0) | (1 << (row & 7))
  }
  return bits
}

/** The next 32 units, each with the sign that its bit says. */
function signedSum(units: Float64Array, from: number, signs: number): number {
  let sum = 0
  const to = Math.min(from + 32, units.length)
  for (let at = from; at < to; at++) {
    const unit = units[at] ?? 0
    sum += (signs >>> (at - from)) & 1 ? unit : -unit
  }
  return sum
}

function unitsOf(vector: readonly number[]): Float64Array {
  const units = Float64Array.from(vector, (component) => Math.round(component * unitsPerOne))
  const isVector =
    units.length > 0 &&
    units.length <= maxDimensions &&
    vector.every((component) => Math.abs(component) <= maxComponent) &&
    units.some((unit) => unit !== 0)
  if (isVector) return units
  throw new SvcError('embedding-refused', 'The embedding model gave no vector', {
    hint: 'Check SVC_EMBEDDING_BASE_URL: the server may not be an embedding API.',
  })
}

/** In how many bits two strings of equal length differ. */
export function bitDistance(a: Uint8Array, b: Uint8Array): number {
  let distance = 0
  for (let at = 0; at < a.length; at++) {
    for (let rest = (a[at] ?? 0) ^ (b[at] ?? 0); rest > 0; rest &= rest - 1) distance++
  }
  return distance
}
