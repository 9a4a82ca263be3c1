/*
 * The part of a mirror in the file: which records the database may lack (`unsent`, one row a record, however often it changes), and
 * what the file knows of the database. Triggers write it in the transaction that changes a record, also when a command of the
 * operator changes it.
 */

import { numberOf, type Row, recordOf, textOf } from '../rows.ts'
import { didChange, type SqliteDatabase } from '../sqlite/database.ts'
import { recordQueries, type SqliteStore } from '../sqlite/store.ts'
import { idOf, type StoreRecord } from '../store.ts'
import type { Facts, Kind, Mirrored } from './follower.ts'

const mostBytes = 4 * 1024 * 1024
const recordsAtOnce = 200
const notedAtOnce = 10_000

const ids = {
  job: ['jobs', 'id'],
  node: ['nodes', 'address'],
  client: ['clients', 'address'],
  event: ['events', 'id'],
  key: ['keys', 'key'],
  blob: ['blobs', 'cid'],
} as const satisfies Record<Kind, readonly [table: string, id: string]>
const kinds = Object.keys(ids) as Kind[]

const tables = `
  CREATE TABLE mirror_marks (at INTEGER PRIMARY KEY, mark TEXT NOT NULL, since INTEGER NOT NULL) STRICT;
  -- One row: the numbers of the last change, and of the last one that the database has. Once filled, the file has all that the
  -- database had. While everything is sent again, what has a lower number there than sweep is deleted in the end.
  CREATE TABLE mirror (
    seq INTEGER NOT NULL, sent INTEGER NOT NULL, file TEXT NOT NULL, filled INTEGER NOT NULL, sweep INTEGER
  ) STRICT;
  CREATE TABLE unsent (
    kind TEXT NOT NULL, id TEXT NOT NULL, seq INTEGER NOT NULL, refused INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (kind, id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX unsent_by_seq ON unsent (seq);
`
const next = 'UPDATE mirror SET seq = seq + 1'
const note = (kind: string, id: string) => `
  INSERT INTO unsent (kind, id, seq) SELECT ${kind}, ${id}, seq FROM mirror WHERE true
  ON CONFLICT DO UPDATE SET seq = excluded.seq`
const triggers = kinds.flatMap((kind) =>
  (['INSERT', 'UPDATE', 'DELETE'] as const).map((change) => {
    const [table, id] = ids[kind]
    const row = change === 'DELETE' ? 'old' : 'new'
    return `CREATE TRIGGER mirror_${kind}_${change} AFTER ${change} ON ${table} BEGIN
      ${next}; ${note(`'${kind}'`, `${row}.${id}`)};
    END;`
  }),
)
const raise = 'UPDATE mirror SET seq = max(seq, coalesce((SELECT max(seq) FROM unsent), 0))'
const noteSome = (kind: Kind) => {
  const [table, id] = ids[kind]
  return `
    INSERT INTO unsent (kind, id, seq)
      SELECT '${kind}', id, (SELECT seq FROM mirror) + row_number() OVER (ORDER BY id)
      FROM (SELECT ${id} AS id FROM ${table} WHERE ${id} > ? ORDER BY ${id} LIMIT ${notedAtOnce}) WHERE true
      ON CONFLICT DO UPDATE SET seq = excluded.seq`
}
const noteRefused = `
  INSERT INTO unsent (kind, id, seq)
    SELECT kind, id, (SELECT seq FROM mirror) + row_number() OVER () FROM unsent WHERE refused = 1
    ON CONFLICT DO UPDATE SET seq = excluded.seq`
/** Deletes what was filled before, and keeps what this ICL changed itself. */
const clear = [
  ...kinds.map((kind) => {
    const [table, id] = ids[kind]
    return `DELETE FROM ${table} WHERE ${id} NOT IN (SELECT id FROM unsent WHERE kind = '${kind}')`
  }),
  'DELETE FROM blob_bytes WHERE cid NOT IN (SELECT cid FROM blobs)',
  'DELETE FROM occupied_slots WHERE job NOT IN (SELECT id FROM jobs)',
].join(';')

/** The status needs the number of records that wait with each answer. */
export const mostCounted = 10_000

/** States to send; `upTo` is the number up to which the database has everything once it has them. */
type Batch = {
  readonly states: readonly Mirrored[]
  readonly upTo: number
  /** True when nothing more waits. */
  readonly isLast: boolean
}

