/*
 * Problem: the coprocessor's key alone must not open a prompt, and the ICL must not be able to name its own key as a node's.
 *
 * Idea: each node has an X25519 key that its wallet's key determines. The wallet signs it, and the client checks the signature against the
 * address on the list that it has drawn itself. The client wraps the job's secret for each of these keys by HPKE (RFC 9180).
 *
 * Invariants: the private half is in memory only, and the same after a restart. A wrap opens for one node, job key and client.
 *
 * Failure cases: a key in another spelling or of small order is refused. An attacker who gets a wallet's key later can open the wraps for it.
 */

import { Aes256Gcm, CipherSuite, DhkemX25519HkdfSha256, HkdfSha256 } from '@hpke/core'
import { bytesToHex, hashTypedData, hexToBytes } from 'viem'
import type { Address } from '../codecs.ts'
import { fromBase64Url, hkdfSha256, toBase64Url, utf8 } from '../digest.ts'
import type { ReadingGrant } from '../schemas/reading.ts'
import { createKnown, isSignedByWallet, type RecoverKey } from '../wallet-signature.ts'

type Bytes = Uint8Array<ArrayBuffer>

const suite = new CipherSuite({
  kem: new DhkemX25519HkdfSha256(),
  kdf: new HkdfSha256(),
  aead: new Aes256Gcm(),
})

/** An X25519 key pair of HPKE. */
export type KeyPair = Awaited<ReturnType<typeof suite.kem.deriveKeyPair>>

/** DeriveKeyPair of RFC 9180: the same 32 bytes give the same pair. */
export const deriveKeyPair = (seed: Bytes): Promise<KeyPair> => suite.kem.deriveKeyPair(seed.buffer)

/** The public half of a pair, 32 bytes. */
export const publicBytes = async ({ publicKey }: KeyPair): Promise<Bytes> =>
  new Uint8Array(await suite.kem.serializePublicKey(publicKey))

/** A node's reading key, which keeps its private half inside. */
export type ReadingKey = {
  /** 32 bytes in base64url. */
  readonly publicKey: string
  /** Opens a wrap; rejects when it is for another key or `info`. */
  readonly unwrap: (wrap: Bytes, ephemeral: Bytes, info: string) => Promise<Bytes>
}

/** Derives a node's reading key from its wallet's 32-byte private key. */
export async function readingKeyOf(walletKey: Uint8Array): Promise<ReadingKey> {
  const seed = await hkdfSha256(walletKey, new Uint8Array(0), 'svc-reading-v1', 32)
  const pair = await deriveKeyPair(seed)
  return {
    publicKey: toBase64Url(await publicBytes(pair)),
    unwrap: async (wrap, ephemeral, info) => {
      const parts = { recipientKey: pair, enc: ephemeral.buffer, info: utf8(info) }
      const context = await suite.createRecipientContext(parts)
      return new Uint8Array(await context.open(wrap.buffer))
    },
  }
}

/** Wraps a secret for a reading key: the same bytes for the same ephemeral pair. Rejects for a key of small order. */
export async function wrapFor(
  publicKey: string,
  secret: Bytes,
  ephemeral: KeyPair,
  info: string,
): Promise<Bytes> {
  const recipientPublicKey = await suite.kem.deserializePublicKey(fromBase64Url(publicKey).buffer)
  const parts = { recipientPublicKey, ekm: ephemeral, info: utf8(info) }
  const context = await suite.createSenderContext(parts)
  return new Uint8Array(await context.seal(secret.buffer))
}

/** False for a reading key that nothing can be wrapped for. */
export const canWrapFor = async (publicKey: string): Promise<boolean> => {
  const ephemeral = await suite.kem.generateKeyPair()
  return wrapFor(publicKey, new Uint8Array(32), ephemeral, 'svc-trial').then(
    () => true,
    () => false,
  )
}

const types = {
  Reading: [
    { name: 'node', type: 'address' },
    { name: 'key', type: 'bytes32' },
    { name: 'chainId', type: 'uint256' },
  ],
} as const

/** Whose reading key it is, and on which chain; `key` in base64url. */
export type Reading = {
  readonly node: Address
  readonly key: string
  readonly chainId: number
}

/** The EIP-712 typed data that a node's wallet signs for its reading key. */
export const readingTypedData = ({ node, key, chainId }: Reading) =>
  ({
    domain: { name: 'svc-reading', version: '1', chainId },
    types,
    primaryType: 'Reading',
    message: { node, key: bytesToHex(fromBase64Url(key)), chainId: BigInt(chainId) },
  }) as const

// Lists name the same nodes again and again, and a recovery takes a millisecond.
const known = createKnown()

/** True when the node's own wallet signed its reading key for this chain. A process checks a signature once. */
export async function verifyReading(
  node: Address,
  chainId: number,
  { key, signature }: ReadingGrant,
  recover?: RecoverKey,
): Promise<boolean> {
  const name = [chainId, node, key, signature].join(' ')
  if (known.has(name)) return true
  const hash = hashTypedData(readingTypedData({ node, key, chainId }))
  const isSigned = await isSignedByWallet(node, hash, hexToBytes(signature), recover)
  if (isSigned) known.add(name)
  return isSigned
}
