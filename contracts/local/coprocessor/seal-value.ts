import nacl from 'tweetnacl'
import { type Hex, hexToBytes, numberToHex } from 'viem'

const valueBytes = 16

/** Seals a uint128 to a permit's X25519 key, whose holder alone can open it. Returns lists of bytes, which the SDK reads. */
export const sealValue = (value: bigint, sealingKey: Hex) => {
  const sender = nacl.box.keyPair()
  const nonce = nacl.randomBytes(nacl.box.nonceLength)
  const plain = hexToBytes(numberToHex(value, { size: valueBytes }))
  const data = nacl.box(plain, nonce, hexToBytes(sealingKey), sender.secretKey)
  return { data: [...data], public_key: [...sender.publicKey], nonce: [...nonce] }
}
