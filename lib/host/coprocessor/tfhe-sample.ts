import {
  CompactPkeCrs,
  FheUint128,
  ProvenCompactCiphertextList,
  set_server_key as setServerKey,
  TfheClientKey,
  TfheCompactPublicKey,
  TfheServerKey,
} from 'tfhe'
import { maxSerializedBytes } from '../../coprocessor/build-proof.ts'
import { smallTfheConfig } from '../../coprocessor/small-tfhe-config.ts'
import type { ProofToOpen, SampleKeys } from './proof-work.ts'

const sampleCrsBits = 256

/** Encrypts and decrypts values with a fresh key. */
export function roundTrip(values: readonly bigint[]): readonly bigint[] {
  const clientKey = TfheClientKey.generate(smallTfheConfig())
  return values.map((value) =>
    FheUint128.encrypt_with_client_key(value, clientKey).decrypt(clientKey),
  )
}

/** Makes the keys of a coprocessor whose proofs cover `crsBits` (about a minute of computing). */
export function makeSampleKeys(crsBits = sampleCrsBits): SampleKeys {
  const config = smallTfheConfig()
  const clientKey = TfheClientKey.generate(config)
  const publicKey = TfheCompactPublicKey.new(clientKey)
  const crs = CompactPkeCrs.from_config(config, crsBits)
  return {
    clientKey: clientKey.safe_serialize(maxSerializedBytes),
    publicKey: publicKey.safe_serialize(maxSerializedBytes),
    crs: crs.safe_serialize(maxSerializedBytes),
  }
}

/** Verifies a proof as a coprocessor does, and opens it. Throws when it is not a proof for these keys and metadata. */
export function open(input: ProofToOpen): readonly bigint[] {
  const { proof, metadata } = input
  const clientKey = TfheClientKey.safe_deserialize(input.clientKey, maxSerializedBytes)
  const publicKey = TfheCompactPublicKey.safe_deserialize(input.publicKey, maxSerializedBytes)
  const crs = CompactPkeCrs.safe_deserialize(input.crs, maxSerializedBytes)
  setServerKey(TfheServerKey.new(clientKey))
  const list = ProvenCompactCiphertextList.safe_deserialize(proof, maxSerializedBytes)
  const expanded = list.verify_and_expand(crs, publicKey, metadata)
  return Array.from({ length: list.len() }, (_, index) =>
    expanded.get_uint128(index).decrypt(clientKey),
  )
}
