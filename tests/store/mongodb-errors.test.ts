import { type Document, MongoClient } from 'mongodb'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createMongoStore } from '../../icl/store/mongodb/store.ts'
import type { Store } from '../../icl/store/store.ts'
import { systemClock, systemRandom } from '../../lib/system.ts'
import { codeOf } from '../code-of.ts'
import { jobOf } from './suite.ts'
import { openWireServer, type WireServer, whyNoWireServer } from './wire-server/open.ts'

const missing = await whyNoWireServer()
const timeouts = { selectionMs: 30_000, answerMs: 30_000, retryWithinMs: 30_000 }

const away = 'MongoDB cannot be reached'
const busy = 'MongoDB has too much to do'
const alone = 'MongoDB has no majority of its servers'
const overload = { errorLabels: ['SystemOverloadedError', 'RetryableError'] }

/** What a fail point has the server answer to updates, and what the store then says of the server. */
const answers: readonly (readonly [string, Document, string])[] = [
  ['QueryPlanKilled', { errorCode: 175 }, busy],
  ['LockTimeout', { errorCode: 24 }, busy],
  ['LockBusy', { errorCode: 46 }, busy],
  ['MaxTimeMSExpired', { errorCode: 50 }, away],
  ['ShutdownInProgress', { errorCode: 91 }, away],
  ['PrimarySteppedDown', { errorCode: 189 }, away],
  ['TemporarilyUnavailable', { errorCode: 365 }, busy],
  ['IngressRequestRateLimitExceeded', { errorCode: 462, ...overload }, busy],
  ['InterruptedAtShutdown', { errorCode: 11_600 }, away],
  ['NotPrimaryNoSecondaryOk', { errorCode: 13_435 }, away],
  ['an unknown code and that it is overloaded', { errorCode: 99_999, ...overload }, busy],
  ['nothing and closes the connection', { closeConnection: true }, away],
  ['that no majority has the write', { writeConcernError: { code: 64, errmsg: 'x' } }, alone],
  ['that it stepped down after the write', { writeConcernError: { code: 189, errmsg: 'x' } }, away],
]

describe('the mongodb store, when its server', () => {
  if (missing !== undefined) {
    it.skip(missing, () => {})
    return
  }
  let server: WireServer
  let admin: MongoClient
  let store: Store
  beforeAll(async () => {
    server = await openWireServer()
    admin = new MongoClient(server.freshUrl())
  })
  afterAll(async () => {
    await admin.close()
    await server.close()
  })
  beforeEach(async () => {
    // A server that steps down tells its clients so; one at a fail point does not, and they find it again by a heartbeat.
    const url = new URL(server.freshUrl())
    url.searchParams.set('heartbeatFrequencyMS', '500')
    const options = { url: url.href, clock: systemClock, random: systemRandom, timeouts }
    store = createMongoStore(options)
    await save(1, 0)
  })
  afterEach(async () => {
    await fail('off', {})
    await store.close()
  })
  const save = (minTier: number, base: number) =>
    store.save({ kind: 'job', job: jobOf('1', { minTier }), base })
  const fail = (mode: unknown, data: Document) =>
    admin.db('admin').command({
      configureFailPoint: 'failCommand',
      ...{ mode, data: { ...data, failCommands: ['update'], appName: 'svc-icl' } },
    })

  for (const [answer, data, reason] of answers) {
    it(`answers ${answer}: saves once if that passes, and is unavailable if it does not`, async () => {
      await fail({ times: 1 }, data)
      expect(await save(2, 1)).toBe(true)
      await fail('alwaysOn', data)
      expect(await codeOf(save(3, 2))).toBe('unavailable')
      expect(store.status()).toEqual({ connected: false, writable: false, reasons: [reason] })
      await fail('off', {})
      const made = 'writeConcernError' in data ? 3 : 2
      const found = await store.findJob(jobOf('1').id)
      expect(found).toEqual({ document: jobOf('1', { minTier: made }), version: made })
      expect(await save(4, made)).toBe(true)
      expect(store.status().connected).toBe(true)
    })
  }
})
