import type { Clock } from '../../../lib/clock.ts'
import type { Address } from '../../../lib/codecs.ts'
import { toBase64Url } from '../../../lib/digest.ts'
import { ProblemError } from '../../../lib/problem.ts'
import type { Random } from '../../../lib/random.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import type { Log } from '../../telemetry/log.ts'
import { lastingAtOnce, type Store, type Write } from '../store.ts'
import { createUnreadable } from '../unreadable.ts'
import { createCache } from './cache.ts'
import { changeReads } from './changes.ts'
import type { MongoCollections } from './collections.ts'
import {
  createMongoConnection,
  defaultMongoTimeouts,
  hostsOf,
  type MongoTimeouts,
} from './connection.ts'
import { createQueries } from './queries.ts'
import { jobFigures, jobReads, otherReads } from './reads.ts'
import { type Attempt, restoreOnce, saveAllOnce } from './saves.ts'
import { pruning, scanAll } from './upkeep.ts'

/** The settings of a store in MongoDB. */
export type MongoOptions = {
  /** `mongodb://` or `mongodb+srv://`; the database is `svc` unless it names one. */
  readonly url: string
  readonly clock: Clock
  readonly random: Random
  readonly timeouts?: MongoTimeouts
  readonly log?: Log | undefined
}

/**
 * Creates a store in MongoDB, or in a server that speaks its protocol, for any number of ICLs. It connects at its first use. While the
 * server is away every call throws ProblemError `unavailable`. With `isCached` reads come from memory as far as possible (cache.ts). Throws SvcError `settings-invalid` for an invalid URL.
 */
export function createMongoStore(
  { url, clock, random, timeouts, log }: MongoOptions,
  connection = createMongoConnection(url, clock, timeouts ?? defaultMongoTimeouts),
  isCached = false,
): Store {
  const unreadable = createUnreadable(log)
  const queries = createQueries(connection)
  const cache = isCached ? createCache(queries, unreadable, clock) : undefined
  const saving = <T>(
    once: (collections: MongoCollections, attempt: Attempt) => Promise<T>,
    base?: string,
  ): Promise<T> => {
    const writeId = toBase64Url(random.bytes(12))
    return connection.run((collections, attempt) =>
      once(collections, { writeId, retried: attempt > 1, base }),
    )
  }
  const saveAll = (writes: readonly Write[]): Promise<Write | undefined> =>
    saving(async (all, attempt) => {
      const refused = await saveAllOnce(all, writes, attempt)
      cache?.noteSave(writes, refused, attempt.writeId)
      return refused
    }, cache?.baseOf(writes))
  const reads = { ...jobReads(queries, unreadable), ...otherReads(queries, unreadable) }
  const { countJobsOfClient } = reads
  const upkeep = pruning(connection)
  return {
    durable: true,
    shared: true,
    commits: lastingAtOnce,
    status: () => {
      const trouble = connection.trouble()
      const isUp = trouble === undefined
      const reasons = [...(isUp ? [] : [trouble]), ...unreadable.reasons()]
      return { connected: isUp, writable: isUp, reasons, ...unreadable.figures() }
    },
    ping: () => connection.ping(),
    close: () => connection.close(),
    save: async (write) => (await saveAll([write])) === undefined,
    saveAll,
    ...reads,
    ...jobFigures(queries),
    ...changeReads(queries, clock),
    ...upkeep,
    erase: async (record) => {
      const isErased = await upkeep.erase(record)
      if (record.kind === 'job') cache?.drop('job', record.id)
      if (record.kind === 'client') cache?.drop('client', record.address)
      return isErased
    },
    ...(cache && {
      ...cache.reads,
      countJobsOfClient: (client: Address, which: { since: number } | 'unsettled') =>
        which === 'unsettled' ? cache.countUnsettled(client) : countJobsOfClient(client, which),
    }),
    scan: () => scanAll(connection),
    restore: (record) => saving((all, { writeId }) => restoreOnce(all, record, writeId)),
  }
}

/** Pings a new store in MongoDB; throws SvcError `store-unavailable` (retryable) when the server does not answer. */
export async function openMongoStore(
  options: MongoOptions,
  store = createMongoStore(options),
): Promise<Store> {
  try {
    await store.ping()
    return store
  } catch (error) {
    await store.close()
    if (!(error instanceof ProblemError)) throw error
    const [reason] = store.status().reasons
    throw new SvcError('store-unavailable', `${reason} (${hostsOf(options.url)})`, {
      hint: 'Start it, or look after SVC_ICL_DATABASE_URL and the network.',
      retryable: true,
    })
  }
}
