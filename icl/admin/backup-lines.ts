import { z } from 'zod'
import { Address, JobId } from '../../lib/codecs.ts'
import { fromBase64Url, toBase64Url } from '../../lib/digest.ts'
import type { ReputationEvent } from '../../lib/reputation.ts'
import { JobPhase } from '../../lib/schemas/jobs.ts'
import type { Client } from '../rules/client.ts'
import type { Node } from '../rules/eligibility.ts'
import type { Job } from '../rules/job.ts'
import { decodeDocument, encodeDocument } from '../store/encoding.ts'
import type { StoreRecord } from '../store/store.ts'

const version = z.int().positive()
const document = z.string()
const time = z.number()

/** One record of a backup; documents are text, as a store keeps them. */
const RecordLine = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('job'), version, document }),
  z.object({ kind: z.literal('node'), version, document }),
  z.object({ kind: z.literal('client'), version, document }),
  z.object({ kind: z.literal('event'), document }),
  z.object({ kind: z.literal('key'), key: z.string(), value: z.string(), expiresAt: time }),
  z.object({
    kind: z.literal('blob'),
    cid: z.string(),
    bytes: z.string(),
    uploader: z.enum(['wallet', 'node', 'icl']),
    until: time,
  }),
])
type RecordLine = z.output<typeof RecordLine>

/** The first line of a backup. */
export const BackupHeader = z.object({
  format: z.literal('svc-icl-backup'),
  version: z.int(),
  madeAt: z.string(),
  madeBy: z.string(),
})
export type BackupHeader = z.output<typeof BackupHeader>

/** The last line of a backup: how many records it has, and the SHA-256 of all lines before, in hex. */
export const BackupTrailer = z.object({
  end: z.literal(true),
  records: z.int(),
  sha256: z.string(),
})

// What a document must have to be put where it is found again.
const JobShape = z.looseObject({ id: JobId, client: Address, phase: JobPhase })
const NodeShape = z.looseObject({ address: Address })
const ClientShape = NodeShape.extend({ firstAcceptedAt: time })
const EventShape = z.looseObject({ id: z.string(), node: Address, at: time })

/** A record as a line of a backup, without the line's end. */
export const encodeRecord = (record: StoreRecord): string => JSON.stringify(lineOf(record))

function lineOf(record: StoreRecord): RecordLine {
  switch (record.kind) {
    case 'job':
      return { kind: 'job', version: record.version, document: encodeDocument(record.job) }
    case 'node':
      return { kind: 'node', version: record.version, document: encodeDocument(record.node) }
    case 'client':
      return { kind: 'client', version: record.version, document: encodeDocument(record.client) }
    case 'event':
      return { kind: 'event', document: encodeDocument(record.event) }
    case 'key': {
      const { key, value, expiresAt } = record
      return { kind: 'key', key, value, expiresAt }
    }
    case 'blob': {
      const { cid, bytes, uploader, until } = record
      return { kind: 'blob', cid, bytes: toBase64Url(bytes), uploader, until }
    }
  }
}

/** The record of a line; throws when it has not the form that `encodeRecord` gives it. */
export function decodeRecord(text: string): StoreRecord {
  const line = RecordLine.parse(JSON.parse(text))
  switch (line.kind) {
    case 'job': {
      const job = decodeDocument<Job>(line.document)
      JobShape.parse(job)
      return { kind: 'job', version: line.version, job }
    }
    case 'node': {
      const node = decodeDocument<Node>(line.document)
      NodeShape.parse(node)
      return { kind: 'node', version: line.version, node }
    }
    case 'client': {
      const client = decodeDocument<Client>(line.document)
      ClientShape.parse(client)
      return { kind: 'client', version: line.version, client }
    }
    case 'event': {
      const event = decodeDocument<ReputationEvent>(line.document)
      EventShape.parse(event)
      return { kind: 'event', event }
    }
    case 'key':
      return line
    case 'blob':
      return { ...line, bytes: fromBase64Url(line.bytes) }
  }
}

/** True for what says only who is at work at this moment: a backup leaves it out. */
export const isOfTheMoment = (record: StoreRecord): boolean =>
  record.kind === 'key' && /^(replica:|leader:|database-lock$)/.test(record.key)
