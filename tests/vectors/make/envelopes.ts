import { privateKeyToAccount } from 'viem/accounts'
import { toBase64Url, utf8 } from '../../../lib/digest.ts'
import { promptOfText, writePrompt } from '../../../lib/prompt.ts'
import { type EnvelopeOf, openPromptText, sealPromptText } from '../../../lib/sealing/envelope.ts'
import {
  clientSecretFrom,
  clientSecretTypedData,
  evidenceKeyOf,
  jobSecretOf,
  outputKeyOf,
  shownKeyOf,
} from '../../../lib/sealing/job-secret.ts'
import { sealOutput } from '../../../lib/sealing/output.ts'
import { sealShown } from '../../../lib/sealing/shown.ts'
import { seal, unseal } from '../../../lib/sealing.ts'
import { aJobId, anAddress } from '../../branded.ts'
import { grantFor, grantOf, readerOf } from '../../sample-reading.ts'
import { fill, hex } from './bytes.ts'

const walletKey = (byte: number): `0x${string}` => `0x${byte.toString(16).repeat(32)}`
const addressOf = (key: `0x${string}`) => anAddress(privateKeyToAccount(key).address.toLowerCase())

const client = walletKey(0xc1)
const nodes = [0x51, 0x52, 0x53].map(walletKey)
const icl = { origin: 'https://icl.test', chainId: 31_337 }
const jobId = aJobId(`0x${'ab'.repeat(32)}`)
const fence = 7
const promptKey = fill(0x0a)
const outputKey = fill(0x0b)
const iv = { bytes: (length: number) => fill(0x0c, length) }
const text = writePrompt(promptOfText('Who keeps the light?'))

const of: EnvelopeOf = {
  chainId: icl.chainId,
  store: anAddress(`0x${'5a'.repeat(20)}`),
  client: addressOf(client),
  highHandle: 2n ** 255n + 5n,
  lowHandle: 1_000n,
  list: nodes.map(addressOf),
}

const changed = (bytes: Uint8Array<ArrayBuffer>, at: number) =>
  bytes.with(at, (bytes[at] ?? 0) ^ 1) as Uint8Array<ArrayBuffer>

/** Prompts and answers that are sealed twice, an answer for other nodes, and envelopes that a node refuses. */
export async function envelopeVectors(): Promise<object> {
  const signature = await privateKeyToAccount(client).signTypedData(clientSecretTypedData(icl))
  const clientSecret = await clientSecretFrom(signature)
  const secret = await jobSecretOf(clientSecret, of)
  const grants = await Promise.all(nodes.map((key) => grantOf(key)))
  const envelopeWith = (changes: Partial<Parameters<typeof sealPromptText>[0]>) =>
    sealPromptText({ ...{ text, key: promptKey, secret, of, grants }, ...changes }, iv)
  const good = await envelopeWith({})
  const outer = `svc-envelope-v1:${of.client}`
  const opened = await unseal(good, promptKey, outer)
  const resealed = (envelope: Uint8Array<ArrayBuffer>) => seal(envelope, promptKey, outer, iv)
  const [a, b, c] = grants
  if (!a || !b || !c) throw new Error('there are three nodes')
  const stranger = await grantOf(walletKey(0x99))
  const weak = await grantFor(nodes[2] ?? '0x', toBase64Url(fill(0)))
  const member = 66 + 145
  const invalid: readonly (readonly [string, Uint8Array])[] = [
    ['a stranger in place of the last node', await envelopeWith({ grants: [a, b, stranger] })],
    [
      'a key that its node did not sign',
      await envelopeWith({ grants: [a, { ...b, key: c.key }, c] }),
    ],
    ['two nodes in the other order', await envelopeWith({ grants: [a, c, b] })],
    [
      'a node less',
      await envelopeWith({ grants: [a, b], of: { ...of, list: of.list.slice(0, 2) } }),
    ],
    ['another list', await envelopeWith({ of: { ...of, list: of.list.toReversed() } })],
    ['wraps for another chain', await envelopeWith({ of: { ...of, chainId: 1 } })],
    ['wraps for another store', await envelopeWith({ of: { ...of, store: of.client } })],
    ['wraps for another key', await envelopeWith({ of: { ...of, lowHandle: 1_001n } })],
    ['another version', await resealed(opened.with(0, 1))],
    ['another check of the secret', await resealed(changed(opened, 2))],
    ['another ephemeral key', await resealed(changed(opened, 34))],
    ['another signature of the second node', await resealed(changed(opened, member + 40))],
    ['another wrap for the second node', await resealed(changed(opened, member + 100))],
    ['another inner seal', await resealed(changed(opened, opened.length - 1))],
    ['no inner seal', await resealed(opened.slice(0, 66 + 3 * 145))],
    ['a prompt without an envelope', await seal(utf8(text), promptKey, outer, iv)],
  ]
  for (const [name, blob] of invalid) await mustFail(name, blob)
  return {
    about:
      'A client derives its secret from `signature` of EIP-712 `typed`, and that of a job from it and the handles. `blob` opens under `promptKey` and, as each of the `nodes`, by its wallet. The envelope `under` the outer seal has no randomness but the IVs, which are all 0x0c. `shown` is the answer of a node to the other nodes of its job. Each of `invalid` opens under `promptKey`, and the first node refuses it as `envelope-invalid`. `weak` is a reading key of small order that its wallet signed.',
    client: {
      privateKey: client,
      ...icl,
      typed: clientSecretTypedData(icl),
      signature,
      secret: hex(clientSecret),
    },
    of: { ...of, highHandle: `${of.highHandle}`, lowHandle: `${of.lowHandle}` },
    keys: { promptKey: hex(promptKey), secret: hex(secret) },
    nodes: await Promise.all(
      nodes.map(async (privateKey, at) => ({
        ...{ privateKey, address: of.list[at], ...(await grantOf(privateKey)) },
      })),
    ),
    weak,
    prompt: { text, blob: hex(good), under: hex(opened) },
    output: {
      ...{ jobId, fence, outputKey: hex(outputKey), text: 'The keeper.' },
      innerKey: hex(await outputKeyOf(secret, jobId, fence)),
      blob: hex(await sealOutput('The keeper.', { jobId, fence, key: outputKey, secret }, iv)),
    },
    shown: {
      ...{ jobId, fence, text: 'The keeper.', key: hex(await shownKeyOf(secret, jobId, fence)) },
      blob: hex(await sealShown('The keeper.', { jobId, fence, secret }, iv)),
    },
    evidenceKey: hex(await evidenceKeyOf(secret, jobId)),
    invalid: invalid.map(([name, blob]) => ({ name, blob: hex(blob) })),
  }
}

async function mustFail(name: string, blob: Uint8Array): Promise<void> {
  const readingKey = await readerOf(nodes[0] ?? '0x')
  const error = await openPromptText(blob, { key: promptKey, of, position: 0, readingKey }).then(
    () => undefined,
    (refused: unknown) => refused as { code?: string },
  )
  if (error?.code !== 'envelope-invalid') throw new Error(`${name} is ${error?.code ?? 'taken'}`)
}
