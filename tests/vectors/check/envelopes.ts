import { privateKeyToAccount } from 'viem/accounts'
import { Address, JobId } from '../../../lib/codecs.ts'
import { toBase64Url } from '../../../lib/digest.ts'
import type { ReadingGrant } from '../../../lib/schemas/reading.ts'
import {
  type EnvelopeOf,
  openOwnPrompt,
  openPromptText,
  sealPromptText,
} from '../../../lib/sealing/envelope.ts'
import {
  clientSecretFrom,
  clientSecretTypedData,
  evidenceKeyOf,
  jobSecretOf,
  outputKeyOf,
  shownKeyOf,
} from '../../../lib/sealing/job-secret.ts'
import { openOutput, sealOutput } from '../../../lib/sealing/output.ts'
import {
  canWrapFor,
  readingKeyOf,
  readingTypedData,
  verifyReading,
} from '../../../lib/sealing/reading-key.ts'
import { openShown, sealShown } from '../../../lib/sealing/shown.ts'
import { unseal } from '../../../lib/sealing.ts'
import { type Case, check, same } from '../../runtimes/inside/case.ts'
import file from '../envelopes.json' with { type: 'json' }
import { caseOf, codeOf, unhex } from './case-of.ts'

const sameBytes = (what: string, made: Uint8Array, hex: string) =>
  same(what, toBase64Url(made), toBase64Url(unhex(hex)))

const of: EnvelopeOf = {
  chainId: file.of.chainId,
  store: Address.parse(file.of.store),
  client: Address.parse(file.of.client),
  highHandle: BigInt(file.of.highHandle),
  lowHandle: BigInt(file.of.lowHandle),
  list: file.of.list.map((node) => Address.parse(node)),
}
const key = unhex(file.keys.promptKey)
const secret = unhex(file.keys.secret)
const grants = file.nodes as readonly ReadingGrant[]
const iv = { bytes: (length: number) => new Uint8Array(length).fill(0x0c) }

const openAs = async (position: number, blob: string) =>
  openPromptText(unhex(blob), {
    ...{ key, of, position },
    readingKey: await readingKeyOf(unhex(file.nodes[position]?.privateKey ?? '0x')),
  })

/** The second key: secrets of clients and jobs, reading keys, prompts and outputs that are sealed twice. */
export const envelopeCases: readonly Case[] = [
  caseOf('secrets of a client and a job', [file.client], async (client) => {
    const account = privateKeyToAccount(client.privateKey as `0x${string}`)
    const signature = await account.signTypedData(clientSecretTypedData(client))
    same('the signature', signature, client.signature)
    sameBytes('the secret', await clientSecretFrom(signature), client.secret)
    sameBytes(
      'the secret of the job',
      await jobSecretOf(unhex(client.secret), of),
      file.keys.secret,
    )
    const id = JobId.parse(file.output.jobId)
    sameBytes('the key of evidence', await evidenceKeyOf(secret, id), file.evidenceKey)
    const { fence, innerKey } = file.output
    sameBytes('the inner key', await outputKeyOf(secret, id, fence), innerKey)
  }),
  caseOf('reading keys', file.nodes, async ({ privateKey, address, ...grant }) => {
    const node = Address.parse(address)
    const { publicKey } = await readingKeyOf(unhex(privateKey))
    same('the key', publicKey, grant.key)
    const account = privateKeyToAccount(privateKey as `0x${string}`)
    const typed = readingTypedData({ node, key: grant.key, chainId: of.chainId })
    same('the signature', await account.signTypedData(typed), grant.signature)
    check(await canWrapFor(grant.key), 'nothing can be wrapped for it')
    const signed = grant as ReadingGrant
    check(await verifyReading(node, of.chainId, signed), 'its signature does not hold')
    check(!(await verifyReading(node, 1, signed)), 'its signature holds for another chain')
  }),
  caseOf('a prompt of another secret of its client', [file.prompt], async ({ blob }) => {
    const open = openOwnPrompt(unhex(blob), { key, secret: new Uint8Array(32), of })
    same('the error', await codeOf(open), 'secret-differs')
  }),
  caseOf('keys that cannot be used', [file.weak], async (weak) => {
    check(!(await canWrapFor(weak.key)), 'something can be wrapped for it')
  }),
  caseOf('prompts sealed twice', [file.prompt], async ({ text, blob, under }) => {
    const made = await sealPromptText({ text, key, secret, of, grants }, iv)
    sameBytes('the blob', made, blob)
    const label = `svc-envelope-v1:${of.client}`
    sameBytes('the envelope', await unseal(unhex(blob), key, label), under)
    same('its text', await openOwnPrompt(unhex(blob), { key, secret, of }), text)
    for (const position of of.list.keys()) {
      const opened = await openAs(position, blob)
      same('the text', opened.text, text)
      sameBytes('the secret', opened.secret, file.keys.secret)
    }
  }),
  caseOf('envelopes that a node refuses', file.invalid, async ({ blob }) => {
    same('the error', await codeOf(openAs(0, blob)), 'envelope-invalid')
  }),
  caseOf('outputs sealed twice', [file.output], async ({ jobId, fence, outputKey, text, blob }) => {
    const output = { jobId: JobId.parse(jobId), fence, key: unhex(outputKey), secret }
    sameBytes('the blob', await sealOutput(text, output, iv), blob)
    same('the text', await openOutput(unhex(blob), output), text)
    for (const other of [
      { ...output, secret: key },
      { ...output, fence: fence + 1 },
    ]) {
      same('the error', await codeOf(openOutput(unhex(blob), other)), 'blob-unreadable')
    }
  }),
  caseOf('answers that are shown', [file.shown], async ({ jobId, fence, text, blob, ...of }) => {
    const shown = { jobId: JobId.parse(jobId), fence, secret }
    sameBytes('the key', await shownKeyOf(secret, shown.jobId, fence), of.key)
    sameBytes('the blob', await sealShown(text, shown, iv), blob)
    same('the text', await openShown(unhex(blob), shown), text)
    for (const other of [
      { ...shown, secret: key },
      { ...shown, fence: fence + 1 },
    ]) {
      same('the error', await codeOf(openShown(unhex(blob), other)), 'blob-unreadable')
    }
  }),
]