/** What a file knows about the database that follows it. */
export type Ledger = ReturnType<typeof openLedger>

/** Opens the ledger of a store for a process with the given mark, and makes it if needed. `newId` becomes the id of a new file. */
export function openLedger(store: SqliteStore, mark: string, newId: string) {
  const { db } = store
  const isNew = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'unsent'").get() === undefined
  // One transaction by itself: no save of the store is open yet.
  db.exec('BEGIN IMMEDIATE')
  try {
    if (isNew) {
      db.exec([tables, ...triggers].join('\n'))
      db.prepare('INSERT INTO mirror VALUES (0, 0, ?, 0, NULL)').run(newId)
      for (const _ of notingAll(db));
      // A file that was in use before has to be sent as a whole, and is not filled.
      db.exec('UPDATE mirror SET filled = EXISTS (SELECT 1 FROM unsent)')
    }
    db.exec('UPDATE unsent SET refused = 0')
    const add = db.prepare('INSERT INTO mirror_marks (mark, since) SELECT ?, seq FROM mirror')
    add.run(mark)
    db.exec('COMMIT')
  } catch (error) {
    db.exec('ROLLBACK')
    throw error
  }
  const row = db.prepare('SELECT * FROM mirror')
  const now = (): Row => row.get() ?? {}
  const marks = db.prepare('SELECT mark, since FROM mirror_marks ORDER BY at')
  return {
    facts: (): Facts => ({
      file: textOf(now(), 'file'),
      marks: marks
        .all()
        .map((one) => ({ mark: textOf(one, 'mark'), since: numberOf(one, 'since') })),
      seq: numberOf(now(), 'seq'),
      sent: numberOf(now(), 'sent'),
      isFilled: now().filled === 1,
    }),
    /** The number of the last change. */
    seq: (): number => numberOf(now(), 'seq'),
    isFilled: (): boolean => now().filled === 1,
    /** While everything is sent again: what has a lower number in the database is deleted in the end. */
    sweepsBelow: (): number | undefined => {
      const { sweep } = now()
      return typeof sweep === 'number' ? sweep : undefined
    },
    ...sending(store),
    ...filling(store),
  }
}

function sending(store: SqliteStore) {
  const { db } = store
  const list = db.prepare('SELECT kind, id, seq FROM unsent WHERE seq > ? ORDER BY seq LIMIT ?')
  const reads = Object.fromEntries(
    kinds.map((kind) => [kind, db.prepare(`${recordQueries[kind]} WHERE ${ids[kind][1]} = ?`)]),
  ) as Record<Kind, ReturnType<typeof db.prepare>>
  const number = db.prepare('SELECT seq FROM mirror')
  const remove = db.prepare('DELETE FROM unsent WHERE seq <= ? AND refused = 0')
  const setRefused = db.prepare('UPDATE unsent SET refused = ? WHERE kind = ? AND id = ?')
  const noteSent = db.prepare('UPDATE mirror SET sent = max(sent, ?)')
  const waiting = db.prepare(
    `SELECT count(*) AS n FROM (SELECT 1 FROM unsent WHERE seq > ? LIMIT ${mostCounted + 1})`,
  )
  const nameOf = (row: Row) => ({
    kind: textOf(row, 'kind') as Kind,
    id: textOf(row, 'id'),
    seq: numberOf(row, 'seq'),
  })
  const stateOf = (name: Omit<Mirrored, 'record'>, found: Row | undefined): Mirrored => {
    try {
      return { ...name, record: found && recordOf(name.kind, found) }
    } catch (error) {
      return { ...name, record: undefined, error }
    }
  }
  const readBatch = (after: number, most: number): Batch => {
    const states: Mirrored[] = []
    let bytes = 0
    let upTo = after
    for (const row of list.all(after, most)) {
      const name = nameOf(row)
      const found = reads[name.kind].get(name.id)
      const size = found ? bytesIn(found) : 0
      if (states.length > 0 && bytes + size > mostBytes) return { states, upTo, isLast: false }
      bytes += size
      upTo = name.seq
      states.push(stateOf(name, found))
    }
    const isLast = states.length < most
    return { states, upTo: isLast ? numberOf(number.get() ?? {}, 'seq') : upTo, isLast }
  }
  return {
    /** Returns the first states that follow a number, in the order of their numbers, within the limits of a batch. Only what is committed. */
    take: (after: number, most: number): Batch => {
      let batch: Batch = { states: [], upTo: after, isLast: true }
      store.betweenCommits(() => {
        // Within one snapshot, whatever other processes commit.
        db.exec('BEGIN')
        try {
          batch = readBatch(after, most)
        } finally {
          db.exec('ROLLBACK')
        }
      })
      return batch
    },
    /** Notes that the database has everything up to a number. */
    noteSent: (upTo: number): Promise<void> =>
      store.transactSoon(() => {
        remove.run(upTo)
        noteSent.run(upTo)
      }),
    /** Keeps a record as unsent that the database refuses, until it takes it. */
    refuse: ({ kind, id }: Mirrored, isRefused: boolean): Promise<void> =>
      store.transactSoon(() => void setRefused.run(Number(isRefused), kind, id)),
    /** Has what is refused sent again, after all others. */
    postpone: (): Promise<void> => store.transactSoon(() => db.exec(`${noteRefused}; ${raise}`)),
    /** How many records wait after a number; one more than `mostCounted` stands for all higher numbers. */
    countWaiting: (after: number): number => numberOf(waiting.get(after) ?? {}, 'n'),
  }
}

