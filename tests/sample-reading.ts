import { keccak256, stringToHex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { hexToBytes } from 'viem/utils'
import type { Address } from '../lib/codecs.ts'
import type { ReadingGrant } from '../lib/schemas/reading.ts'
import { readingKeyOf, readingTypedData } from '../lib/sealing/reading-key.ts'

/** A reading key in the form that stores keep. Nothing opens what is wrapped for it. */
export const sampleReading: ReadingGrant = {
  key: Buffer.alloc(32, 9).toString('base64url'),
  signature: `0x${'11'.repeat(64)}1b`,
}

/** The private key of a wallet that is made from a name. */
export const privateKeyOf = (name: string): `0x${string}` => keccak256(stringToHex(name))

/** The reading key of a private key. */
export const readerOf = (privateKey: `0x${string}`) => readingKeyOf(hexToBytes(privateKey))

/** The reading key of a private key, as its wallet signs it for a chain. */
export const grantOf = async (privateKey: `0x${string}`, chainId = 31_337): Promise<ReadingGrant> =>
  grantFor(privateKey, (await readerOf(privateKey)).publicKey, chainId)

/** Any key, as a wallet signs it for a chain. */
export async function grantFor(
  privateKey: `0x${string}`,
  key: string,
  chainId = 31_337,
): Promise<ReadingGrant> {
  const account = privateKeyToAccount(privateKey)
  const node = account.address.toLowerCase() as Address
  const signature = await account.signTypedData(readingTypedData({ node, key, chainId }))
  return { key, signature }
}
