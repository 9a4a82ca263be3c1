import { mkdirSync } from 'node:fs'
import { homedir, hostname } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { toBase64Url } from '../../lib/digest.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { systemClock as clock, systemRandom as random } from '../../lib/system.ts'
import { createMemoryStore } from '../store/memory/store.ts'
import { isAbsent } from '../store/sqlite/path.ts'
import type { SqliteStore } from '../store/sqlite/store.ts'
import type { Store } from '../store/store.ts'
import type { Log } from '../telemetry/log.ts'
import type { Settings } from './settings.ts'

/**
 * Opens the store that a database URL names: `memory:`, `sqlite:FILE` or `mongodb://...`, for commands of the operator. A `guest` shares a file with a running ICL. Throws
 * SvcError `store-unavailable`, or another `store-...` that says what is wrong with a file.
 */
export async function openStore(
  url: string,
  options: { guest?: boolean; log?: Log } = {},
): Promise<Store> {
  if (url === 'memory:') return createMemoryStore()
  if (url.startsWith('sqlite:')) {
    const [{ openSqliteStore, whileStopped }, { storeForCommands }] = await Promise.all([
      import('../store/sqlite/file.ts'),
      import('../store/mirror/commands.ts'),
    ])
    const file = sqliteFileOf(url)
    const mark = toBase64Url(random.bytes(12))
    return storeForCommands(
      await openSqliteStore(file, options),
      // A command that is no guest has the lock.
      async (work) => void (await (options.guest ? whileStopped(file, work) : work())),
      mark,
      options.log,
    )
  }
  if (isMongoUrl(url)) {
    const [{ openMongoStore }, { createSharedStore }] = await Promise.all([
      import('../store/mongodb/store.ts'),
      import('../store/mongodb/shared.ts'),
    ])
    const mongo = { url, clock, random, log: options.log }
    return openMongoStore(mongo, createSharedStore(mongo, true))
  }
  throw new SvcError('store-unavailable', `There is no store for ${new URL(url).protocol}`, {
    hint: 'SVC_ICL_DATABASE_URL has to be memory:, sqlite:FILE or mongodb://...',
  })
}

type StoreSettings = Pick<
  Settings,
  'SVC_ICL_DATABASE_URL' | 'SVC_ICL_REPLICAS' | 'SVC_ICL_LOCAL_COPY'
>

/** Returns the URL under which commands of the operator find the records of an ICL: that of its file if it has one. */
export function recordsUrlOf(settings: StoreSettings): string {
  const file = mirrorFileOf(settings)
  return file === undefined || isAbsent(file) ? settings.SVC_ICL_DATABASE_URL : `sqlite:${file}`
}

/** Opens the store of an ICL. MongoDB follows the file of an ICL that is alone. Throws as `openStore`, and what `openMirror` throws. */
export async function openServiceStore(
  settings: StoreSettings & Pick<Settings, 'SVC_ICL_START_EMPTY'>,
  log: Log,
): Promise<Store> {
  const { SVC_ICL_DATABASE_URL: url, SVC_ICL_REPLICAS: replicas } = settings
  if (url.startsWith('sqlite:')) {
    const opened = await openFile(sqliteFileOf(url), log)
    return 'store' in opened ? opened.store.ahead() : createMemoryStore(opened.whyNot)
  }
  if (!isMongoUrl(url)) return openStore(url, { log })
  if (replicas > 1) {
    const { openSharedStore } = await import('../store/mongodb/shared.ts')
    return openSharedStore({ url, clock, random, log })
  }
  const [{ createMongoFollower }, { openMirror }, { openMemoryFile }] = await Promise.all([
    import('../store/mongodb/follower.ts'),
    import('../store/mirror/mirror.ts'),
    import('../store/sqlite/file.ts'),
  ])
  const file = mirrorFileOf(settings)
  const opened = file === undefined ? { whyNot: 'there is no file' } : await openMade(file, log)
  const whyInMemory = 'whyNot' in opened ? opened.whyNot : undefined
  return openMirror({
    store: 'store' in opened ? opened.store : await openMemoryFile(log),
    follower: createMongoFollower({ url, clock, random, log }),
    name: `${hostname()}:${whyInMemory === undefined && file ? resolve(file) : 'memory'}`,
    ...{ whyInMemory, clock, random, log },
    startEmpty: settings.SVC_ICL_START_EMPTY === 1,
  })
}

/** The file that the MongoDB of an ICL with these settings follows; undefined for none. */
export function mirrorFileOf({
  SVC_ICL_DATABASE_URL: url,
  SVC_ICL_REPLICAS: replicas,
  SVC_ICL_LOCAL_COPY: file,
}: StoreSettings): string | undefined {
  if (!isMongoUrl(url) || replicas > 1 || file === 'off') return undefined
  return file ?? join(homedir(), '.svc-icl', 'copy.db')
}

type Opened = { readonly store: SqliteStore } | { readonly whyNot: string }

async function openMade(file: string, log: Log): Promise<Opened> {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  } catch {
    // The folder cannot be made: that the file cannot be opened says why.
  }
  return openFile(file, log)
}

/** Opens a file. Says why when its folder cannot be reached or written; throws other errors. */
async function openFile(file: string, log: Log): Promise<Opened> {
  const { openSqliteStore } = await import('../store/sqlite/file.ts')
  try {
    return { store: await openSqliteStore(file, { log }) }
  } catch (error) {
    const isOutOfReach = error instanceof SvcError && error.code === 'store-out-of-reach'
    if (!isOutOfReach) throw error
    log.error('The store is in memory, as its file is out of reach', {
      reason: error.message,
      hint: error.hint,
    })
    return { whyNot: error.message }
  }
}

const isMongoUrl = (url: string): boolean => /^mongodb(\+srv)?:/.test(url)

/** `sqlite:FILE` and `sqlite:///FILE` name the same file. */
export const sqliteFileOf = (url: string): string => url.replace(/^sqlite:(\/\/(?=\/))?/, '')