/** Notes everything as unsent, in turns of some thousand records. */
function* notingAll(db: SqliteDatabase): Generator<void> {
  const raiseNumber = db.prepare(raise)
  const last = db.prepare('SELECT id FROM unsent ORDER BY seq DESC LIMIT 1')
  for (const kind of kinds) {
    const some = db.prepare(noteSome(kind))
    let after = ''
    while (didChange(some.run(after))) {
      raiseNumber.run()
      after = textOf(last.get() ?? {}, 'id')
      yield
    }
  }
}

/** About how much of a message a row takes. */
const bytesIn = (row: Row): number =>
  Object.values(row).reduce<number>(
    (sum, value) =>
      sum + (typeof value === 'string' || value instanceof Uint8Array ? value.length : 8),
    0,
  )

function filling(store: SqliteStore) {
  const { db } = store
  const isNoted = db.prepare('SELECT 1 FROM unsent WHERE kind = ? AND id = ?')
  const forget = db.prepare('DELETE FROM unsent WHERE kind = ? AND id = ?')
  const numbers = db.prepare('SELECT seq FROM mirror')
  return {
    /** Raises all numbers above those of a database, before the file is filled from it. */
    raise: (by: number): Promise<void> =>
      store.transact(() =>
        db.exec(`UPDATE unsent SET seq = seq + ${by}; UPDATE mirror SET seq = seq + ${by}`),
      ),
    /** Takes the records of a database, except those that were changed here. */
    fill: async (records: AsyncIterable<StoreRecord>): Promise<void> => {
      // A fill that was not done to its end may have left what the database has no more.
      await store.transact((all) => {
        const before = numberOf(numbers.get() ?? {}, 'seq')
        all.forget()
        db.exec(clear)
        db.prepare('DELETE FROM unsent WHERE seq > ?').run(before)
      })
      let [batch, bytes]: [StoreRecord[], number] = [[], 0]
      const flush = () =>
        store.transact((all) => {
          for (const record of batch) {
            if (isNoted.get(record.kind, idOf(record))) continue
            all.put(record)
            forget.run(record.kind, idOf(record))
          }
          ;[batch, bytes] = [[], 0]
        })
      for await (const record of records) {
        bytes += record.kind === 'blob' ? record.bytes.length : 0
        if (batch.push(record) >= recordsAtOnce || bytes >= mostBytes) await flush()
      }
      await flush()
      await store.transact(() => db.exec('UPDATE mirror SET filled = 1'))
    },
    /** Has everything sent again, to a database that has lost all above the number `sent`, or never had any of it. */
    noteAll: async (sent: number): Promise<void> => {
      await store.transact(() => db.exec('UPDATE mirror SET sweep = seq'))
      const turns = notingAll(db)
      for (let isDone = false; !isDone; ) {
        await store.transact(() => {
          isDone = turns.next().done === true
        })
      }
      await store.transact(() => db.exec(`UPDATE mirror SET sent = ${sent}`))
    },
    noteSwept: (): Promise<void> => store.transact(() => db.exec('UPDATE mirror SET sweep = NULL')),
  }
}
