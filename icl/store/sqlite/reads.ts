import { z } from 'zod'
import { Address, JobId } from '../../../lib/codecs.ts'
import type { ReputationEvent } from '../../../lib/reputation.ts'
import { JobPhase } from '../../../lib/schemas/jobs.ts'
import { setNewest } from '../../async/set-newest.ts'
import type { Client } from '../../rules/client.ts'
import type { Node } from '../../rules/eligibility.ts'
import type { Job } from '../../rules/job.ts'
import { countSlots } from '../job-index.ts'
import {
  behindPrefix,
  bytesOf,
  documentOf,
  endOfList,
  heldKeyOf,
  numberOf,
  parsed,
  type Row,
  textOf,
} from '../rows.ts'
import type { JobChange, Store, Versioned } from '../store.ts'
import { fillPage, type Unreadable } from '../unreadable.ts'
import { asStoreError, type SqliteDatabase, type SqliteValue, type Statement } from './database.ts'
import type { AllDocuments, Documents } from './documents.ts'
import { wholeJob } from './job-parts.ts'

// Nodes that poll: each asks for its jobs at every look.
const mostNodes = 65_536

const jobsWhere = (condition: string) => `
  SELECT created_at AS at, ${wholeJob} FROM jobs WHERE ${condition} (created_at, id) < (?, ?)
  ORDER BY created_at DESC, id DESC LIMIT ?`

/** An event's document, which is stored without the fields that have columns of their own. */
export const wholeEvent = `
  rtrim(json_object('id', id, 'node', node, 'at', at), '}') || ',' || substr(document, 2) AS document`

/** Every query of the store. Tests check that the plans use the indexes they need. */
export const queries = {
  ping: 'SELECT value FROM counters WHERE name = ?',
  findJob: `SELECT ${wholeJob} FROM jobs WHERE id = ?`,
  listDueTicks: 'SELECT id FROM jobs WHERE tick_at BETWEEN ? AND ? ORDER BY tick_at, id LIMIT ?',
  listDueEffects:
    'SELECT id FROM jobs WHERE effects_due_at BETWEEN ? AND ? ORDER BY effects_due_at, id LIMIT ?',
  listJobsOfNode: 'SELECT DISTINCT job AS id FROM occupied_slots WHERE node = ? ORDER BY job',
  countOccupiedSlots:
    'SELECT node, status, count(*) AS slots FROM occupied_slots GROUP BY node, status',
  listJobs: jobsWhere(''),
  listJobsInPhase: jobsWhere('phase = ? AND'),
  listJobsOfClient: jobsWhere('client = ? AND'),
  listJobsOfClientInPhase: jobsWhere('client = ? AND phase = ? AND'),
  countJobsOfClient: 'SELECT count(*) AS jobs FROM jobs WHERE client = ? AND created_at >= ?',
  countUnsettledJobsOfClient:
    'SELECT count(*) AS jobs FROM jobs WHERE client = ? AND settled_at IS NULL',
  lastChange: `
    SELECT max(value, coalesce((SELECT max(change) FROM jobs), 0)) AS value
    FROM counters WHERE name = 'changes'`,
  listChanges: 'SELECT id, version FROM jobs WHERE change > ? AND change <= ? ORDER BY change',
  listOffers:
    "SELECT node FROM occupied_slots WHERE job = ? AND status = 'offered' ORDER BY position",
  findNode: 'SELECT address AS id, version, document FROM nodes WHERE address = ?',
  // Forces the index on the expiry: most nodes may have expired long ago.
  listNodes: `
    SELECT address AS id, version, document FROM nodes INDEXED BY nodes_by_expiry
    WHERE expires_at > ? ORDER BY address`,
  findClient: 'SELECT address AS id, version, document FROM clients WHERE address = ?',
  listReputationEvents: `
    SELECT id, at, ${wholeEvent} FROM events WHERE node = ? AND at >= ? AND (at, id) < (?, ?)
    ORDER BY at DESC, id DESC LIMIT ?`,
  findKey: 'SELECT value FROM keys WHERE key = ? AND expires_at > ?',
  listKeys: `
    SELECT key AS id, value, expires_at AS expiresAt FROM keys
    WHERE key >= ? AND key < ? AND expires_at > ? ORDER BY key`,
  findBlob: 'SELECT bytes FROM blob_bytes WHERE cid = ?',
  countBlobBytes: 'SELECT total(size) AS bytes FROM blobs WHERE uploader = ? AND used_until > ?',
  listUnusedBlobs: `
    SELECT cid, size FROM blobs WHERE uploader = ? AND used_until <= ?
    ORDER BY answered, used_until LIMIT ?`,
  countPhases: 'SELECT phase, jobs FROM phases WHERE jobs > 0',
  countEffects: `
    SELECT total(effects) AS effects, min(effects_due_at) AS oldest
    FROM jobs INDEXED BY jobs_by_effect WHERE effects_due_at IS NOT NULL`,
} as const

type Rows = {
  all(name: keyof typeof queries, ...values: SqliteValue[]): readonly Row[]
  one(name: keyof typeof queries, ...values: SqliteValue[]): Row | undefined
  /** Clears what is cached if another process has committed. */
  look(): void
}

