import { bytesToHex, type Hex, hashMessage, hexToBytes } from 'viem'
import { Address } from './codecs.ts'
import { equalBytes, fromBase64Url, hmacSha256, toBase64Url } from './digest.ts'
import { contentDigest, type ParsedSignature, signatureInput } from './http-signature.ts'
import { type SigningKey, verifySignature } from './session-key.ts'
import { isSignedByWallet, type RecoverKey } from './wallet-signature.ts'

/** Signs requests with a wallet: RFC 9421 in the ERC-8128 profile (EIP-191 over the signature base, a nonce, 60 s). */
export type WalletSigner = {
  readonly kind: 'wallet'
  readonly address: Address
  readonly chainId: number
  readonly signMessage: (message: { raw: Hex }) => Promise<Hex>
  /** Milliseconds that a user may take to approve a signature; none when left out. */
  readonly signingMs?: number
}

/** Signs requests for a node: RFC 9421 with the request key of its session (HMAC), or with the session key (Ed25519) while it has none. */
export type NodeSigner = {
  readonly kind: 'node'
  readonly address: Address
  readonly key: SigningKey
  /** Each attestation sets it. */
  requestKey?: Uint8Array<ArrayBuffer> | undefined
}

export type RequestSigner = WalletSigner | NodeSigner

/** The labels of the two kinds of signatures in the headers. */
export const signatureLabels = { wallet: 'eth', node: 'node' } as const

/** The `alg` of a signature by a session key, which need not name it. */
export const signatureAlgorithm = 'ed25519'

/** The `alg` of a MAC by a session's request key. */
export const macAlgorithm = 'hmac-sha256'

/** How long a wallet's signature is valid, in seconds. */
const walletSignatureSeconds = 60

/** The inputs of a signature: time in Unix seconds and 16 random bytes. */
export type SignatureMoment = { readonly created: number; readonly nonce: Uint8Array }

/** Returns the request's headers with a signature added. */
export async function signedHeaders(
  request: {
    readonly method: string
    readonly url: URL
    readonly headers: Headers
    readonly body?: Uint8Array<ArrayBuffer> | undefined
  },
  signer: RequestSigner,
  moment: SignatureMoment,
): Promise<Headers> {
  const headers = new Headers(request.headers)
  const hasBody = request.body !== undefined && request.body.length > 0
  if (hasBody && request.body) headers.set('content-digest', await contentDigest(request.body))
  const signable = { method: request.method, url: request.url, headers, hasBody }
  const { created } = moment
  if (signer.kind === 'wallet') {
    const { input, base } = signatureInput(signable, {
      created,
      expires: created + walletSignatureSeconds,
      nonce: toBase64Url(moment.nonce),
      keyid: walletKeyId(signer),
    })
    const signature = await signer.signMessage({ raw: bytesToHex(base) })
    setSignature(headers, signatureLabels.wallet, input, hexToBytes(signature))
  } else {
    const { key, requestKey } = signer
    const alg = requestKey && { alg: macAlgorithm }
    const { input, base } = signatureInput(signable, { created, keyid: nodeKeyId(signer), ...alg })
    const signature = requestKey
      ? await hmacSha256(requestKey, base)
      : fromBase64Url(await key.sign(base))
    setSignature(headers, signatureLabels.node, input, signature)
  }
  return headers
}

function setSignature(headers: Headers, label: string, input: string, signature: Uint8Array): void {
  headers.set('signature-input', `${label}=${input}`)
  headers.set('signature', `${label}=:${btoa(String.fromCharCode(...signature))}:`)
}

/** ERC-8128's key id of a wallet on a chain. */
const walletKeyId = (signer: Pick<WalletSigner, 'address' | 'chainId'>): string =>
  `erc8128:${signer.chainId}:${signer.address}`

/** The key id of a node's session. `alg` tells which of its two keys signed. */
export const nodeKeyId = (signer: NodeSigner): string =>
  `svc-node:${signer.address}:${signer.key.thumbprint}`

/** Parses ERC-8128's key id; undefined when it is not one. */
export function parseWalletKeyId(keyId: string): { address: Address; chainId: number } | undefined {
  const parts = /^erc8128:([1-9][0-9]{0,15}):(0x[0-9a-fA-F]{40})$/.exec(keyId)
  if (!parts?.[1] || !parts[2]) return undefined
  return { chainId: Number(parts[1]), address: Address.parse(parts[2]) }
}

/** Parses a node's key id; undefined when it is not one. */
export function parseNodeKeyId(
  keyId: string,
): { address: Address; thumbprint: string } | undefined {
  const parts = /^svc-node:(0x[0-9a-f]{40}):([A-Za-z0-9_-]{43})$/.exec(keyId)
  if (!parts?.[1] || !parts[2]) return undefined
  return { address: Address.parse(parts[1]), thumbprint: parts[2] }
}

/** True when the wallet signed. Recovers the account without a chain; `recover` as in `isSignedByWallet`. */
export const verifyWalletSignature = (
  address: Address,
  parsed: ParsedSignature,
  recover?: RecoverKey,
): Promise<boolean> =>
  isSignedByWallet(address, hashMessage({ raw: parsed.base }), parsed.signature, recover)

/** True when the session key signed. */
export const verifyNodeSignature = (publicKey: string, parsed: ParsedSignature): Promise<boolean> =>
  verifySignature(publicKey, parsed.signature, parsed.base)

/** True when the holder of a session's request key made the MAC. Compares in constant time. */
export const verifyMac = async (
  requestKey: Uint8Array,
  { base, signature }: ParsedSignature,
): Promise<boolean> => equalBytes(await hmacSha256(requestKey, base), signature)
