import { privateKeyToAccount } from 'viem/accounts'
import type { Address } from '../../../lib/codecs.ts'
import { utf8 } from '../../../lib/digest.ts'
import { parseSignature } from '../../../lib/http-signature.ts'
import {
  type RequestSigner,
  signatureLabels,
  signedHeaders,
} from '../../../lib/request-signature.ts'
import { signingKeyFromSeed } from '../../../lib/session-key.ts'
import { anAddress } from '../../branded.ts'
import { fill, hex } from './bytes.ts'

const privateKey = `0x${'11'.repeat(32)}` as const
const created = 1_800_000_000
const nonce = fill(5, 16)

const requests = [
  { method: 'GET', url: 'https://icl.test/v1/inference?status=open&x=1' },
  { method: 'GET', url: 'https://icl.test:8443/v1/inference/0xab' },
  { method: 'POST', url: 'https://icl.test/internal/heartbeat', body: '{"a":"\u00e9"}' },
] as const

/** Signed requests of wallets (ERC-8128) and of nodes (RFC 9421 with Ed25519). */
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
      ...{ kind: signer.kind, address: signer.address, ...request },
      headers: Object.fromEntries(headers),
      base: new TextDecoder().decode(parsed.base),
    }
  }
  return {
    about:
      '`base` is what is signed (RFC 9421). Signatures of both kinds are deterministic. A signature must not hold when method, authority, path, query or digest is another.',
    signers: {
      wallet: { privateKey, address: wallet.address, chainId: 31_337, nonce: hex(nonce) },
      node: { seed: hex(fill(21)), address: node.address, publicKey: key.publicKey },
    },
    created,
    requests: [
      ...(await Promise.all(requests.map((request) => vector(wallet, request)))),
      ...(await Promise.all(requests.map((request) => vector(node, request)))),
    ],
  }
}
