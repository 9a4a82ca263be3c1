import { bytesToHex, type Hex, hexToBytes } from 'viem'
import { recoverAddress } from 'viem/utils'
import { type Address, halfCurveOrder } from './codecs.ts'
import { keccak256Hex } from './digest.ts'

/** Recovers the 65-byte public key from a hash, r and s (64 bytes) and the parity. Returns null or throws when there is none. */
export type RecoverKey = (hash: Uint8Array, rs: Uint8Array, parity: 0 | 1) => Uint8Array | null

const parities: Readonly<Record<number, 0 | 1>> = { 0: 0, 1: 1, 27: 0, 28: 1 }

/** True when a wallet signed a hash: r, the lower s (EIP-2), and v. `recover` replaces viem's recovery by a faster one. */
export async function isSignedByWallet(
  address: Address,
  hash: Hex,
  signature: Uint8Array,
  recover?: RecoverKey,
): Promise<boolean> {
  const parity = parities[signature[64] ?? -1]
  if (signature.length !== 65 || parity === undefined) return false
  const rs = signature.slice(0, 64)
  if (BigInt(bytesToHex(rs.subarray(32))) > halfCurveOrder) return false
  try {
    if (!recover) {
      const found = await recoverAddress({ hash, signature: bytesToHex(signature) })
      return found.toLowerCase() === address
    }
    const key = recover(hexToBytes(hash), rs, parity)
    return key !== null && `0x${keccak256Hex(key.subarray(1)).slice(-40)}` === address
  } catch {
    // Recovery throws on bytes that are not a signature.
    return false
  }
}

const mostKnown = 4_096

/** Remembers the last 4,096 signatures, with all that they sign, that were found valid. */
export function createKnown(): {
  readonly has: (name: string) => boolean
  readonly add: (name: string) => void
} {
  const names = new Set<string>()
  return {
    has: (name) => names.has(name),
    add: (name) => {
      const [oldest] = names
      if (oldest !== undefined && names.size >= mostKnown) names.delete(oldest)
      names.add(name)
    },
  }
}
