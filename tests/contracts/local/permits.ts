import nacl from 'tweetnacl'
import { type Hex, hexToBytes, toHex, zeroAddress } from 'viem'
import type { ChainWriter } from '../../../lib/chain/clients.ts'
import { taskManager } from '../../../lib/chain/task-manager.ts'

const types = {
  PermissionedV2IssuerSelf: [
    { name: 'issuer', type: 'address' },
    { name: 'expiration', type: 'uint64' },
    { name: 'recipient', type: 'address' },
    { name: 'validatorId', type: 'uint256' },
    { name: 'validatorContract', type: 'address' },
    { name: 'sealingKey', type: 'bytes32' },
  ],
} as const

/** A permit as the SDK sends it, and the key that opens what is sealed to it. */
export type SignedPermit = {
  readonly permit: Readonly<Record<string, string | number>>
  readonly sealingKey: nacl.BoxKeyPair
}

/** Signs a permit with a wallet; `issuer` and `expiration` (Unix seconds) may be lies. */
export const signPermit = async (
  { walletClient }: ChainWriter,
  options: { readonly issuer?: Hex; readonly expiration?: number } = {},
): Promise<SignedPermit> => {
  const sealingKey = nacl.box.keyPair()
  const { issuer = walletClient.account.address } = options
  const { expiration = Math.floor(Date.now() / 1000) + 3600 } = options
  const message = {
    issuer,
    expiration: BigInt(expiration),
    recipient: zeroAddress,
    validatorId: 0n,
    validatorContract: zeroAddress,
    sealingKey: toHex(sealingKey.publicKey),
  }
  const issuerSignature = await walletClient.signTypedData({
    types,
    primaryType: 'PermissionedV2IssuerSelf',
    domain: {
      name: 'ACL',
      version: '1',
      chainId: walletClient.chain.id,
      verifyingContract: taskManager,
    },
    message,
  })
  const permit = {
    ...message,
    expiration,
    validatorId: 0,
    issuerSignature,
    recipientSignature: '0x',
  }
  return { permit, sealingKey }
}

type Sealed = Readonly<Record<'data' | 'public_key' | 'nonce', readonly number[]>>

/** The value in an answer of the coprocessor. */
export const openSealed = (
  json: Record<string, unknown>,
  { sealingKey }: SignedPermit,
): bigint | undefined => {
  const { data, public_key: sender, nonce } = json.sealed as Sealed
  const bytes = [data, nonce, sender].map((part) => Uint8Array.from(part))
  const [box = hexToBytes('0x'), once = box, from = box] = bytes
  const plain = nacl.box.open(box, once, from, sealingKey.secretKey)
  return plain === null ? undefined : BigInt(toHex(plain))
}
