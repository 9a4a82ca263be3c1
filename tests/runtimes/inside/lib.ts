import { privateKeyToAccount } from 'viem/accounts'
import { z } from 'zod'
import { canonicalJson } from '../../../lib/canonical-json.ts'
import { cidOf } from '../../../lib/cid.ts'
import type { Address } from '../../../lib/codecs.ts'
import { comparators } from '../../../lib/comparators/all.ts'
import { keccak256Hex, sha256Hex, utf8 } from '../../../lib/digest.ts'
import { drawNodes } from '../../../lib/draw.ts'
import { parseSignature } from '../../../lib/http-signature.ts'
import { receiptHash, verifyReceipt } from '../../../lib/receipt.ts'
import {
  type RequestSigner,
  signatureLabels,
  signedHeaders,
  verifyNodeSignature,
  verifyWalletSignature,
} from '../../../lib/request-signature.ts'
import { Receipt } from '../../../lib/schemas/receipt.ts'
import { AgreementRule } from '../../../lib/schemas/terms.ts'
import { newSealingKey, seal, unseal } from '../../../lib/sealing.ts'
import { signingKeyFromSeed, verifySignature } from '../../../lib/session-key.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { systemRandom } from '../../../lib/system.ts'
import { aHash, anAddress } from '../../branded.ts'
import { makeReceipt } from '../../lib/make-receipt.ts'
import { type Case, check, once, same } from './case.ts'

const seed = (byte: number) => new Uint8Array(32).fill(byte)
const sentence =
  'The sky is blue because air scatters the short waves of sunlight, which are blue, far more than the long ones, so that blue reaches the eye from every side while red goes straight on. At dusk the light has a longer way through the air, most of the blue is lost on it, and what is left looks orange or red.'
const almost = sentence.replace('far more than', 'much more than')

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

const receiptOf = {
  exact: once(() => makeReceipt('exact', [sentence, sentence, sentence])),
  'similar/2': once(() => makeReceipt('similar/2', [sentence, sentence, almost])),
} as const

