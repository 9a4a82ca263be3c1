import { bytesToHex, hashTypedData, hexToBytes } from 'viem'
import type { Address } from './codecs.ts'
import { fromBase64Url } from './digest.ts'
import { createKnown, isSignedByWallet, type RecoverKey } from './wallet-signature.ts'

const types = {
  Session: [
    { name: 'address', type: 'address' },
    { name: 'key', type: 'bytes32' },
    { name: 'iclOrigin', type: 'string' },
    { name: 'chainId', type: 'uint256' },
    { name: 'notAfter', type: 'uint64' },
  ],
} as const

/** A wallet's grant that a session key speaks for it, at one ICL on one chain, until a time in Unix seconds. */
export type Session = {
  readonly address: Address
  /** base64url */
  readonly key: string
  readonly iclOrigin: string
  readonly chainId: number
  readonly notAfter: number
}

/** The EIP-712 typed data that the wallet signs. */
export const sessionTypedData = (session: Session) =>
  ({
    domain: { name: 'svc-session', version: '1', chainId: session.chainId },
    types,
    primaryType: 'Session',
    message: {
      address: session.address,
      key: bytesToHex(fromBase64Url(session.key)),
      iclOrigin: session.iclOrigin,
      chainId: BigInt(session.chainId),
      notAfter: BigInt(session.notAfter),
    },
  }) as const

// A node's jobs show the session of its process again and again, and a recovery takes a millisecond.
const known = createKnown()

/** True when the wallet signed this session; `recover` as in `isSignedByWallet`. A process checks a signature once. */
export async function verifySession(
  session: Session,
  signature: `0x${string}`,
  recover?: RecoverKey,
): Promise<boolean> {
  const { address, key, iclOrigin, chainId, notAfter } = session
  const name = JSON.stringify([address, key, iclOrigin, chainId, notAfter, signature])
  if (known.has(name)) return true
  try {
    const hash = hashTypedData(sessionTypedData(session))
    const isSigned = await isSignedByWallet(address, hash, hexToBytes(signature), recover)
    if (isSigned) known.add(name)
    return isSigned
  } catch {
    // Text that is not hex is no signature.
    return false
  }
}
