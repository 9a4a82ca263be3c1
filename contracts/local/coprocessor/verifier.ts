import { concatHex, encodePacked, type Hex, hexToBytes, keccak256, numberToHex, toHex } from 'viem'
import { privateKeyToAddress, sign } from 'viem/accounts'
import type { Address } from '../../../lib/codecs.ts'

/** The coprocessor's number for the only type that is served. */
export const uint128Type = 6

/** Signs as the coprocessor's verifier. */
export type Verifier = ReturnType<typeof createVerifier>

/** Makes the verifier of a chain from its private key. */
export const createVerifier = (key: Uint8Array, chainId: number) => {
  const privateKey = toHex(key)
  return {
    /** The signer that the task manager must expect. */
    address: privateKeyToAddress(privateKey),
    /** Signs a ciphertext of an account. Returns r and s, and the recovery id (0 or 1). */
    signInput: async (rawHash: Hex, zone: number, account: Address) => {
      const packed = encodePacked(
        ['uint256', 'uint8', 'uint8', 'address', 'uint256'],
        [BigInt(rawHash), uint128Type, zone, account, BigInt(chainId)],
      )
      const { r, s, yParity } = await sign({ hash: keccak256(packed), privateKey })
      const padded = [r, s].map((part) => numberToHex(BigInt(part), { size: 32 }))
      return { signature: concatHex(padded), recid: yParity ?? 0 }
    },
    /** Signs a decrypted value. */
    signValue: (value: bigint, handle: bigint): Promise<Hex> => {
      const packed = encodePacked(
        ['uint256', 'uint32', 'uint64', 'uint256'],
        [value, uint128Type, BigInt(chainId), handle],
      )
      return sign({ hash: keccak256(packed), privateKey, to: 'hex' })
    },
  }
}

/** Returns the metadata that a proof is bound to: zone, account and chain. */
export const proofMetadata = (zone: number, account: Address, chainId: number): Uint8Array =>
  hexToBytes(encodePacked(['uint8', 'address', 'uint256'], [zone, account, BigInt(chainId)]))
