/*
 * The part of a mirror in the file: which records the database may lack (`unsent`, one row a record, however often it changes), and
 * what the file knows of the database. Triggers write it in the transaction that changes a record, also when a command of the
 * operator changes it.
 */

import { numberOf, type Row, recordOf, textOf } from '../rows.ts'
import { recordQueries, type SqliteStore } from '../sqlite/store.ts'
import type { SqliteWrites } from '../sqlite/writes.ts'
import { idOf, type StoreRecord } from '../store.ts'
import type { Facts, Kind, Mirrored } from './follower.ts'

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
  CREATE TABLE mirror_state (name TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE mirror_marks (at INTEGER PRIMARY KEY, mark TEXT NOT NULL, since INTEGER NOT NULL) STRICT;
  -- The numbers of the last change, and of the last one that the database has.
  CREATE TABLE mirror_numbers (seq INTEGER NOT NULL, sent INTEGER NOT NULL) STRICT;
  INSERT INTO mirror_numbers VALUES (0, 0);
  CREATE TABLE unsent (
    kind TEXT NOT NULL, id TEXT NOT NULL, seq INTEGER NOT NULL, is_refused INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (kind, id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX unsent_by_seq ON unsent (seq);
  -- Records that are gone, whose numbers the database still has.
  CREATE TABLE tombstones (
    kind TEXT NOT NULL, id TEXT NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (kind, id)
  ) STRICT, WITHOUT ROWID;
`
const next = 'UPDATE mirror_numbers SET seq = seq + 1'
const note = (kind: Kind, id: string, where: string) => `
  INSERT INTO unsent (kind, id, seq) SELECT '${kind}', ${id}, seq FROM mirror_numbers WHERE ${where}
  ON CONFLICT DO UPDATE SET seq = excluded.seq, is_refused = 0`
const triggers = kinds.flatMap((kind) =>
  (['INSERT', 'UPDATE', 'DELETE'] as const).map((change) => {
    const [table, id] = ids[kind]
    const row = change === 'DELETE' ? 'old' : 'new'
    return `CREATE TRIGGER mirror_${kind}_${change} AFTER ${change} ON ${table} BEGIN
      ${next}; ${note(kind, `${row}.${id}`, 'true')};
    END;`
  }),
)
const noteAll = kinds.map((kind) => {
  const [table, id] = ids[kind]
  return `
    INSERT INTO unsent (kind, id, seq)
      SELECT '${kind}', ${id}, (SELECT seq FROM mirror_numbers) + row_number() OVER () FROM ${table} WHERE true
      ON CONFLICT DO UPDATE SET seq = excluded.seq, is_refused = 0;
    UPDATE mirror_numbers SET seq = max(seq, coalesce((SELECT max(seq) FROM unsent), 0));`
})

const mostStates = 200
const mostBytes = 4 * 1024 * 1024
const recordsAtOnce = 200
const mostForgotten = 1_000

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
      db.exec([tables, ...triggers, ...noteAll].join('\n'))
      db.prepare("INSERT INTO mirror_state VALUES ('file', ?)").run(newId)
      // A file that was in use before has to be sent as a whole, and is not filled.
      db.exec("INSERT INTO mirror_state SELECT 'filled', '' WHERE EXISTS (SELECT 1 FROM unsent)")
    }
    const add = db.prepare(
      'INSERT INTO mirror_marks (mark, since) SELECT ?, seq FROM mirror_numbers',
    )
    add.run(mark)
    db.exec('COMMIT')
  } catch (error) {
    db.exec('ROLLBACK')
    throw error
  }
  const numbers = db.prepare('SELECT seq, sent FROM mirror_numbers')
  const now = (): Row => numbers.get() ?? {}
  const state = db.prepare('SELECT value FROM mirror_state WHERE name = ?')
  const isSet = (name: string) => state.get(name) !== undefined
  const set = (name: string, isOn: boolean) =>
    db.exec(
      isOn
        ? `INSERT INTO mirror_state VALUES ('${name}', '') ON CONFLICT DO NOTHING`
        : `DELETE FROM mirror_state WHERE name = '${name}'`,
    )
  return {
    facts: (): Facts => ({
      file: textOf(state.get('file') ?? {}, 'value'),
      marks: db
        .prepare('SELECT mark, since FROM mirror_marks ORDER BY at')
        .all()
        .map((row) => ({ mark: textOf(row, 'mark'), since: numberOf(row, 'since') })),
      seq: numberOf(now(), 'seq'),
      sent: numberOf(now(), 'sent'),
      isFilled: isSet('filled'),
    }),
    /** The number of the last change. */
    seq: (): number => numberOf(now(), 'seq'),
    isFilled: (): boolean => isSet('filled'),
    /** True when the database may have records that the file deleted before it was sent to this database. */
    hasStrangers: (): boolean => isSet('strangers'),
    ...sending(store),
    ...filling(store, set),
  }
}

function sending(store: SqliteStore) {
  const { db } = store
  const list = db.prepare(
    'SELECT kind, id, seq FROM unsent WHERE seq > ? AND is_refused = 0 ORDER BY seq LIMIT ?',
  )
  const reads = Object.fromEntries(
    kinds.map((kind) => [kind, db.prepare(`${recordQueries[kind]} WHERE ${ids[kind][1]} = ?`)]),
  ) as Record<Kind, ReturnType<typeof db.prepare>>
  const number = db.prepare('SELECT seq FROM mirror_numbers')
  const remove = db.prepare('DELETE FROM unsent WHERE seq <= ? AND is_refused = 0')
  const noteSent = db.prepare('UPDATE mirror_numbers SET sent = max(sent, ?)')
  const bury = db.prepare('INSERT OR REPLACE INTO tombstones VALUES (?, ?, ?)')
  const setAside = db.prepare(
    'UPDATE unsent SET is_refused = 1 WHERE kind = ? AND id = ? AND seq = ?',
  )
  const waiting = db.prepare(
    'SELECT count(*) AS n, total(is_refused) AS refused FROM unsent WHERE seq > ? OR is_refused = 1',
  )
  const buried = db.prepare('SELECT kind, id, seq FROM tombstones WHERE seq <= ? LIMIT ?')
  const unbury = db.prepare('DELETE FROM tombstones WHERE kind = ? AND id = ? AND seq = ?')
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
  const readBatch = (after: number): Batch => {
    const states: Mirrored[] = []
    let bytes = 0
    let upTo = after
    for (const row of list.all(after, mostStates)) {
      const name = nameOf(row)
      const found = reads[name.kind].get(name.id)
      const size = found ? bytesIn(found) : 0
      if (states.length > 0 && bytes + size > mostBytes) return { states, upTo, isLast: false }
      bytes += size
      upTo = name.seq
      states.push(stateOf(name, found))
    }
    const isLast = states.length < mostStates
    return { states, upTo: isLast ? numberOf(number.get() ?? {}, 'seq') : upTo, isLast }
  }
  return {
    /** Returns the first states that follow a number, in the order of their numbers, within the limits of a batch. Only what is committed. */
    take: (after: number): Batch => {
      let batch: Batch = { states: [], upTo: after, isLast: true }
      store.betweenCommits(() => {
        // Within one snapshot, whatever other processes commit.
        db.exec('BEGIN')
        try {
          batch = readBatch(after)
        } finally {
          db.exec('ROLLBACK')
        }
      })
      return batch
    },
    /** Notes that the database has everything up to a number, and which records of it are gone. */
    noteSent: (upTo: number, gone: readonly Mirrored[]): Promise<void> =>
      store.transactSoon(() => {
        remove.run(upTo)
        noteSent.run(upTo)
        for (const { kind, id, seq } of gone) bury.run(kind, id, seq)
      }),
    /** Leaves out a state that the database refuses, until it changes or `retryRefused`. */
    setAside: ({ kind, id, seq }: Mirrored): Promise<void> =>
      store.transactSoon(() => {
        setAside.run(kind, id, seq)
      }),
    retryRefused: (): Promise<void> =>
      store.transactSoon(() => db.exec('UPDATE unsent SET is_refused = 0 WHERE is_refused = 1')),
    /** How many records wait after a number, and how many the database refuses. */
    countWaiting: (after: number) => {
      const row = waiting.get(after) ?? {}
      return { waiting: numberOf(row, 'n'), refused: numberOf(row, 'refused') }
    },
    /** Records up to a number that are gone, and whose numbers the database still has. */
    listGone: (upTo: number) => buried.all(upTo, mostForgotten).map(nameOf),
    forgetGone: (gone: readonly Omit<Mirrored, 'record'>[]): Promise<void> =>
      store.transactSoon(() => {
        for (const { kind, id, seq } of gone) unbury.run(kind, id, seq)
      }),
  }
}

/** About how much of a message a row takes. */
const bytesIn = (row: Row): number =>
  Object.values(row).reduce<number>(
    (sum, value) =>
      sum + (typeof value === 'string' || value instanceof Uint8Array ? value.length : 8),
    0,
  )

function filling(store: SqliteStore, set: (name: string, isOn: boolean) => void) {
  const { db } = store
  const isNoted = db.prepare('SELECT 1 FROM unsent WHERE kind = ? AND id = ?')
  const forget = db.prepare('DELETE FROM unsent WHERE kind = ? AND id = ?')
  const noteAbsent = Object.fromEntries(
    kinds.map((kind) => {
      const [table, id] = ids[kind]
      const isAbsent = `NOT EXISTS (SELECT 1 FROM ${table} WHERE ${id} = ?1)`
      return [kind, db.prepare(note(kind, '?1', isAbsent))]
    }),
  ) as Record<Kind, ReturnType<typeof db.prepare>>
  const inBatches = async (
    records: AsyncIterable<StoreRecord>,
    apply: (all: SqliteWrites, record: StoreRecord) => void,
  ) => {
    let batch: StoreRecord[] = []
    const flush = () =>
      store.transact((all) => {
        for (const record of batch) apply(all, record)
      })
    for await (const record of records) {
      batch.push(record)
      if (batch.length < recordsAtOnce) continue
      await flush()
      batch = []
    }
    await flush()
  }
  return {
    /** Raises all numbers above those of a database, before the file is filled from it. */
    raise: (by: number): Promise<void> =>
      store.transact(() =>
        db.exec(`UPDATE unsent SET seq = seq + ${by}; UPDATE mirror_numbers SET seq = seq + ${by}`),
      ),
    /** Takes the records of a database, except those that were changed here. */
    fill: async (records: AsyncIterable<StoreRecord>): Promise<void> => {
      await inBatches(records, (all, record) => {
        if (isNoted.get(record.kind, idOf(record))) return
        all.put(record)
        forget.run(record.kind, idOf(record))
      })
      await store.transact(() => set('filled', true))
    },
    /** Has everything sent again, to a database that has lost `sent` numbers or never had them. */
    noteAll: (sent: number): Promise<void> =>
      store.transact(() => {
        db.exec([...noteAll, `UPDATE mirror_numbers SET sent = ${sent};`].join('\n'))
        set('strangers', true)
      }),
    /** Has those of a database's records deleted there that the file lacks. */
    noteStrangers: async (records: AsyncIterable<StoreRecord>): Promise<void> => {
      await inBatches(records, (_, record) => {
        db.exec(next)
        noteAbsent[record.kind].run(idOf(record))
      })
      await store.transact(() => set('strangers', false))
    },
  }
}
