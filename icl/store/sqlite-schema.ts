import { SvcError } from '../../lib/svc-error.ts'
import { numberOf, type SqliteDatabase } from './sqlite-database.ts'

/** Tells a store's file from any other SQLite file: "SVCi". */
const applicationId = 0x53_56_43_69

/** Every step from an empty file to today's tables, each done once; a file's `user_version` counts those it has had. */
const migrations: readonly string[] = [
  `
  CREATE TABLE counters (name TEXT PRIMARY KEY NOT NULL, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  INSERT INTO counters VALUES ('changes', 0);

  CREATE TABLE jobs (
    id TEXT PRIMARY KEY NOT NULL,
    version INTEGER NOT NULL,
    write_id TEXT,
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
    UPDATE phases SET jobs = jobs - 1 WHERE phase = old.phase;
  END;

  CREATE TABLE nodes (
    address TEXT PRIMARY KEY NOT NULL,
    version INTEGER NOT NULL,
    write_id TEXT,
    expires_at REAL NOT NULL,
    document TEXT NOT NULL
  ) STRICT;
  CREATE INDEX nodes_by_expiry ON nodes (expires_at);

  CREATE TABLE events (
    id TEXT PRIMARY KEY NOT NULL, node TEXT NOT NULL, at REAL NOT NULL, document TEXT NOT NULL
  ) STRICT;
  CREATE INDEX events_by_node ON events (node, at, id);

  CREATE TABLE keys (
    key TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL, expires_at REAL NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX keys_by_expiry ON keys (expires_at);

  CREATE TABLE blobs (
    cid TEXT PRIMARY KEY NOT NULL, uploader TEXT NOT NULL, size INTEGER NOT NULL, until REAL NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX blobs_by_uploader ON blobs (uploader, size);
  CREATE INDEX blobs_by_expiry ON blobs (until);
  -- Apart, because SQLite rewrites a whole row when any of its columns changes.
  CREATE TABLE blob_bytes (cid TEXT PRIMARY KEY NOT NULL, bytes BLOB NOT NULL) STRICT;
  `,
  `
  CREATE INDEX jobs_by_age ON jobs (created_at, id);
  CREATE INDEX jobs_by_phase ON jobs (phase, created_at, id);
  `,
]

/** How durable each commit is, and how long a write waits for another process's. */
export const pragmas = `
  PRAGMA synchronous = FULL;
  PRAGMA fullfsync = 1;
  PRAGMA checkpoint_fullfsync = 1;
  PRAGMA busy_timeout = 2000;
  PRAGMA journal_size_limit = 67108864;
  PRAGMA cache_size = -32768;
  PRAGMA trusted_schema = 0;
`

/** Brings the tables up to date, and answers how many migrations the file had had: 0 when it is new. Throws as `checkOwner`. */
export function migrate(db: SqliteDatabase, path: string): number {
  const version = checkOwner(db, path)
  if (version === migrations.length) return version
  db.exec('BEGIN EXCLUSIVE')
  try {
    db.exec(`PRAGMA application_id = ${applicationId}`)
    for (const step of migrations.slice(version)) db.exec(step)
    db.exec(`PRAGMA user_version = ${migrations.length}`)
    db.exec('COMMIT')
    return version
  } catch (error) {
    db.exec('ROLLBACK')
    throw error
  }
}

/** Throws SvcError unless the tables are today's: whoever shares a running ICL's file does not change them. */
export function checkSchema(db: SqliteDatabase, path: string): void {
  if (checkOwner(db, path) === migrations.length) return
  throw new SvcError('store-version', `${path} is not a store of this version`, {
    hint: 'Use the version that the ICL runs, or start the new ICL once, which brings it up to date.',
  })
}

/** How many migrations a file has had; throws SvcError when it is another program's, or a newer version's. */
export function checkOwner(db: SqliteDatabase, path: string): number {
  const pragma = (name: string) => numberOf(db.prepare(`PRAGMA ${name}`).get() ?? {}, name)
  const owner = pragma('application_id')
  const version = pragma('user_version')
  const isEmpty = db.prepare('SELECT 1 FROM sqlite_schema LIMIT 1').get() === undefined
  if (owner !== applicationId && !isEmpty) {
    throw new SvcError('store-foreign', `${path} is the database of another program`, {
      hint: 'Give SVC_ICL_DATABASE_URL the name of a file of its own.',
    })
  }
  if (version > migrations.length) {
    throw new SvcError('store-version', `${path} was written by a newer version`, {
      hint: 'Use that version, or restore a backup from before the change.',
    })
  }
  return version
}
