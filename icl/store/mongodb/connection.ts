import {
  type Db,
  MongoClient,
  type MongoClientOptions,
  MongoError,
  MongoNetworkError,
  MongoServerError,
  type TopologyDescription,
} from 'mongodb'
import { type Clock, elapsedSince } from '../../../lib/clock.ts'
import { within } from '../../../lib/deadline.ts'
import { errorMessage } from '../../../lib/error-message.ts'
import { ProblemError } from '../../../lib/problem.ts'
import { retrying } from '../../../lib/retry.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { collectionsOf, type MongoCollections, prepareDatabase } from './collections.ts'

/** Time limits, in milliseconds. */
export type MongoTimeouts = {
  /** To find a server that takes writes. */
  readonly selectionMs: number
  /** For the server to answer a command. */
  readonly answerMs: number
  /** After which a failed command is not tried again. */
  readonly retryWithinMs: number
}

export const defaultMongoTimeouts: MongoTimeouts = {
  selectionMs: 3_000,
  answerMs: 5_000,
  retryWithinMs: 3_000,
}

/** A connection that opens at its first use, and again at the next use after a failed open. The driver reconnects an open one. */
export type MongoConnection = ReturnType<typeof createMongoConnection>

const tries = { attempts: 3, firstDelayMs: 50, maxDelayMs: 500 }
const defaultDatabase = 'svc'

/** Creates a connection without opening it; throws SvcError `settings-invalid` for an invalid URL. */
export function createMongoConnection(url: string, clock: Clock, timeouts: MongoTimeouts) {
  let trouble: string | undefined = 'MongoDB is not connected yet'
  const create = () => {
    const made = createClient(url, timeouts)
    made.on('topologyDescriptionChanged', ({ newDescription }) => {
      if (made === client) trouble = troubleOfTopology(newDescription)
    })
    return made
  }
  let client = create()
  let isClosed = false
  let opened: Promise<Opened> | undefined
  /**
   * Ends what is under way, and connects anew for the next call. A client may never find its server again: on Bun, MongoDB's client waits
   * for ever for a connection that closes while it opens, as a proxy closes it whose server is away.
   */
  const drop = () => {
    if (isClosed) return
    const old = client
    opened = undefined
    client = create()
    void old.close().catch(() => {})
  }
  const open = async (): Promise<Opened> => {
    const mine = client
    const db = mine.db(databaseOf(url))
    try {
      await prepareDatabase(db)
      return { db, collections: collectionsOf(db) }
    } catch (error) {
      // A client whose first connection failed stays closed for good.
      if (mine === client) drop()
      await mine.close()
      throw error
    }
  }
  const ready = () => {
    opened ??= open()
    return opened
  }
  const { selectionMs, answerMs, retryWithinMs } = timeouts
  let answers = 0
  const attempt = async <T>(body: () => Promise<T>): Promise<T> => {
    const startedAt = clock.monotonic()
    const isWorthIt = (error: unknown) =>
      isPassing(error) && elapsedSince(clock, startedAt) < retryWithinMs ? 0 : undefined
    const mine = client
    const before = answers
    let isLate = false
    const late = () => {
      isLate = true
      return new ProblemError('unavailable', 'MongoDB does not answer')
    }
    try {
      const work = retrying(clock, tries, undefined, isWorthIt, body)
      const answer = await within(clock, selectionMs + answerMs + retryWithinMs, late, work)
      trouble = undefined
      answers++
      return answer
    } catch (error) {
      const isStuck = isLate || (error instanceof MongoError && stuckNames.has(error.name))
      // While others get answers, a new client would only end their calls. Some may have connected anew since.
      if (isStuck && answers === before && mine === client) drop()
      if (isLate) trouble = errorMessage(error)
      // The driver ends what is under way at a close with errors of many kinds, such as that of a session.
      if (!isAway(error) && !((isClosed || mine !== client) && error instanceof MongoError))
        throw error
      trouble = describeTrouble(error)
      throw new ProblemError('unavailable', `${trouble}; try again`, { retryAfterSeconds: 2 })
    }
  }
  return {
    /**
     * Runs an idempotent command, and retries it after a failure that may pass; `attempt` counts from 1. Throws ProblemError
     * `unavailable` when the server does not answer or refuses this ICL's credentials.
     */
    run: <T>(body: (collections: MongoCollections, attempt: number) => Promise<T>): Promise<T> => {
      let count = 0
      return attempt(async () => body((await ready()).collections, ++count))
    },
    ping: (): Promise<void> =>
      attempt(async () => {
        const { db } = await ready()
        await db.command({ ping: 1 })
      }),
    drop,
    /** Why the server does not answer; undefined when it answers. */
    trouble: (): string | undefined => trouble,
    close: (): Promise<void> => {
      isClosed = true
      return client.close()
    },
  }
}

type Opened = { readonly db: Db; readonly collections: MongoCollections }

