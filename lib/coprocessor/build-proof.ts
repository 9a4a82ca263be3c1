import {
  CompactPkeCrs,
  ProvenCompactCiphertextList,
  TfheCompactPublicKey,
  ZkComputeLoad,
} from 'tfhe'

/** The largest serialised key or proof, in bytes. */
export const maxSerializedBytes: bigint = 1n << 30n

/** The inputs of a proof. Keys are bytes, half the size of hex. */
export type ProofMaterial = {
  readonly publicKey: Uint8Array
  readonly crs: Uint8Array
  readonly values: readonly bigint[]
  readonly metadata: Uint8Array
}

/** Encrypts the values for the coprocessor and proves that they are well-formed (about 10 s of computing). Load the FHE code first. */
export function buildProof(material: ProofMaterial): Uint8Array {
  const { values, metadata } = material
  const publicKey = TfheCompactPublicKey.safe_deserialize(material.publicKey, maxSerializedBytes)
  const crs = CompactPkeCrs.safe_deserialize(material.crs, maxSerializedBytes)
  const builder = ProvenCompactCiphertextList.builder(publicKey)
  for (const value of values) builder.push_u128(value)
  // The coprocessor's own SDK uses this load.
  const list = builder.build_with_proof_packed(crs, metadata, ZkComputeLoad.Verify)
  return list.safe_serialize(maxSerializedBytes)
}
