import type { Job } from '../../rules/job.ts'
import { indexOfJob, type JobIndex } from '../job-index.ts'
import type { Store } from '../store.ts'
import { didChange, type SqliteDatabase, type SqliteValue, type Statement } from './database.ts'
import type { AllDocuments } from './documents.ts'
import { changingPart, newSubmission } from './job-parts.ts'

/** The columns of `jobs` that every save writes, besides the number of the change. */
const headColumns = ['version', 'document'] as const
const nextChange = `1 + max(
  coalesce((SELECT max(change) FROM jobs), 0), (SELECT value FROM counters WHERE name = 'changes'))`

/** The columns that jobs are found by, with their values; a save writes only those that changed. */
const jobColumns: readonly (readonly [name: string, read: (index: JobIndex) => SqliteValue])[] =
  Object.entries({
    client: ({ client }) => client,
    phase: ({ phase }) => phase,
    created_at: ({ createdAt }) => createdAt,
    settled_at: ({ settledAt }) => settledAt ?? null,
    tick_at: ({ tickAt }) => tickAt ?? null,
    effects_due_at: ({ effectsDueAt }) => effectsDueAt ?? null,
    effects: ({ effects }) => effects,
  } satisfies Record<string, (index: JobIndex) => SqliteValue>)
const columns = [...headColumns, ...jobColumns.map(([name]) => name)]

/** Writes to jobs, and to the slots that they occupy. */
export function createJobWrites(
  db: SqliteDatabase,
  { jobs: documents, jobsOfNodes }: Pick<AllDocuments, 'jobs' | 'jobsOfNodes'>,
) {
  const insert = db.prepare(`
    INSERT INTO jobs (id, change, ${columns.join(', ')})
    VALUES (?, ${nextChange}, ${columns.map(() => '?').join(', ')})
    ON CONFLICT (id) DO UPDATE SET change = excluded.change,
      ${columns.map((name) => `${name} = excluded.${name}`).join(', ')}`)
  // SQLite rewrites the indexes of every column that an UPDATE names, even when the value is the same.
  const updates = new Map<string, Statement>()
  const updateOf = (changed: readonly string[]): Statement => {
    const sets = [...headColumns, ...changed].map((column) => `${column} = ?`)
    const sql = `UPDATE jobs SET change = ${nextChange}, ${sets.join(', ')} WHERE id = ?`
    const known = updates.get(sql) ?? db.prepare(sql)
    updates.set(sql, known)
    return known
  }
  const putSubmission = db.prepare('INSERT OR REPLACE INTO job_submissions VALUES (?, ?)')
  const clearOccupied = db.prepare('DELETE FROM occupied_slots WHERE job = ?')
  const addOccupied = db.prepare('INSERT INTO occupied_slots VALUES (?, ?, ?, ?)')
  const occupy = (id: Job['id'], occupied: JobIndex['occupied']): void => {
    clearOccupied.run(id)
    for (const [position, { node, status }] of occupied.entries()) {
      addOccupied.run(node, status, id, position)
    }
  }
  const prune = db.prepare(`
    DELETE FROM jobs WHERE rowid IN (
      SELECT rowid FROM jobs
      WHERE settled_at IS NOT NULL AND effects_due_at IS NULL AND settled_at < ?
      ORDER BY settled_at LIMIT ?)`)
  return {
    find: db.prepare('SELECT version FROM jobs WHERE id = ?'),
    documents,
    erase: db.prepare(
      'DELETE FROM jobs WHERE id = ? AND settled_at IS NOT NULL AND effects_due_at IS NULL',
    ),
    put: (job: Job, version: number): void => {
      const before = documents.known(job.id)?.document
      const known = before && indexOfJob(before)
      const index = indexOfJob(job)
      const head = [version, documents.encode(job, version, changingPart(job))]
      const written = jobColumns.filter(([, read]) => !known || read(known) !== read(index))
      const values = written.map(([, read]) => read(index))
      if (known) updateOf(written.map(([name]) => name)).run(...head, ...values, job.id)
      else insert.run(job.id, ...head, ...values)
      const submission = newSubmission(before, job)
      if (submission !== undefined) putSubmission.run(job.id, submission)
      if (known && isSame(known.occupied, index.occupied)) return
      // The slots of a stored job that is not in memory are not known.
      if (!known && didChange(clearOccupied.run(job.id))) jobsOfNodes.clear()
      const changed = [...(known?.occupied ?? []), ...index.occupied]
      for (const { node } of changed) jobsOfNodes.delete(node)
      occupy(job.id, index.occupied)
    },
    prune: ({ settledBefore, limit }: Parameters<Store['prune']>[0]): number =>
      Number(prune.run(settledBefore, limit).changes),
  }
}

const isSame = (a: JobIndex['occupied'], b: JobIndex['occupied']): boolean =>
  a.length === b.length &&
  a.every(({ node, status }, at) => b[at]?.node === node && b[at]?.status === status)
