import { z } from 'zod'
import { Address, JobId } from '../../lib/codecs.ts'
import { fromBase64Url, toBase64Url } from '../../lib/digest.ts'
import type { ReputationEvent } from '../../lib/reputation.ts'
import { JobPhase } from '../../lib/schemas/jobs.ts'
import type { Client } from '../rules/client.ts'
import type { Node } from '../rules/eligibility.ts'
import type { Job } from '../rules/job.ts'
import { decodeDocument, encodeDocument } from '../store/encoding.ts'
import { RoomName } from '../store/rows.ts'
import type { StoreRecord } from '../store/store.ts'

const version = z.int().positive()
const document = z.string()
const time = z.number()

/** One record of a backup. Documents are text, as in the store. */
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
    uploader: RoomName,
    size: z.int().optional(),
    until: time,
    usedUntil: time.optional(),
    isAnswered: z.boolean().optional(),
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

// The fields that a store needs of each document.
const JobShape = z.looseObject({ id: JobId, client: Address, phase: JobPhase })
const NodeShape = z.looseObject({ address: Address })
const ClientShape = NodeShape.extend({ firstAcceptedAt: time })
const EventShape = z.looseObject({ id: z.string(), node: Address, at: time })

/** Returns a record as a line of a backup, without the line's end. */
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
    case 'blob':
      return { ...record, bytes: toBase64Url(record.bytes) }
  }
}

/** Returns the record of a line. Throws when the line is not one of `encodeRecord`. */
export function decodeRecord(text: string): StoreRecord {
  const line = RecordLine.parse(JSON.parse(text))
  switch (line.kind) {
    case 'job': {
      const { kind, version, document } = line
      return { kind, version, job: checked<Job>(JobShape, document) }
    }
    case 'node': {
      const { kind, version, document } = line
      return { kind, version, node: checked<Node>(NodeShape, document) }
    }
    case 'client': {
      const { kind, version, document } = line
      return { kind, version, client: checked<Client>(ClientShape, document) }
    }
    case 'event':
      return { kind: line.kind, event: checked<ReputationEvent>(EventShape, line.document) }
    case 'key':
      return line
    case 'blob':
      return { ...line, bytes: fromBase64Url(line.bytes) }
  }
}

function checked<T extends Job | Node | Client | ReputationEvent>(
  shape: z.ZodType,
  text: string,
): T {
  const decoded = decodeDocument<T>(text)
  shape.parse(decoded)
  return decoded
}

/** True for records about running processes, which a backup leaves out. */
export const isOfTheMoment = (record: StoreRecord): boolean =>
  record.kind === 'key' && /^(replica|leader):/.test(record.key)
