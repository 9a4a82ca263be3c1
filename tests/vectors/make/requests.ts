import { privateKeyToAccount } from 'viem/accounts'
import type { Address } from '../../../lib/codecs.ts'
import { utf8 } from '../../../lib/digest.ts'
import { parseSignature } from '../../../lib/http-signature.ts'
import {
  type RequestSigner,
  signatureLabels,
  signedHeaders,
} from '../../../lib/request-signature.ts'
import { sealRequestKey } from '../../../lib/sealing/request-key.ts'
import { signingKeyFromSeed } from '../../../lib/session-key.ts'
import { anAddress } from '../../branded.ts'
import { readerOf } from '../../sample-reading.ts'
import { fill, hex } from './bytes.ts'

const privateKey = `0x${'11'.repeat(32)}` as const
const created = 1_800_000_000
const nonce = fill(5, 16)

const requests = [
  { method: 'GET', url: 'https://icl.test/v1/inference?status=open&x=1' },
  { method: 'GET', url: 'https://icl.test:8443/v1/inference/0xab' },
  { method: 'POST', url: 'https://icl.test/internal/heartbeat', body: '{"a":"\u00e9"}' },
] as const

const requestKey = fill(23)
const readingWallet = `0x${'51'.repeat(32)}` as const

/** Signed requests of wallets (ERC-8128) and of nodes (RFC 9421 with Ed25519, and with HMAC), and a sealed request key. */
export async function requestVectors(): Promise<object> {
  const account = privateKeyToAccount(privateKey)
  const key = await signingKeyFromSeed(fill(21))
  const wallet: RequestSigner = {
    kind: 'wallet',
    address: account.address.toLowerCase() as Address,
    chainId: 31_337,
    signMessage: ({ raw }) => account.signMessage({ message: { raw } }),
  }
  const node: RequestSigner = { kind: 'node', address: anAddress(`0x${'a1'.repeat(20)}`), key }
  const withMac: RequestSigner = { ...node, requestKey }
  const session = {
    origin: 'https://icl.test',
    chainId: 31_337,
    address: node.address,
    thumbprint: key.thumbprint,
  }
  const { publicKey: readingKey } = await readerOf(readingWallet)
  const ephemeral = { bytes: () => fill(24) }
  const vector = async (signer: RequestSigner, request: (typeof requests)[number]) => {
    const { method, url } = request
    const body = 'body' in request ? utf8(request.body) : undefined
    const moment = { created, nonce }
    const asked = { method, url: new URL(url), headers: new Headers(), body }
    const headers = await signedHeaders(asked, signer, moment)
    const signable = { method, url: new URL(url), headers, hasBody: body !== undefined }
    const parsed = parseSignature(signable, signatureLabels[signer.kind])
    if (!parsed) throw new Error('the signature is not there')
    return {
      ...{ kind: signer === withMac ? 'mac' : signer.kind, address: signer.address, ...request },
      headers: Object.fromEntries(headers),
      base: new TextDecoder().decode(parsed.base),
    }
  }
  return {
    about:
      '`base` is what is signed (RFC 9421). Signatures of all kinds are deterministic (`mac`: a node with its request key). `sealedKeys` has that key as the ICL seals it. A signature must not hold when method, authority, path, query or digest is another.',
    signers: {
      wallet: { privateKey, address: wallet.address, chainId: 31_337, nonce: hex(nonce) },
      node: { seed: hex(fill(21)), address: node.address, publicKey: key.publicKey },
      mac: { requestKey: hex(requestKey) },
    },
    sealedKeys: [
      {
        readingWallet,
        ephemeralSeed: hex(ephemeral.bytes()),
        session,
        requestKey: hex(requestKey),
        sealed: await sealRequestKey(requestKey, readingKey, session, ephemeral),
      },
    ],
    created,
    requests: [
      ...(await Promise.all(requests.map((request) => vector(wallet, request)))),
      ...(await Promise.all(requests.map((request) => vector(node, request)))),
      ...(await Promise.all(requests.map((request) => vector(withMac, request)))),
    ],
  }
}
