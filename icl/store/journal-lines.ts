import { z } from 'zod'
import { Address, JobId } from '../../lib/codecs.ts'
import { fromBase64Url, toBase64Url } from '../../lib/digest.ts'
import type { ReputationEvent } from '../../lib/reputation.ts'
import type { Client } from '../rules/client.ts'
import type { Node } from '../rules/eligibility.ts'
import type { Job } from '../rules/job.ts'
import { decodeDocument, encodeDocument } from './encoding.ts'
import type { HeldRecord } from './journal.ts'
import type { Write } from './store.ts'

const Count = z.int().nonnegative()
const Time = z.number()
const document = z.string()
const Uploader = z.enum(['wallet', 'node', 'icl'])

const Saved = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('job'), base: Count, document }),
  z.object({ kind: z.literal('node'), base: Count, document }),
  z.object({ kind: z.literal('client'), base: Count, document }),
  z.object({ kind: z.literal('event'), document }),
  z.object({
    kind: z.literal('key'),
    key: z.string(),
    value: z.string(),
    insteadOf: z.string().optional(),
    now: Time,
    expiresAt: Time,
  }),
  z.object({ kind: z.literal('release-key'), key: z.string(), value: z.string() }),
  z.object({
    kind: z.literal('blob'),
    cid: z.string(),
    bytes: z.string(),
    uploader: Uploader,
    until: Time,
  }),
  z.object({ kind: z.literal('keep-blob'), cid: z.string(), until: Time }),
])
type Saved = z.input<typeof Saved>

const Held = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('job'), version: Count, document }),
  z.object({ kind: z.literal('node'), version: Count, document }),
  z.object({ kind: z.literal('client'), version: Count, document }),
  z.object({ kind: z.literal('key'), key: z.string(), value: z.string(), expiresAt: Time }),
  z.object({ kind: z.literal('attempt'), id: z.string(), write: Saved }),
  z.object({ kind: z.literal('job-origin'), id: JobId, client: Address, createdAt: Time }),
])
type Held = z.input<typeof Held>

/** One line of a journal, after its checksum. */
export const JournalLine = z.discriminatedUnion('type', [
  z.object({ type: z.literal('begin'), format: z.literal(1) }),
  z.object({ type: z.literal('held'), held: z.array(Held) }),
  /** Ends what was known; without it the journal is not whole. */
  z.object({ type: z.literal('begun'), held: Count }),
  /** What one flush took to the disk; `first` is the seq of its first write. */
  z.object({
    type: z.literal('writes'),
    first: z.int().positive(),
    writes: z.array(z.object({ id: z.string(), write: Saved })),
  }),
  z.object({ type: z.literal('replayed'), through: Count }),
])
export type JournalLine = z.output<typeof JournalLine>

/** A held record as a journal keeps it. */
export function encodeHeld(record: HeldRecord): Held {
  switch (record.kind) {
    case 'job':
      return { kind: 'job', version: record.version, document: encodeDocument(record.job) }
    case 'node':
      return { kind: 'node', version: record.version, document: encodeDocument(record.node) }
    case 'client':
      return { kind: 'client', version: record.version, document: encodeDocument(record.client) }
    case 'attempt':
      return { ...record, write: encodeWrite(record.write) }
    case 'key':
    case 'job-origin':
      return record
  }
}

/** The record that `encodeHeld` was given. */
export function decodeHeld(held: z.output<typeof Held>): HeldRecord {
  switch (held.kind) {
    case 'job':
      return { kind: 'job', version: held.version, job: decodeDocument<Job>(held.document) }
    case 'node':
      return { kind: 'node', version: held.version, node: decodeDocument<Node>(held.document) }
    case 'client': {
      const client = decodeDocument<Client>(held.document)
      return { kind: 'client', version: held.version, client }
    }
    case 'attempt':
      return { ...held, write: decodeWrite(held.write) }
    case 'key':
    case 'job-origin':
      return held
  }
}

/** A write as a journal keeps it: text that an operator can read. */
export function encodeWrite(write: Write): Saved {
  switch (write.kind) {
    case 'job':
      return { kind: 'job', base: write.base, document: encodeDocument(write.job) }
    case 'node':
      return { kind: 'node', base: write.base, document: encodeDocument(write.node) }
    case 'client':
      return { kind: 'client', base: write.base, document: encodeDocument(write.client) }
    case 'event':
      return { kind: 'event', document: encodeDocument(write.event) }
    case 'blob':
      return { ...write, bytes: toBase64Url(write.bytes) }
    case 'key':
    case 'release-key':
    case 'keep-blob':
      return write
  }
}

/** The write that `encodeWrite` was given. */
export function decodeWrite(saved: z.output<typeof Saved>): Write {
  switch (saved.kind) {
    case 'job':
      return { kind: 'job', base: saved.base, job: decodeDocument<Job>(saved.document) }
    case 'node':
      return { kind: 'node', base: saved.base, node: decodeDocument<Node>(saved.document) }
    case 'client':
      return { kind: 'client', base: saved.base, client: decodeDocument<Client>(saved.document) }
    case 'event':
      return { kind: 'event', event: decodeDocument<ReputationEvent>(saved.document) }
    case 'blob':
      return { ...saved, bytes: fromBase64Url(saved.bytes) }
    case 'key':
    case 'release-key':
    case 'keep-blob':
      return saved
  }
}
