import { privateKeyToAccount } from 'viem/accounts'
import { canonicalJson } from '../../../lib/canonical-json.ts'
import { cidOf } from '../../../lib/cid.ts'
import type { Address } from '../../../lib/codecs.ts'
import { utf8 } from '../../../lib/digest.ts'
import { parseSignature } from '../../../lib/http-signature.ts'
import {
  type RequestSigner,
  signatureLabels,
  signedHeaders,
  verifyNodeSignature,
  verifyWalletSignature,
} from '../../../lib/request-signature.ts'
import { newSealingKey, seal, textOf, unseal } from '../../../lib/sealing.ts'
import { signingKeyFromSeed, verifySignature } from '../../../lib/session-key.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { systemRandom } from '../../../lib/system.ts'
import { anAddress } from '../../branded.ts'
import { type Case, check, same, that } from './case.ts'

const seed = (byte: number) => new Uint8Array(32).fill(byte)
const sentence =
  'The sky is blue because air scatters the short waves of sunlight, which are blue, far more than the long ones, so that blue reaches the eye from every side while red goes straight on. At dusk the light has a longer way through the air, most of the blue is lost on it, and what is left looks orange or red.'

const body = utf8('{"a":1}')
const url = new URL('https://icl.test/v1/inference?x=1')

/** The headers of a request that is signed, parsed as its receiver does. */
async function signedBy(signer: RequestSigner) {
  const label = signatureLabels[signer.kind]
  const created = 1_800_000_000
  const headers = await signedHeaders(
    { method: 'POST', url, headers: new Headers(), body },
    signer,
    { created, nonce: seed(5).slice(0, 16) },
  )
  const request = { method: 'POST', url, headers, hasBody: true }
  const elsewhere = { ...request, url: new URL('https://other.test/v1/inference?x=1') }
  const [good, bad] = [request, elsewhere].map((one) => parseSignature(one, label))
  if (!good || !bad) throw new Error('the signature cannot be parsed')
  return { good, bad }
}

/** What clients, nodes and ICLs must agree on to the byte: the fixed values are the same on every runtime. */
export const libCases: readonly Case[] = [
  that("a wallet's signature of a request holds, and not for another address", async () => {
    const account = privateKeyToAccount(`0x${'11'.repeat(32)}`)
    const address = account.address.toLowerCase() as Address
    const { good, bad } = await signedBy({
      kind: 'wallet',
      address,
      chainId: 31_337,
      signMessage: ({ raw }) => account.signMessage({ message: { raw } }),
    })
    check(await verifyWalletSignature(address, good), 'it does not hold')
    check(!(await verifyWalletSignature(address, bad)), 'it holds for another address')
  }),
  that("a node's signature of a request holds, and not for another address or key", async () => {
    const key = await signingKeyFromSeed(seed(21))
    const other = await signingKeyFromSeed(seed(22))
    const address: Address = anAddress(`0x${'a1'.repeat(20)}`)
    const { good, bad } = await signedBy({ kind: 'node', address, key })
    check(await verifyNodeSignature(key.publicKey, good), 'it does not hold')
    check(!(await verifyNodeSignature(key.publicKey, bad)), 'it holds for another address')
    check(!(await verifyNodeSignature(other.publicKey, good)), 'it holds for another key')
  }),
  that('an Ed25519 signature is the same everywhere', async () => {
    const key = await signingKeyFromSeed(seed(7))
    const signature = await key.sign(utf8('the same everywhere'))
    same(
      'the signature',
      signature,
      'N_N0dHczlTpvKLuojkmXPeBPTAzatyPUd3mXfJywvOP7Cl7c6bWfPMMdEskhWHb4P7slML2xLCfhlYbKTn3SBg',
    )
    check(
      await verifySignature(key.publicKey, signature, utf8('the same everywhere')),
      'it does not hold',
    )
  }),
  that('canonical JSON has one spelling', async () => {
    const value = { b: [1e21, 0.1, -0, 1e-7], a: '\u20ac\n"\u{1f600}', é: null, A: { z: true } }
    same(
      'the text',
      new TextDecoder().decode(canonicalJson(value)),
      '{"A":{"z":true},"a":"€\\n\\"😀","b":[1e+21,0.1,0,1e-7],"é":null}',
    )
  }),
  that('a CID is that of its bytes', async () => {
    same(
      'the CID',
      await cidOf(utf8('blob')),
      'bafkreih2fsgmj4ubo2565vfxg3pvngruy6ong4r6t3cc7ftuwtkgvrvyxa',
    )
  }),
  that('a sealed text opens, and not under another label or with a changed byte', async () => {
    const key = newSealingKey(systemRandom)
    const blob = await seal(utf8(sentence), key, 'one', systemRandom)
    same('the text', textOf(await unseal(blob, key, 'one')), sentence)
    await unreadable(unseal(blob, key, 'two'))
    await unreadable(unseal(blob.with(20, (blob[20] ?? 0) ^ 1), key, 'one'))
  }),
]

const unreadable = (call: Promise<unknown>) => failing('blob-unreadable', call)

async function failing(code: string, call: Promise<unknown>): Promise<void> {
  try {
    await call
  } catch (error) {
    return same('the error', error instanceof SvcError ? error.code : String(error), code)
  }
  throw new Error(`it passes instead of failing as ${code}`)
}
