// biome-ignore lint/correctness/noUnresolvedImports: Biome does not know this module yet.
import { DatabaseSync } from 'node:sqlite'
import type { Job } from '../../../icl/rules/job.ts'
import { openSqliteStore } from '../../../icl/store/sqlite/file.ts'
import type { StoreRecord } from '../../../icl/store/store.ts'
import type { NodeSigner } from '../../../lib/request-signature.ts'
import { anAddress } from '../../branded.ts'
import {
  answered,
  claimed,
  delivered,
  inTurn,
  sampleJob,
  take,
  verdictBy,
} from '../../icl/rules/sample-job.ts'
import { modelId } from '../../icl/test-icl.ts'
import { jobIdOf } from './prepare.ts'

const secondMs = 1_000
const atOnce = 2_000
const keptCharacters = 900

type Filled = {
  readonly jobs: number
  readonly nodes: readonly NodeSigner[]
  readonly isSettled: boolean
  /** Whether the results of settled jobs have still to be put on chain. */
  readonly waits?: boolean
}

/** A job of three nodes that all work on, or one that they have finished. */
function jobOf({ nodes, isSettled, waits }: Filled, index: number, createdAt: number): Job {
  const at = (seat: number) =>
    nodes[(index * 3 + seat) % nodes.length]?.address ?? anAddress(`0x${'0'.repeat(40)}`)
  const members = [at(0), at(1), at(2)]
  const client = `0x${(index % 1_000).toString(16).padStart(40, '0')}` as const
  let job = sampleJob({
    id: jobIdOf(900, index),
    client: anAddress(client),
    modelId,
    promptCid: `bafkrei${'a'.repeat(52)}`,
    createdAt,
    deadline: createdAt + 600 * secondMs,
    members,
  })
  if (!isSettled) {
    for (const node of members) job = claimed(job, node, createdAt)
    return { ...job, outbox: [] }
  }
  const answers = members.map((node) => [node, 'yes'] as const)
  job = delivered(answered(job, answers, createdAt), createdAt)
  for (const node of inTurn(job).slice(1)) job = take(job, verdictBy(job, node, 'match'), createdAt)
  const outbox = job.outbox.filter(({ effect: { type } }) => waits && type === 'commit-result')
  return { ...job, outbox }
}

/** Writes a database file with so many jobs, each with what its nodes were scored for, as if they had come in one after the other. */
export async function fillFile(file: string, filled: Filled): Promise<void> {
  const { jobs, isSettled } = filled
  const store = await openSqliteStore(file)
  const now = Date.now()
  try {
    for (let start = 0; start < jobs; start += atOnce) {
      const records: StoreRecord[] = []
      for (let index = start; index < Math.min(start + atOnce, jobs); index++) {
        const createdAt = isSettled ? now - (jobs - index) * secondMs : now
        const job = jobOf(filled, index, createdAt)
        records.push({ kind: 'job', job, version: 1 })
        if (isSettled) records.push(...eventsOf(job, createdAt))
      }
      await Promise.all(records.map((record) => store.restore(record)))
    }
  } finally {
    await store.close()
  }
}

const eventsOf = ({ id, assignments }: Job, at: number): StoreRecord[] =>
  assignments.flatMap(({ node, fence, scores = [] }) =>
    scores.map((code) => ({
      kind: 'event' as const,
      event: { id: `${id}:${fence}:${code}`, node, jobId: id, code, at },
    })),
  )

/**
 * Has a file of `fillFile` hold so many times as many jobs, by copies of its rows. Ids of jobs and clients begin with zeros: in a copy they
 * begin with other digits, spread as those of hashes are, wherever they stand. All times are earlier, and of a job's document there is the beginning.
 */
export function multiplyFile(file: string, copies: number): void {
  const db = new DatabaseSync(file)
  try {
    // Nobody needs the file if this does not end well.
    db.exec('PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA cache_size = -1048576')
    const jobs = Number(db.prepare('SELECT count(*) AS count FROM jobs').get()?.count)
    const numbers = `WITH RECURSIVE copies (copy) AS
      (SELECT 1 UNION ALL SELECT copy + 1 FROM copies WHERE copy < ${copies - 1})`
    const indexes = db
      .prepare(
        "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND tbl_name IN ('jobs', 'events') AND sql IS NOT NULL",
      )
      .all()
    // To sort all rows at the end is less than to put each in its place.
    for (const { name } of indexes) db.exec(`DROP INDEX ${name}`)
    for (const table of ['jobs', 'events']) {
      const columns = db.prepare(`SELECT name, type FROM pragma_table_info('${table}')`).all()
      const values = columns.map(({ name, type }) => {
        if (name === 'change') return `${name} + ${jobs} * copy`
        if (type === 'REAL') return `${name} - ${jobs * secondMs} * copy`
        // Nobody reads the documents of these jobs, and whole they would be most of the file.
        if (table === 'jobs' && name === 'document') return `substr(${name}, 1, ${keptCharacters})`
        const start = `printf('0x%08x', (copy * 2654435761 + old.rowid * 2246822519) % 4294967296)`
        return type === 'TEXT' ? `replace(${name}, '0x00000000', ${start})` : name
      })
      db.exec(`CREATE TEMP TABLE of_${table} AS SELECT * FROM ${table}`)
      db.exec(
        `${numbers} INSERT INTO ${table} SELECT ${values.join(', ')} FROM copies CROSS JOIN of_${table} AS old`,
      )
    }
    for (const { sql } of indexes) db.exec(String(sql))
  } finally {
    db.close()
  }
}
