import { mkdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { elapsedSince, type MonotonicMs } from '../../lib/clock.ts'
import { toBase64Url } from '../../lib/digest.ts'
import { errorMessage } from '../../lib/error-message.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { systemClock as clock, systemRandom } from '../../lib/system.ts'
import { joinReplicas } from '../records/replicas.ts'
import type { LocalCopy } from '../store/bridge/local-copy.ts'
import { createMemoryStore } from '../store/memory/store.ts'
import type { Store } from '../store/store.ts'
import type { Log } from '../telemetry/log.ts'
import type { OpenedStore } from './host.ts'
import type { Settings } from './settings.ts'

/**
 * Opens the store that a database URL names: `memory:`, `sqlite:FILE` or `mongodb://...`. A `guest` shares it with a running ICL. Throws
 * SvcError `store-unavailable`, or another `store-...` that says what is wrong with a file.
 */
export async function openStore(
  url: string,
  options: { guest?: boolean; log?: Log } = {},
): Promise<Store> {
  if (url === 'memory:') return createMemoryStore()
  if (url.startsWith('sqlite:')) {
    const { openSqliteStore } = await import('../store/sqlite/file.ts')
    return openSqliteStore(sqliteFileOf(url), options)
  }
  if (isMongoUrl(url)) {
    const { openMongoStore } = await import('../store/mongodb/store.ts')
    const { log } = options
    const store = await openMongoStore({ url, clock, random: systemRandom, log })
    return options.guest ? asGuest(store) : store
  }
  throw new SvcError('store-unavailable', `There is no store for ${new URL(url).protocol}`, {
    hint: 'SVC_ICL_DATABASE_URL has to be memory:, sqlite:FILE or mongodb://...',
  })
}

/** How often a guest announces that it goes on changing the store, in milliseconds. */
const sayAgainMs = 60_000

/** A shared store in which a guest announces its changes, before and after, so that an ICL fills its local copy anew. */
function asGuest(store: Store): Store {
  let saidAt: MonotonicMs | undefined
  const say = async () => {
    await joinReplicas(store, `guest-${toBase64Url(systemRandom.bytes(12))}`, clock.now())
    saidAt = clock.monotonic()
  }
  const sayNow = async () => {
    if (elapsedSince(clock, saidAt) >= sayAgainMs) await say()
  }
  return {
    ...store,
    save: (write, writeId) => sayNow().then(() => store.save(write, writeId)),
    saveAll: (writes, writeId) => sayNow().then(() => store.saveAll(writes, writeId)),
    restore: (record) => sayNow().then(() => store.restore(record)),
    prune: (what) => sayNow().then(() => store.prune(what)),
    erase: (record) => sayNow().then(() => store.erase(record)),
    close: async () => {
      try {
        if (saidAt !== undefined) await say()
      } finally {
        await store.close()
      }
    },
  }
}

type StoreSettings = Pick<
  Settings,
  'SVC_ICL_DATABASE_URL' | 'SVC_ICL_REPLICAS' | 'SVC_ICL_LOCAL_COPY'
>

/** Opens the store of an ICL. A single ICL on MongoDB has a local copy for times when MongoDB is away. Throws as `openStore`. */
export async function openServiceStore(settings: StoreSettings, log: Log): Promise<OpenedStore> {
  const { SVC_ICL_DATABASE_URL: url } = settings
  const random = systemRandom
  const someId = toBase64Url(random.bytes(12))
  if (url.startsWith('sqlite:')) {
    const { openSqliteStore } = await import('../store/sqlite/file.ts')
    const store = await openSqliteStore(sqliteFileOf(url), { log })
    return { store: store.ahead(), replicaId: someId }
  }
  if (!isMongoUrl(url)) return { store: await openStore(url, { log }), replicaId: someId }
  const [{ createMongoStore }, { openBridge }] = await Promise.all([
    import('../store/mongodb/store.ts'),
    import('../store/bridge/bridge.ts'),
  ])
  const open = async () => createMongoStore({ url, clock, random, log })
  const copy = await openCopy(settings, log)
  const replicaId = copy?.replicaId(someId) ?? someId
  return { store: await openBridge({ open, copy, replicaId, clock, random, log }), replicaId }
}

/** The file of the local copy that an ICL with these settings keeps; undefined for none. */
export function copyFileOf({
  SVC_ICL_DATABASE_URL: url,
  SVC_ICL_REPLICAS: replicas,
  SVC_ICL_LOCAL_COPY: file,
}: StoreSettings): string | undefined {
  if (!isMongoUrl(url) || replicas > 1 || file === 'off') return undefined
  return file ?? join(homedir(), '.svc-icl', 'copy.db')
}

/** Opens the local copy; undefined for none. An error is fatal only in a file that the operator names, or in a corrupt one. */
async function openCopy(settings: StoreSettings, log: Log): Promise<LocalCopy | undefined> {
  const file = copyFileOf(settings)
  if (file === undefined) {
    log.info('There is no local copy: everything waits while MongoDB is away')
    return undefined
  }
  const [{ openSqliteStore }, { createLocalCopy }] = await Promise.all([
    import('../store/sqlite/file.ts'),
    import('../store/bridge/local-copy.ts'),
  ])
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    return createLocalCopy(await openSqliteStore(file, { log }))
  } catch (error) {
    if (settings.SVC_ICL_LOCAL_COPY !== undefined) throw error
    if (error instanceof SvcError && error.code === 'store-corrupt') throw error
    log.warn(
      'There is no local copy: everything waits while MongoDB is away. Set SVC_ICL_LOCAL_COPY',
      { reason: errorMessage(error) },
    )
    return undefined
  }
}

const isMongoUrl = (url: string): boolean => /^mongodb(\+srv)?:/.test(url)

/** `sqlite:FILE` and `sqlite:///FILE` name the same file. */
export const sqliteFileOf = (url: string): string => url.replace(/^sqlite:(\/\/(?=\/))?/, '')