/** Every read of the store. Reports errors of SQLite to `suspect`, and unreadable documents to `unreadable`. */
export function createSqliteReads(
  db: SqliteDatabase,
  suspect: (error: unknown) => void,
  decoding: Decoding,
) {
  const statements = Object.fromEntries(
    Object.entries(queries).map(([name, sql]) => [name, db.prepare(sql)]),
  ) as Record<keyof typeof queries, Statement>
  const guarded = <T>(read: () => T): T => {
    try {
      return read()
    } catch (error) {
      suspect(error)
      throw asStoreError(error)
    }
  }
  const rows: Rows = {
    all: (name, ...values) =>
      guarded(() => {
        decoding.documents.look()
        return statements[name].all(...values)
      }),
    one: (name, ...values) => guarded(() => statements[name].get(...values)),
    look: () => guarded(() => decoding.documents.look()),
  }
  return {
    ping: async () => {
      rows.one('ping', 'changes')
    },
    ...jobReads(rows, decoding),
    ...otherReads(rows, decoding),
  }
}

type Decoding = { readonly unreadable: Unreadable; readonly documents: AllDocuments }

/** Returns a reader of one document, from memory if it is there. */
const reading =
  <T extends Job | Node | Client>(
    unreadable: Unreadable,
    what: string,
    documents: Documents<T>,
    row: (id: string) => Row | undefined,
  ) =>
  (id: string): Versioned<T> | undefined =>
    documents.known(id) ??
    unreadable.read(`${what} ${id}`, () => {
      const found = row(id)
      return found && documents.decode(found)
    })

function jobReads({ all, one, look }: Rows, { unreadable, documents }: Decoding) {
  const ids = (found: readonly Row[]) => found.map((row) => parsed(JobId, row, 'id'))
  const jobs = unreadable.readerOf('job', (row) => documents.jobs.decode(row).document)
  const jobsAt = unreadable.readerOf('job', (row) => {
    const id = textOf(row, 'id')
    return (documents.jobs.known(id) ?? documents.jobs.decode(one('findJob', id) ?? {})).document
  })
  const find = reading(unreadable, 'job', documents.jobs, (id) => one('findJob', id))
  return {
    findJob: async (id) => find(id),
    listDue: async (what, now, limit, from = 0) =>
      ids(all(what === 'tick' ? 'listDueTicks' : 'listDueEffects', from, now, limit)),
    listJobsOfNode: async (node) => {
      look()
      const rows = documents.jobsOfNodes.get(node) ?? all('listJobsOfNode', node)
      setNewest(documents.jobsOfNodes, node, rows, mostNodes)
      return jobsAt(rows)
    },
    countOccupiedSlots: async () =>
      countSlots(
        all('countOccupiedSlots').map((row) => ({
          node: parsed(Address, row, 'node'),
          status: parsed(OccupiedStatus, row, 'status'),
          count: numberOf(row, 'slots'),
        })),
      ),
    listJobs: ({ client, phase, ...page }) => {
      const name = `listJobs${client ? 'OfClient' : ''}${phase ? 'InPhase' : ''}` as const
      const which = [client, phase].filter((value) => value !== undefined)
      const ask = ({ at, id } = endOfList, limit: number) => all(name, ...which, at, id, limit)
      return fillPage(page, 'at', ask, jobs)
    },
    countJobsOfClient: async (client, which) => {
      const row =
        which === 'unsettled'
          ? one('countUnsettledJobsOfClient', client)
          : one('countJobsOfClient', client, which.since)
      return numberOf(row ?? {}, 'jobs')
    },
    listChanges: async (cursor) => {
      const last = numberOf(one('lastChange') ?? {}, 'value')
      const first = cursor === undefined ? last : Number(cursor)
      return {
        cursor: String(last),
        jobs: all('listChanges', first, last).map(
          (row): JobChange => ({
            id: parsed(JobId, row, 'id'),
            version: numberOf(row, 'version'),
            offeredTo: all('listOffers', textOf(row, 'id')).map((offer) =>
              parsed(Address, offer, 'node'),
            ),
          }),
        ),
      }
    },
    stats: async () => {
      const phases = all('countPhases').map((row) => [
        parsed(JobPhase, row, 'phase'),
        numberOf(row, 'jobs'),
      ])
      const due = one('countEffects') ?? {}
      return {
        jobsByPhase: Object.fromEntries(phases),
        effects: numberOf(due, 'effects'),
        oldestEffectDueAt: due.oldest === null ? undefined : numberOf(due, 'oldest'),
      }
    },
  } satisfies Partial<Store>
}

function otherReads({ all, one }: Rows, { unreadable, documents }: Decoding) {
  const nodes = unreadable.readerOf('node', (row) => documents.nodes.decode(row).document)
  const events = unreadable.readerOf('event', (row) => documentOf<ReputationEvent>(row, 'event'))
  const findNode = reading(unreadable, 'node', documents.nodes, (id) => one('findNode', id))
  const findClient = reading(unreadable, 'client', documents.clients, (id) => one('findClient', id))
  return {
    findNode: async (address) => findNode(address),
    listNodes: async (now) => nodes(all('listNodes', now)),
    findClient: async (address) => findClient(address),
    listReputationEvents: (node, page) => {
      const ask = ({ at, id } = endOfList, limit: number) =>
        all('listReputationEvents', node, page.since ?? 0, at, id, limit)
      return fillPage(page, 'at', ask, events)
    },
    findKey: async (key, now) => {
      const row = one('findKey', key, now)
      return row && textOf(row, 'value')
    },
    listKeys: async (prefix, now) =>
      all('listKeys', prefix, behindPrefix(prefix), now).map(heldKeyOf),
    findBlob: async (cid) => {
      const row = one('findBlob', cid)
      return row && bytesOf(row, 'bytes')
    },
    countBlobBytes: async (uploader, usedAfter = -1) =>
      numberOf(one('countBlobBytes', uploader, usedAfter) ?? {}, 'bytes'),
  } satisfies Partial<Store>
}

const OccupiedStatus = z.enum(['offered', 'claimed'])
