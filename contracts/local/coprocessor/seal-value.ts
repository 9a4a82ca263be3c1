import nacl from 'tweetnacl'
import { type Hex, hexToBytes, numberToHex } from 'viem'

const valueBytes = 16

/** A value that only the holder of a permit's sealing key can open, as lists of bytes, which the SDK reads. */
export type SealedValue = {
  readonly data: readonly number[]
  readonly public_key: readonly number[]
  readonly nonce: readonly number[]
}

/** Seals a uint128 to a permit's X25519 key. */
export const sealValue = (value: bigint, sealingKey: Hex): SealedValue => {
  const sender = nacl.box.keyPair()
  const nonce = nacl.randomBytes(nacl.box.nonceLength)
  const plain = hexToBytes(numberToHex(value, { size: valueBytes }))
  const data = nacl.box(plain, nonce, hexToBytes(sealingKey), sender.secretKey)
  return { data: [...data], public_key: [...sender.publicKey], nonce: [...nonce] }
}