function createClient(url: string, { selectionMs, answerMs }: MongoTimeouts): MongoClient {
  // The URL may override the timeouts and the pool size, but not the options that the store's promises rest on.
  const unlessGiven = (options: Record<string, number>) =>
    Object.fromEntries(Object.entries(options).filter(([name]) => !optionsOf(url).has(name)))
  try {
    const options = {
      appName: 'svc-icl',
      ...unlessGiven({
        serverSelectionTimeoutMS: selectionMs,
        connectTimeoutMS: selectionMs,
        socketTimeoutMS: answerMs,
        waitQueueTimeoutMS: answerMs,
        maxPoolSize: 50,
      }),
      // An acknowledged write survives the loss of any one server.
      writeConcern: { w: 'majority', journal: true, wtimeoutMS: answerMs },
      // Only the primary has every acknowledged write. Reads see its newest state, not the majority's: a read must find the document
      // that refuses a save. A save on top of an unacknowledged write is acknowledged only together with it.
      readPreference: 'primary',
      readConcern: { level: 'local' },
      // The store retries saves itself, by their ids, which works on servers without sessions, too.
      retryWrites: false,
    } satisfies Partial<MongoClientOptions>
    return new MongoClient(url, options as MongoClientOptions)
  } catch (error) {
    throw new SvcError('settings-invalid', `The MongoDB URL cannot be used: ${told(error, url)}`, {
      hint: 'SVC_ICL_DATABASE_URL has to look like mongodb://USER:PASSWORD@HOST:PORT/DATABASE.',
    })
  }
}

const urlParts = /^mongodb(?:\+srv)?:\/\/(?:([^@/]*)@)?([^/?]*)(?:\/([^?]*))?(?:\?(.*))?$/

/** Returns the database that a URL names; `svc` when it names none. */
const databaseOf = (url: string): string => urlParts.exec(url)?.[3] || defaultDatabase

const optionsOf = (url: string): URLSearchParams => new URLSearchParams(urlParts.exec(url)?.[4])

/** Returns the servers that a URL names, without user and password. */
export const hostsOf = (url: string): string => urlParts.exec(url)?.[2] || 'no host'

/** Returns an error's message, with the URL and its credentials blanked out. */
function told(error: unknown, url: string): string {
  const text = errorMessage(error)
  const credentials = urlParts.exec(url)?.[1]
  const secrets = credentials ? [url, credentials, ...credentials.split(':')] : [url]
  return secrets
    .filter((secret) => secret !== '')
    .reduce((shown, secret) => shown.replaceAll(secret, '***'), text)
}

const usableTypes: readonly string[] = ['RSPrimary', 'Standalone', 'Mongos', 'LoadBalancer']

const troubleOfTopology = ({ servers }: TopologyDescription): string | undefined =>
  [...servers.values()].some(({ type }) => usableTypes.includes(type))
    ? undefined
    : 'MongoDB cannot be reached'

// NotWritablePrimary and similar errors, also as a mongos reports them, shutdowns, timeouts, cursors lost in a restart, a majority that
// does not answer, and a disk that is full.
const passingCodes = new Set([
  6, 7, 43, 50, 64, 89, 91, 112, 133, 134, 189, 202, 237, 262, 9001, 10107, 11600, 11602, 13435,
  13436, 14031,
  // Over the quota of Atlas, over the rate of Cosmos DB.
  8000, 16500,
])
// LockTimeout, LockBusy, QueryPlanKilled, TemporarilyUnavailable.
const busyCodes = new Set([24, 46, 175, 365])
const refusedCodes = new Set([13, 18])

const noMajority = 64

/** Returns the code of a server's error; 0 for any other error. */
const codeOf = (error: unknown): number =>
  error instanceof MongoServerError ? Number(error.code) : 0

/** True when the server refuses a command because it has too much to do, which newer servers say by a label. */
const isBusy = (error: unknown): boolean =>
  busyCodes.has(codeOf(error)) ||
  (error instanceof MongoServerError && error.hasErrorLabel('SystemOverloadedError'))

/** True when a retry may succeed at once. */
const isPassing = (error: unknown): boolean =>
  error instanceof MongoNetworkError || passingCodes.has(codeOf(error)) || isBusy(error)

const isRefused = (error: unknown): boolean => refusedCodes.has(codeOf(error))

const awayNames = new Set([
  'MongoServerSelectionError',
  'MongoTopologyClosedError',
  'MongoNotConnectedError',
  'MongoClientClosedError',
  'MongoServerClosedError',
  'MongoPoolClosedError',
  'MongoWaitQueueTimeoutError',
])

/** The errors of a client that may never find its server again. */
const stuckNames = new Set(['MongoServerSelectionError', 'MongoWaitQueueTimeoutError'])

/** True when the server did not answer, refuses this ICL's credentials, or was not found in DNS (`mongodb+srv`). */
const isAway = (error: unknown): boolean =>
  isPassing(error) ||
  isRefused(error) ||
  (error instanceof MongoError && awayNames.has(error.name)) ||
  (error instanceof Error && 'syscall' in error && String(error.syscall).startsWith('query'))

function describeTrouble(error: unknown): string {
  if (isRefused(error)) return "MongoDB refuses this ICL's user or password"
  if (isBusy(error)) return 'MongoDB has too much to do'
  const hasNoMajority = codeOf(error) === noMajority
  return hasNoMajority ? 'MongoDB has no majority of its servers' : 'MongoDB cannot be reached'
}
