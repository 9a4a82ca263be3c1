import { privateKeyToAccount } from 'viem/accounts'
import { attestationDigest, sessionProofBytes } from '../../../lib/attestation.ts'
import { Address, SessionPublicKey, WalletSignature } from '../../../lib/codecs.ts'
import { hmacSha256, toBase64Url, utf8 } from '../../../lib/digest.ts'
import { parseSignature } from '../../../lib/http-signature.ts'
import {
  signedHeaders,
  verifyMac,
  verifyNodeSignature,
  verifyWalletSignature,
} from '../../../lib/request-signature.ts'
import { readingKeyOf } from '../../../lib/sealing/reading-key.ts'
import { openRequestKey, sealRequestKey } from '../../../lib/sealing/request-key.ts'
import { joinKey, seal, splitKey, textOf, unseal } from '../../../lib/sealing.ts'
import { type Session, sessionTypedData, verifySession } from '../../../lib/session-grant.ts'
import { signingKeyFromSeed } from '../../../lib/session-key.ts'
import { type Case, check, same } from '../../runtimes/inside/case.ts'
import attestation from '../attestation.json' with { type: 'json' }
import grants from '../grants.json' with { type: 'json' }
import requests from '../requests.json' with { type: 'json' }
import sealing from '../sealing.json' with { type: 'json' }
import { caseOf, codeOf, unhex } from './case-of.ts'

const sealingKey = unhex(sealing.halves.key)

type SignedRequest = (typeof requests.requests)[number]

/** The request as its receiver has it, at another address where one is given. */
function received({ kind, method, headers, ...rest }: SignedRequest, elsewhere?: string) {
  const at = new URL(rest.url)
  if (elsewhere !== undefined) at.host = elsewhere
  const hasBody = 'body' in rest && rest.body !== undefined
  const request = { method, url: at, headers: new Headers(Object.entries(headers)), hasBody }
  const parsed = parseSignature(request, kind === 'wallet' ? 'eth' : 'node')
  if (!parsed) throw new Error('there is no signature')
  const { node, mac } = requests.signers
  const holds =
    kind === 'wallet'
      ? verifyWalletSignature(Address.parse(rest.address), parsed)
      : kind === 'mac'
        ? verifyMac(unhex(mac.requestKey), parsed)
        : verifyNodeSignature(node.publicKey, parsed)
  return { parsed, holds }
}

async function signerOf(kind: string) {
  const { wallet, node, mac } = requests.signers
  if (kind !== 'wallet') {
    const key = await signingKeyFromSeed(unhex(node.seed))
    const requestKey = kind === 'mac' ? unhex(mac.requestKey) : undefined
    return { kind: 'node', address: Address.parse(node.address), key, requestKey } as const
  }
  const account = privateKeyToAccount(wallet.privateKey as `0x${string}`)
  const address = Address.parse(wallet.address)
  const signMessage = ({ raw }: { raw: `0x${string}` }) => account.signMessage({ message: { raw } })
  return { kind: 'wallet', address, chainId: wallet.chainId, signMessage } as const
}

/** Sealed blobs, grants, attestation, signed requests. */
export const secretCases: readonly Case[] = [
  caseOf('halves of a key', [sealing.halves], ({ key, high, low }) => {
    const halves = splitKey(unhex(key))
    same('the halves', `${halves.high} ${halves.low}`, `${high} ${low}`)
    same('the key', toBase64Url(joinKey(halves)), toBase64Url(unhex(key)))
  }),
  caseOf('sealed blobs', sealing.blobs, async ({ label, iv, text, blob }) => {
    same('the text', textOf(await unseal(unhex(blob), sealingKey, label)), text)
    const made = await seal(utf8(text), sealingKey, label, { bytes: () => unhex(iv) })
    same('the blob', toBase64Url(made), toBase64Url(unhex(blob)))
  }),
  caseOf('blobs that do not open', sealing.unreadable, async ({ label, blob }) => {
    const code = await codeOf(unseal(unhex(blob), sealingKey, label))
    same('the error', code, 'blob-unreadable')
  }),
  caseOf('session keys', grants.keys, async ({ seed, publicKey, thumbprint }) => {
    const key = await signingKeyFromSeed(unhex(seed))
    same('the key', `${key.publicKey} ${key.thumbprint}`, `${publicKey} ${thumbprint}`)
    check(SessionPublicKey.safeParse(publicKey).success, 'it is refused')
  }),
  caseOf('grants', grants.grants, async ({ session, signature, holds, ...rest }) => {
    const of = session as Session
    same('it', `${await verifySession(of, signature as `0x${string}`)}`, `${holds}`)
    if (!('privateKey' in rest)) return
    const account = privateKeyToAccount(rest.privateKey as `0x${string}`)
    same('the signature', await account.signTypedData(sessionTypedData(of)), signature)
  }),
  caseOf('spellings of a signature', grants.spellings, ({ signature, isOne }) => {
    check(WalletSignature.safeParse(signature).success === isOne, 'it is taken for another')
  }),
  caseOf('attestations', attestation.bindings, async (vector) => {
    const { activationSecret, digest, seed, proof, ...binding } = vector
    const made = await attestationDigest({
      ...binding,
      address: Address.parse(binding.address),
      backend: binding.backend as 'mock' | 'tpm',
      activationSecret: unhex(activationSecret),
    })
    same('the digest', toBase64Url(made), toBase64Url(unhex(digest)))
    const key = await signingKeyFromSeed(unhex(seed))
    same('the proof', await key.sign(sessionProofBytes(made)), proof)
    if (vector.mockKey === undefined) return
    same('the HMAC', toBase64Url(await hmacSha256(unhex(vector.mockKey), made)), vector.hmac ?? '')
  }),
  caseOf('signed requests', requests.requests, async (request) => {
    const { parsed, holds } = received(request)
    same('the base', new TextDecoder().decode(parsed.base), request.base)
    check(await holds, 'it does not hold')
    check(!(await received(request, 'other.test').holds), 'it holds for another address')
  }),
  caseOf('sealed request keys', requests.sealedKeys, async ({ readingWallet, sealed, ...rest }) => {
    const readingKey = await readingKeyOf(unhex(readingWallet))
    const session = { ...rest.session, address: Address.parse(rest.session.address) }
    const opened = await openRequestKey(sealed, readingKey, session)
    same('the key', toBase64Url(opened), toBase64Url(unhex(rest.requestKey)))
    const seed = { bytes: () => unhex(rest.ephemeralSeed) }
    same('the seal', await sealRequestKey(opened, readingKey.publicKey, session, seed), sealed)
    const code = await codeOf(openRequestKey(sealed, readingKey, { ...session, chainId: 1 }))
    same('the error for another session', code, 'request-key-unreadable')
  }),
  caseOf('requests that are signed again', requests.requests, async (request) => {
    const { method, headers, kind } = request
    const body = 'body' in request && request.body !== undefined ? utf8(request.body) : undefined
    const moment = { created: requests.created, nonce: unhex(requests.signers.wallet.nonce) }
    const asked = { method, url: new URL(request.url), headers: new Headers(), body }
    const made = await signedHeaders(asked, await signerOf(kind), moment)
    for (const [name, value] of Object.entries(headers)) same(name, made.get(name) ?? '', value)
  }),
]
