import { SvcError } from '../../../lib/svc-error.ts'
import { numberOf } from '../rows.ts'
import type { SqliteDatabase } from './database.ts'

/** Increased with each change of the tables or of the documents in them. */
const schemaVersion = 10

const tables = `
  -- Tells a store from the database of another program. A row, because an edge host refuses PRAGMA user_version.
  CREATE TABLE svc_icl (version INTEGER NOT NULL) STRICT;
  INSERT INTO svc_icl VALUES (${schemaVersion});

  -- The last change of a job that was removed: a number is given once.
  CREATE TABLE counters (name TEXT PRIMARY KEY NOT NULL, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  INSERT INTO counters VALUES ('changes', 0);

  CREATE TABLE jobs (
    id TEXT PRIMARY KEY NOT NULL,
    version INTEGER NOT NULL,
    change INTEGER NOT NULL,
    client TEXT NOT NULL,
    phase TEXT NOT NULL,
    created_at REAL NOT NULL,
    settled_at REAL,
    tick_at REAL,
    effects_due_at REAL,
    effects INTEGER NOT NULL,
    document TEXT NOT NULL
  ) STRICT;
  -- What of a job's document never changes: apart, because SQLite rewrites a whole row when any of its columns changes.
  CREATE TABLE job_submissions (id TEXT PRIMARY KEY NOT NULL, document TEXT NOT NULL) STRICT;
  CREATE UNIQUE INDEX jobs_by_change ON jobs (change);
  CREATE INDEX jobs_by_client ON jobs (client, created_at, id, phase);
  CREATE INDEX jobs_unsettled ON jobs (client) WHERE settled_at IS NULL;
  CREATE INDEX jobs_by_tick ON jobs (tick_at, id) WHERE tick_at IS NOT NULL;
  CREATE INDEX jobs_by_effect ON jobs (effects_due_at, id, effects) WHERE effects_due_at IS NOT NULL;
  CREATE INDEX jobs_by_settling ON jobs (settled_at) WHERE settled_at IS NOT NULL AND effects_due_at IS NULL;

  CREATE TABLE occupied_slots (
    node TEXT NOT NULL, status TEXT NOT NULL, job TEXT NOT NULL, position INTEGER NOT NULL,
    PRIMARY KEY (node, status, job, position)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX occupied_slots_by_job ON occupied_slots (job);

  CREATE TABLE phases (phase TEXT PRIMARY KEY NOT NULL, jobs INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TRIGGER job_added AFTER INSERT ON jobs BEGIN
    INSERT INTO phases VALUES (new.phase, 1) ON CONFLICT DO UPDATE SET jobs = jobs + 1;
  END;
  CREATE TRIGGER job_moved AFTER UPDATE OF phase ON jobs WHEN old.phase <> new.phase BEGIN
    UPDATE phases SET jobs = jobs - 1 WHERE phase = old.phase;
    INSERT INTO phases VALUES (new.phase, 1) ON CONFLICT DO UPDATE SET jobs = jobs + 1;
  END;
  CREATE TRIGGER job_removed AFTER DELETE ON jobs BEGIN
    DELETE FROM job_submissions WHERE id = old.id;
    UPDATE phases SET jobs = jobs - 1 WHERE phase = old.phase;
    UPDATE counters SET value = old.change WHERE name = 'changes' AND value < old.change;
  END;

  CREATE TABLE nodes (
    address TEXT PRIMARY KEY NOT NULL,
    version INTEGER NOT NULL,
    expires_at REAL NOT NULL,
    document TEXT NOT NULL
  ) STRICT;
  CREATE INDEX nodes_by_expiry ON nodes (expires_at);

  CREATE TABLE clients (
    address TEXT PRIMARY KEY NOT NULL, version INTEGER NOT NULL, document TEXT NOT NULL
  ) STRICT;

  -- The document is the rest.
  CREATE TABLE events (
    id TEXT PRIMARY KEY NOT NULL, node TEXT NOT NULL, at REAL NOT NULL, document TEXT NOT NULL
  ) STRICT;
  CREATE INDEX events_by_node ON events (node, at);

  -- With row ids: else each index entry would have the whole key once more.
  CREATE TABLE keys (
    key TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL, expires_at REAL NOT NULL
  ) STRICT;
  CREATE INDEX keys_by_expiry ON keys (expires_at);

  CREATE TABLE blobs (
    cid TEXT PRIMARY KEY NOT NULL, uploader TEXT NOT NULL, size INTEGER NOT NULL, until REAL NOT NULL,
    used_until REAL NOT NULL, answered INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX blobs_by_use ON blobs (uploader, answered, used_until, size);
  CREATE INDEX blobs_by_expiry ON blobs (until);
  -- Apart for the same reason.
  CREATE TABLE blob_bytes (cid TEXT PRIMARY KEY NOT NULL, bytes BLOB NOT NULL) STRICT;

  CREATE INDEX jobs_by_age ON jobs (created_at, id);
  CREATE INDEX jobs_by_phase ON jobs (phase, created_at, id);
`

/**
 * The settings of each connection: how durable a commit is, how long a write waits for another process, and how much is written.
 * A commit writes whole pages, and most changes are a few hundred bytes in an index, so 1 KiB pages (of new files only) cut the
 * written bytes to a third. A checkpoint after each 16 MiB of log writes a page that changed often only once.
 */
export const pragmas = `
  PRAGMA page_size = 1024;
  PRAGMA wal_autocheckpoint = 16384;
  PRAGMA synchronous = FULL;
  PRAGMA fullfsync = 1;
  PRAGMA checkpoint_fullfsync = 1;
  PRAGMA busy_timeout = 2000;
  PRAGMA journal_size_limit = 67108864;
  PRAGMA cache_size = -32768;
  PRAGMA trusted_schema = 0;
`

/** Creates the tables in an empty file. */
export function makeTables(db: SqliteDatabase): void {
  db.exec('BEGIN EXCLUSIVE')
  try {
    db.exec(tables)
    db.exec('COMMIT')
  } catch (error) {
    db.exec('ROLLBACK')
    throw error
  }
}

/** Throws SvcError `store-foreign` for a file of another program, `store-version` for a file of another version. */
export function checkSchema(db: SqliteDatabase, path: string): void {
  const isOurs = has(db, "name = 'svc_icl'")
  if (!isOurs && !isEmpty(db)) {
    throw new SvcError('store-foreign', `${path} is the database of another program`, {
      hint: 'Give SVC_ICL_DATABASE_URL the name of a file of its own.',
    })
  }
  const version = isOurs
    ? numberOf(db.prepare('SELECT version FROM svc_icl').get() ?? {}, 'version')
    : 0
  if (version === schemaVersion) return
  throw new SvcError(
    'store-version',
    `${path} was written by another version: its tables are version ${version}, these are ${schemaVersion}`,
    { hint: 'Use the version that wrote it, or give SVC_ICL_DATABASE_URL the name of a new file.' },
  )
}

/** True for a database without tables, besides those of an edge host and of Cloudflare's tool for developers. */
export const isEmpty = (db: SqliteDatabase): boolean =>
  !has(db, "name NOT GLOB '_cf_*' AND name NOT GLOB '__miniflare_*'")

const has = (db: SqliteDatabase, which: string): boolean =>
  db.prepare(`SELECT 1 FROM sqlite_schema WHERE ${which} LIMIT 1`).get() !== undefined