/** What clients, nodes and ICLs must agree on to the byte: the fixed values are the same on every runtime. */
export const libCases: readonly Case[] = [
  {
    name: "a wallet's signature of a request holds, and not for another address",
    run: async () => {
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
    },
  },
  {
    name: "a node's signature of a request holds, and not for another address or key",
    run: async () => {
      const key = await signingKeyFromSeed(seed(21))
      const other = await signingKeyFromSeed(seed(22))
      const address: Address = anAddress(`0x${'a1'.repeat(20)}`)
      const { good, bad } = await signedBy({ kind: 'node', address, key })
      check(await verifyNodeSignature(key.publicKey, good), 'it does not hold')
      check(!(await verifyNodeSignature(key.publicKey, bad)), 'it holds for another address')
      check(!(await verifyNodeSignature(other.publicKey, good)), 'it holds for another key')
    },
  },
  {
    name: 'an Ed25519 signature is the same everywhere',
    run: async () => {
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
    },
  },
  {
    name: 'canonical JSON has one spelling',
    run: async () => {
      const value = { b: [1e21, 0.1, -0, 1e-7], a: '\u20ac\n"\u{1f600}', é: null, A: { z: true } }
      same(
        'the text',
        new TextDecoder().decode(canonicalJson(value)),
        '{"A":{"z":true},"a":"€\\n\\"😀","b":[1e+21,0.1,0,1e-7],"é":null}',
      )
    },
  },
  {
    name: 'a CID is that of its bytes',
    run: async () => {
      same(
        'the CID',
        await cidOf(utf8('blob')),
        'bafkreih2fsgmj4ubo2565vfxg3pvngruy6ong4r6t3cc7ftuwtkgvrvyxa',
      )
    },
  },
  {
    name: 'a sealed text opens, and not for another purpose or with a changed byte',
    run: async () => {
      const key = newSealingKey(systemRandom)
      const purpose = { kind: 'prompt', client: anAddress(`0x${'1'.repeat(40)}`) } as const
      const blob = await seal(sentence, key, purpose, systemRandom)
      same('the text', await unseal(blob, key, purpose), sentence)
      const other = { kind: 'prompt', client: anAddress(`0x${'2'.repeat(40)}`) } as const
      await unreadable(unseal(blob, key, other))
      await unreadable(unseal(blob.with(20, (blob[20] ?? 0) ^ 1), key, purpose))
    },
  },
  {
    name: 'a draw chooses the nodes that everybody computes',
    run: async () => {
      const pool = ['1', '2', '3', '4', '5'].map((digit) => ({
        address: anAddress(`0x${digit.repeat(40)}`) as Address,
        weight: 100,
      }))
      const drawn = drawNodes(keccak256Hex(utf8('fixed')), pool, 3)
      same('the list', drawn.map((address) => address[2]).join(' '), '4 1 5')
    },
  },
  ...(['exact', 'similar/2'] as const).flatMap((comparator) => [
    {
      name: `evidence of ${comparator} is the same everywhere, and is compared alike`,
      run: async () => {
        const evidenceOf = (text: string, byte = 3) =>
          comparators[comparator].evidenceOf({ text, prompt: 'Why?', key: seed(byte) })
        const evidence = await evidenceOf(sentence)
        same('the evidence', await sha256Hex(canonicalJson(evidence)), evidenceHashes[comparator])
        const { compare } = comparators[comparator]
        same('the same text', compare(evidence, await evidenceOf(sentence)), 'match')
        const expected = comparator === 'exact' ? 'no-match' : 'match'
        same('almost the same text', compare(evidence, await evidenceOf(almost)), expected)
        const other = await evidenceOf('I do not know, and nobody else knows it either.')
        check(compare(evidence, other) !== 'match', 'another text matches')
      },
    },
    {
      name: `a receipt with evidence of ${comparator} holds without a network, and not when it is changed`,
      run: async () => {
        const { receipt, iclKey } = await receiptOf[comparator]()
        same('its hash', await receiptHash(receipt), receiptHashes[comparator])
        const again = Receipt.parse(JSON.parse(JSON.stringify(z.encode(Receipt, receipt))))
        await verifyReceipt(again, { iclKeys: [iclKey] })
        const changed = { ...again, prompt_cid: again.delivery.body.output_cid }
        await failing('receipt-invalid', verifyReceipt(changed, { iclKeys: [iclKey] }))
      },
    },
  ]),
  ...AgreementRule.options.map(
    (rule): Case => ({
      name: `a receipt by ${rule}, with a joiner, dissent and a turn that failed, is decided again without a network`,
      run: async () => {
        const texts = {
          three: ['yes', 'no', 'yes', 'yes'],
          'any-two': ['one', 'two', 'three', 'two'],
          majority: ['yes', 'no', 'yes', 'yes'],
        }[rule]
        const failed = ['never-delivered'] as const
        const { receipt, iclKey } = await makeReceipt('exact', texts, { rule, failed })
        await verifyReceipt(receipt, { iclKeys: [iclKey] })
        const [, ...others] = receipt.answers
        const changed = { ...receipt, answers: others }
        await failing('receipt-invalid', verifyReceipt(changed, { iclKeys: [iclKey] }))
      },
    }),
  ),
]

const evidenceHashes = {
  exact: aHash('0x833e3164821203cd0cd9932df9d94f573885eaf6bfce8eb0332592d428cab01f'),
  'similar/2': aHash('0x3d4ac701d1f5befa66263a39256eff54543ea3a7b58885fd084e2894d1361a38'),
}
const receiptHashes = {
  exact: aHash('0xa3230db4095fece4755e5af633fba85b786d7d548991907bc5d7d1ebb848349b'),
  'similar/2': aHash('0x5759344f524ede98080cb6ce988f033b10807dc5bc13eb90a503a9631c444420'),
}

const unreadable = (call: Promise<unknown>) => failing('blob-unreadable', call)

async function failing(code: string, call: Promise<unknown>): Promise<void> {
  try {
    await call
  } catch (error) {
    return same('the error', error instanceof SvcError ? error.code : String(error), code)
  }
  throw new Error(`it passes instead of failing as ${code}`)
}
