import { type Hex, hexToBytes } from 'viem'
import { fromBase64Url, hkdfSha256 } from '../../lib/digest.ts'
import { type SigningKey, signingKeyFromSeed } from '../../lib/session-key.ts'

/** The session key of a wallet and a salt: it is never written, and the same two give the same key (spec 5). */
export const sessionKeyOf = async (walletKey: Hex, salt: string): Promise<SigningKey> =>
  signingKeyFromSeed(
    await hkdfSha256(hexToBytes(walletKey), fromBase64Url(salt), 'svc-session-key-v1', 32),
  )
