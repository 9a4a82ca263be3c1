import type { Binary, Collection, Db, Timestamp } from 'mongodb'
import type { Address } from '../../../lib/codecs.ts'
import type { ReputationEvent } from '../../../lib/reputation.ts'
import type { JobPhase } from '../../../lib/schemas/jobs.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import type { Client } from '../../rules/client.ts'
import type { Node } from '../../rules/eligibility.ts'
import type { Job } from '../../rules/job.ts'
import { encodeDocument } from '../encoding.ts'
import { indexOfJob } from '../job-index.ts'
import type { Uploader } from '../store.ts'
import { unlessTaken } from './taken.ts'

/** The version of a document, and the id of the save that made it. */
type Stand = { readonly version: number; readonly writeId: string }

/** A job's text and index fields; times in milliseconds, null where there is none. */
export type JobFields = {
  readonly document: string
  readonly client: Address
  readonly phase: JobPhase
  readonly createdAt: number
  readonly settledAt: number | null
  readonly tickAt: number | null
  readonly effectsDueAt: number | null
  readonly effects: number
  /** `offered:ADDRESS` or `claimed:ADDRESS` for each occupied slot. */
  readonly occupied: readonly string[]
}
export type JobRow = JobFields &
  Stand & {
    readonly _id: string
    /** The server's cluster time of the last save. */
    readonly changed: Timestamp
  }

export type NodeFields = { readonly document: string; readonly certificateExpiresAt: number }
type NodeRow = NodeFields & Stand & { readonly _id: string }

type ClientFields = { readonly document: string }
type ClientRow = ClientFields & Stand & { readonly _id: string }

export type EventRow = {
  readonly _id: string
  readonly node: Address
  readonly at: number
  readonly document: string
  readonly writeId: string
}

export type KeyRow = {
  readonly _id: string
  /** Null once released. The row stays until it is pruned, so that a repeated release is recognized. */
  readonly value: string | null
  readonly expiresAt: number
  readonly writeId: string
}

type BlobRow = {
  readonly _id: string
  readonly bytes: Binary
  readonly size: number
  readonly uploader: Uploader
  readonly until: number
  readonly writeId: string
}

type FormatRow = { readonly _id: string; readonly version: number }

/** The collections of a store. */
export type MongoCollections = {
  readonly jobs: Collection<JobRow>
  readonly nodes: Collection<NodeRow>
  readonly clients: Collection<ClientRow>
  readonly events: Collection<EventRow>
  readonly keys: Collection<KeyRow>
  readonly blobs: Collection<BlobRow>
}

export const collectionsOf = (db: Db): MongoCollections => ({
  jobs: db.collection('jobs'),
  nodes: db.collection('nodes'),
  clients: db.collection('clients'),
  events: db.collection('events'),
  keys: db.collection('keys'),
  blobs: db.collection('blobs'),
})

/** Returns the stored fields of a job. */
export function jobFieldsOf(job: Job): JobFields {
  const { client, phase, createdAt, settledAt, tickAt, effectsDueAt, effects, occupied } =
    indexOfJob(job)
  return {
    document: encodeDocument(job),
    client,
    phase,
    createdAt,
    settledAt: settledAt ?? null,
    tickAt: tickAt ?? null,
    effectsDueAt: effectsDueAt ?? null,
    effects,
    occupied: occupied.map(({ node, status }) => `${status}:${node}`),
  }
}

/** Returns the stored fields of a node. */
export const nodeFieldsOf = (node: Node): NodeFields => ({
  document: encodeDocument(node),
  certificateExpiresAt: node.certificate.expiresAt,
})

/** Returns the stored fields of a client. */
export const clientFieldsOf = (client: Client): ClientFields => ({
  document: encodeDocument(client),
})

/** Returns the stored row of an event. */
export const eventRowOf = (event: ReputationEvent, writeId: string): EventRow => ({
  _id: event.id,
  node: event.node,
  at: event.at,
  document: encodeDocument(event),
  writeId,
})

// Ids need no index here: `_id` has one, which is unique.
const indexes: Record<keyof MongoCollections, readonly Record<string, 1 | -1>[]> = {
  jobs: [
    { tickAt: 1 },
    { effectsDueAt: 1 },
    { settledAt: 1 },
    { occupied: 1 },
    { client: 1, createdAt: -1, _id: -1 },
    { client: 1, settledAt: 1 },
    { createdAt: -1, _id: -1 },
    { phase: 1, createdAt: -1, _id: -1 },
    { changed: 1 },
  ],
  nodes: [{ certificateExpiresAt: 1 }],
  clients: [],
  events: [{ node: 1, at: 1, _id: 1 }],
  keys: [{ expiresAt: 1 }],
  blobs: [{ uploader: 1, size: 1 }, { until: 1 }],
}

const format = { _id: 'store', version: 1 }

/** Creates what is missing; idempotent, even from many processes. Throws SvcError `store-format` for data of another version. */
export async function prepareDatabase(db: Db): Promise<void> {
  const formats = db.collection<FormatRow>('format')
  // Many processes may start on an empty database at the same moment.
  await unlessTaken(async () => {
    const inserted = { $setOnInsert: { version: format.version } }
    const { acknowledged } = await formats.updateOne({ _id: format._id }, inserted, {
      upsert: true,
    })
    return acknowledged
  })
  const found = await formats.findOne({ _id: format._id })
  if (found?.version !== format.version) {
    throw new SvcError('store-format', `The database has format ${found?.version}, not 1`, {
      hint: 'Another version of this program made it. Start that one, or name another database.',
    })
  }
  for (const [name, keys] of Object.entries(indexes)) {
    // One command for each index: FerretDB fails when several indexes of one command exist already.
    for (const key of keys) await db.collection(name).createIndex(key)
  }
}
