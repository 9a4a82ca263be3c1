import { FheTypes, FheUint128, ProvenCompactCiphertextList } from 'tfhe'
import { type Hex, keccak256 } from 'viem'
import { maxSerializedBytes } from '../../../lib/coprocessor/build-proof.ts'
import type { Ciphertexts } from './ciphertexts.ts'
import type { TfheKeys } from './tfhe-keys.ts'
import type { Work } from './worker-messages.ts'

const maxListLength = 16

/** Thrown for invalid input. Any other error is a failure of the worker. */
export class Refused extends Error {
  override readonly name = 'Refused'
}

const refuse = <T>(why: string, body: () => T): T => {
  try {
    return body()
  } catch (error) {
    // A trap leaves the WebAssembly code in an unknown state.
    if (error instanceof WebAssembly.RuntimeError) throw error
    throw new Refused(why, { cause: error })
  }
}

/** Checks the proof of a list, and stores its ciphertexts. */
export const verify = (
  keys: TfheKeys,
  ciphertexts: Ciphertexts,
  { list: text, metadata }: Work['verify']['input'],
): readonly Hex[] => {
  const list = refuse('the list of ciphertexts is malformed', () =>
    ProvenCompactCiphertextList.safe_deserialize(Buffer.from(text, 'base64'), maxSerializedBytes),
  )
  try {
    checkList(list)
    return expand(keys, ciphertexts, list, Buffer.from(metadata, 'base64'))
  } finally {
    list.free()
  }
}

const checkList = (list: ProvenCompactCiphertextList): void => {
  const length = list.len()
  if (length < 1 || length > maxListLength) {
    throw new Refused(`a list has 1 to ${maxListLength} values`)
  }
  for (let index = 0; index < length; index++) {
    if (list.get_kind_of(index) !== FheTypes.Uint128) throw new Refused('only uint128 is supported')
  }
}

const expand = (
  { publicKey, crs }: TfheKeys,
  ciphertexts: Ciphertexts,
  list: ProvenCompactCiphertextList,
  metadata: Uint8Array,
): readonly Hex[] => {
  const expanded = refuse('the proof is invalid', () =>
    list.verify_and_expand(crs, publicKey, metadata),
  )
  try {
    return Array.from({ length: list.len() }, (_, index) => {
      const ciphertext = expanded.get_uint128(index)
      const bytes = ciphertext.safe_serialize(maxSerializedBytes)
      ciphertext.free()
      const rawHash = keccak256(bytes)
      ciphertexts.write(rawHash, bytes)
      return rawHash
    })
  } finally {
    expanded.free()
  }
}

/** Decrypts a stored ciphertext. */
export const decrypt = (
  { clientKey }: TfheKeys,
  ciphertexts: Ciphertexts,
  { handle }: Work['decrypt']['input'],
): string => {
  const bytes = ciphertexts.read(BigInt(handle))
  if (bytes === undefined) throw new Refused('there is no such ciphertext')
  const ciphertext = FheUint128.safe_deserialize(bytes, maxSerializedBytes)
  const value = ciphertext.decrypt(clientKey)
  ciphertext.free()
  return BigInt(value).toString()
}
