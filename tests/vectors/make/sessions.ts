import { hashTypedData, keccak256, stringToHex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { attestationDigest, sessionProofBytes } from '../../../lib/attestation.ts'
import type { Address } from '../../../lib/codecs.ts'
import { hmacSha256, toBase64Url } from '../../../lib/digest.ts'
import { type Session, sessionTypedData } from '../../../lib/session-grant.ts'
import { signingKeyFromSeed } from '../../../lib/session-key.ts'
import { fill, hex } from './bytes.ts'

const privateKey = keccak256(stringToHex('n1'))
const account = privateKeyToAccount(privateKey)
const address = account.address.toLowerCase() as Address
const curveOrder = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

/** The same signature with the upper s. */
function malleated(signature: string): string {
  const s = curveOrder - BigInt(`0x${signature.slice(66, 130)}`)
  const v = signature.endsWith('1b') ? '1c' : '1b'
  return `${signature.slice(0, 66)}${s.toString(16).padStart(64, '0')}${v}`
}

/** Grants of session keys by wallets (EIP-712). */
export async function grantVectors(): Promise<object> {
  const { publicKey, thumbprint } = await signingKeyFromSeed(fill(21))
  const session: Session = {
    ...{ address, key: publicKey, iclOrigin: 'https://icl.test' },
    ...{ chainId: 31_337, notAfter: 1_800_086_400 },
  }
  const signature = await account.signTypedData(sessionTypedData(session))
  const changed: [string, Partial<Session>][] = [
    ['of another wallet', { address: `0x${'a1'.repeat(20)}` as Address }],
    ['of another key', { key: toBase64Url(fill(5)) }],
    ['at another ICL', { iclOrigin: 'https://icl.test/' }],
    ['on another chain', { chainId: 1 }],
    ['until later', { notAfter: session.notAfter + 1 }],
  ]
  return {
    about:
      'A wallet signs EIP-712 typed data: domain {name "svc-session", version "1", chainId}, type Session(address address,bytes32 key,string iclOrigin,uint256 chainId,uint64 notAfter).',
    keys: [{ seed: hex(fill(21)), publicKey, thumbprint }],
    grants: [
      {
        name: 'a grant',
        privateKey,
        session,
        digest: hashTypedData(sessionTypedData(session)),
        signature,
        holds: true,
      },
      ...changed.map(([name, change]) => {
        const other = { ...session, ...change }
        const digest = hashTypedData(sessionTypedData(other))
        return { name: `the same ${name}`, session: other, digest, signature, holds: false }
      }),
    ],
    spellings: [
      { name: 'the lower s', signature, isOne: true },
      { name: 'the upper s', signature: malleated(signature), isOne: false },
      { name: 'v as 0 or 1', signature: `${signature.slice(0, -2)}00`, isOne: false },
      { name: 'upper case', signature: `0x${signature.slice(2).toUpperCase()}`, isOne: false },
    ],
  }
}

/** What an attestation binds together, and its proofs with the mock backend. */
export async function attestationVectors(): Promise<object> {
  const key = await signingKeyFromSeed(fill(21))
  const mockKey = fill(0x6d)
  const bindings = [
    { backend: 'mock' as const, activationSecret: new Uint8Array() },
    { backend: 'tpm' as const, activationSecret: fill(0x5e) },
  ]
  return {
    about:
      'The digest is SHA-256 over "svc-attest-v1", origin, chain id in decimal, backend, address, nonce as text, activation secret, raw public key, each after its length as 16 bits. `proof` is signed by the session key over "svc-session-proof-v1" and the digest, `hmac` with the mock key over the digest.',
    bindings: await Promise.all(
      bindings.map(async ({ backend, activationSecret }) => {
        const binding = {
          ...{ origin: 'https://icl.test', chainId: 31_337, backend, address },
          nonce: 'bm9uY2U.dGFn',
          sessionPublicKey: key.publicKey,
        }
        const digest = await attestationDigest({ ...binding, activationSecret })
        return {
          ...binding,
          activationSecret: hex(activationSecret),
          digest: hex(digest),
          seed: hex(fill(21)),
          proof: await key.sign(sessionProofBytes(digest)),
          ...(backend === 'mock' && {
            mockKey: hex(mockKey),
            hmac: toBase64Url(await hmacSha256(mockKey, digest)),
          }),
        }
      }),
    ),
  }
}
