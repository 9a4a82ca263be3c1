import { promises } from 'node:dns'
import { MongoClient, Timestamp } from 'mongodb'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Job } from '../../icl/rules/job.ts'
import {
  createMongoStore,
  type MongoOptions,
  openMongoStore,
} from '../../icl/store/mongodb/store.ts'
import type { Store, Write } from '../../icl/store/store.ts'
import { systemClock, systemRandom } from '../../lib/system.ts'
import { codeOf } from '../code-of.ts'
import { nodeA } from '../icl/rules/sample-job.ts'
import { jobOf } from './suite.ts'
import { openWireServer, type WireServer, whyNoWireServer } from './wire-server/open.ts'
import { type Fate, startProxy, type WireProxy } from './wire-server/proxy.ts'

const missing = await whyNoWireServer()
// Long enough for a server that does answer on a busy machine.
const timeouts = { selectionMs: 10_000, answerMs: 15_000, retryWithinMs: 30_000 }
const impatient = { selectionMs: 2_000, answerMs: 2_000, retryWithinMs: 300 }

/** The fates of the next commands of a kind, then all go through. */
const fates = (kind: string, ...list: (Fate | (() => Promise<Fate>))[]) => {
  const rest = [...list]
  return (command: string) => {
    const next = command === kind ? rest.shift() : undefined
    return typeof next === 'function' ? next() : (next ?? 'forward')
  }
}

describe('the mongodb store, when things go wrong', () => {
  if (missing !== undefined) {
    it.skip(missing, () => {})
    return
  }
  let server: WireServer
  let proxy: WireProxy
  let url: string
  let proxied: string
  let store: Store
  let other: Store
  const connect = (to: string, options: Partial<MongoOptions> = {}) =>
    createMongoStore({ url: to, clock: systemClock, random: systemRandom, timeouts, ...options })
  beforeAll(async () => {
    server = await openWireServer()
  })
  afterAll(() => server.close())
  beforeEach(async () => {
    proxy = await startProxy(server.upstream)
    url = server.freshUrl()
    proxied = `mongodb://127.0.0.1:${proxy.port}${new URL(url).pathname}?directConnection=true`
    store = connect(proxied)
    other = connect(url)
    await Promise.all([store.stats(), other.stats()])
  })
  afterEach(async () => {
    await Promise.all([store.close(), other.close()])
    await proxy.close()
  })
  const rows = async <T>(work: (client: MongoClient) => Promise<T>): Promise<T> => {
    const client = new MongoClient(url)
    try {
      return await work(client)
    } finally {
      await client.close()
    }
  }
  const insert = (job: Job, into = store) => into.save({ kind: 'job', job, base: 0 })

  it('answers true for a save whose answer was lost, and makes it once', async () => {
    const event = { id: 'e', node: nodeA, jobId: jobOf('1').id, code: 'answer-delivered', at: 1 }
    const blob = { cid: 'c', bytes: new Uint8Array([1]), uploader: 'node', until: 5 } as const
    const writes: readonly (readonly [string, Write])[] = [
      ['update', { kind: 'job', job: jobOf('1'), base: 0 }],
      ['update', { kind: 'job', job: jobOf('1', { minTier: 7 }), base: 1 }],
      ['update', { kind: 'event', event: { ...event, code: 'answer-delivered' } }],
      ['update', { kind: 'key', key: 'k', value: 'v', now: 0, expiresAt: 9 }],
      ['update', { kind: 'release-key', key: 'k', value: 'v' }],
      ['update', { kind: 'blob', ...blob }],
      ['update', { kind: 'keep-blob', cid: 'c', until: 9 }],
    ]
    for (const [command, write] of writes) {
      let sent = 0
      const judge = fates(command, 'lose-answer')
      proxy.fateOf = (name) => {
        if (name === command) sent += 1
        return judge(name)
      }
      expect(await store.save(write)).toBe(true)
      expect(sent).toBeGreaterThan(1)
    }
    expect(await other.findJob(jobOf('1').id)).toEqual({
      document: jobOf('1', { minTier: 7 }),
      version: 2,
    })
    expect(await other.listReputationEvents(nodeA, { limit: 1_000 })).toHaveLength(1)
    expect(await other.findKey('k', 0)).toBeUndefined()
  })

  it('sends one command for a save of many writes', async () => {
    const event = (id: string): Write => ({
      kind: 'event',
      event: { id, node: nodeA, jobId: jobOf('1').id, code: 'answer-delivered', at: 1 },
    })
    const key = { kind: 'key', key: 'k', value: 'v', now: 0, expiresAt: 9 } as const
    const blob = { kind: 'blob', cid: 'c', bytes: new Uint8Array([1]), uploader: 'node' } as const
    const sent: string[] = []
    proxy.fateOf = (command) => {
      // The driver asks for the server's state when it likes.
      if (command !== 'hello') sent.push(command)
      return 'forward'
    }
    const writes: Write[] = [{ kind: 'job', job: jobOf('1'), base: 0 }, key, event('a'), event('b')]
    expect(await store.saveAll([...writes, { ...blob, until: 5 }])).toBeUndefined()
    expect(sent).toEqual(['update'])
  })

  it('says that it does not know when others saved on top of a save whose answer was lost', async () => {
    await insert(jobOf('1'))
    const overtake = async (): Promise<Fate> => {
      expect(await other.save({ kind: 'job', job: jobOf('1', { minTier: 9 }), base: 2 })).toBe(true)
      return 'forward'
    }
    const save = () => store.save({ kind: 'job', job: jobOf('1', { minTier: 7 }), base: 1 })
    proxy.fateOf = fates('update', 'lose-answer', overtake)
    expect(await codeOf(save())).toBe('unavailable')
    // The server has answered.
    expect(store.status().connected).toBe(true)
    expect((await other.findJob(jobOf('1').id))?.version).toBe(3)
  })

  it('says so, too, when the repeat finds a key released, as by the save itself', async () => {
    await insert(jobOf('1'))
    const key = { key: 'k', value: 'v' }
    await store.save({ kind: 'key', ...key, now: 0, expiresAt: 9 })
    const overtake = async (): Promise<Fate> => {
      expect(await other.save({ kind: 'job', job: jobOf('1', { minTier: 9 }), base: 2 })).toBe(true)
      return 'forward'
    }
    const job: Write = { kind: 'job', job: jobOf('1', { minTier: 7 }), base: 1 }
    proxy.fateOf = fates('update', 'lose-answer', overtake)
    expect(await codeOf(store.saveAll([job, { kind: 'release-key', ...key }]))).toBe('unavailable')
  })

  it('takes back a key that a repeat of a refused save had given', async () => {
    await insert(jobOf('1'))
    const key = { kind: 'key', key: 'k', now: 0, expiresAt: 9 } as const
    await store.save({ ...key, value: 'before' })
    const swap: Write = { ...key, value: 'after', insteadOf: 'before' }
    const job: Write = { kind: 'job', job: jobOf('1'), base: 7 }
    proxy.fateOf = fates('update', 'lose-answer')
    expect(await store.saveAll([swap, job])).toEqual(job)
    expect(await other.findKey('k', 0)).toBe('before')
  })

  it('answers false when others saved before a save that never arrived', async () => {
    await insert(jobOf('1'))
    const overtake = async (): Promise<Fate> => {
      expect(await other.save({ kind: 'job', job: jobOf('1', { minTier: 9 }), base: 1 })).toBe(true)
      return 'forward'
    }
    proxy.fateOf = fates('update', 'cut', overtake)
    expect(await store.save({ kind: 'job', job: jobOf('1', { minTier: 7 }), base: 1 })).toBe(false)
    expect((await other.findJob(jobOf('1').id))?.document.minTier).toBe(9)
  })

  it('is unavailable while the server is away, says so, and goes on afterwards', async () => {
    await insert(jobOf('1'))
    expect(store.status()).toEqual({ connected: true, writable: true, reasons: [] })
    const hasty = connect(proxied, { timeouts: { ...timeouts, selectionMs: 2_000 } })
    await hasty.stats()
    proxy.takeAway()
    const calls = [insert(jobOf('2'), hasty), hasty.findJob(jobOf('1').id), hasty.ping()]
    expect(await Promise.all(calls.map(codeOf))).toEqual(calls.map(() => 'unavailable'))
    await expect(hasty.ping()).rejects.toMatchObject({ retryAfterSeconds: 2 })
    expect(hasty.status()).toEqual({
      connected: false,
      writable: false,
      reasons: ['MongoDB cannot be reached'],
    })
    proxy.restore()
    expect(await insert(jobOf('2'))).toBe(true)
    expect(store.status().connected).toBe(true)
    await hasty.close()
  })

  it('does not wait for ever for a server that has stopped answering', async () => {
    const hasty = connect(proxied, { timeouts: impatient })
    await hasty.stats()
    proxy.fateOf = () => 'swallow'
    expect(await codeOf(insert(jobOf('1'), hasty))).toBe('unavailable')
    await hasty.close()
  })

  it('leaves the calls of others alone when one fails', async () => {
    const under = Promise.withResolvers<void>()
    const held = Promise.withResolvers<void>()
    let finds = 0
    proxy.fateOf = async (command): Promise<Fate> => {
      if (command === 'aggregate') return { code: 64 }
      if (command === 'find' && ++finds === 5) under.resolve()
      if (command === 'find') await held.promise
      return 'forward'
    }
    const others = Array.from({ length: 5 }, () => codeOf(store.findKey('k', 0)))
    await under.promise
    expect(await codeOf(store.stats())).toBe('unavailable')
    held.resolve()
    expect(await Promise.all(others)).toEqual(others.map(() => undefined))
  })

  it('starts without its server, and makes what is missing when it comes', async () => {
    proxy.takeAway()
    const late = connect(proxied.replace('/svc_', '/svc_late_'), {
      timeouts: { ...timeouts, selectionMs: 2_000 },
    })
    expect(late.status().connected).toBe(false)
    expect(await codeOf(late.findJob(jobOf('1').id))).toBe('unavailable')
    proxy.restore()
    expect(await insert(jobOf('1'), late)).toBe(true)
    await late.close()
  })

  it('is unavailable while the name in its URL is not found', async () => {
    const code = 'ESERVFAIL'
    const failure = Object.assign(new Error(`querySrv ${code}`), { code, syscall: 'querySrv' })
    const asked = vi.spyOn(promises, 'resolve').mockRejectedValue(failure)
    const lost = connect('mongodb+srv://svc:hunter2@db.svc.invalid/svc')
    try {
      expect(await codeOf(lost.ping())).toBe('unavailable')
      expect(lost.status().reasons).toEqual(['MongoDB cannot be reached'])
    } finally {
      asked.mockRestore()
      await lost.close()
    }
  })

  it('is made once by many that start at the same moment', async () => {
    const fresh = server.freshUrl()
    const stores = Array.from({ length: 4 }, () => connect(fresh))
    const inserted = await Promise.all(stores.map((one) => insert(jobOf('1'), one)))
    expect(inserted.filter(Boolean)).toHaveLength(1)
    await Promise.all(stores.map((one) => one.close()))
  })

  it('never shows a password', async () => {
    const secret = 'hunter2'
    const options = { clock: systemClock, random: systemRandom, timeouts: impatient }
    proxy.takeAway()
    const away = `mongodb://svc:${secret}@127.0.0.1:${proxy.port}/svc`
    const error = await openMongoStore({ ...options, url: away }).catch((caught) => caught)
    expect(error).toMatchObject({ code: 'store-unavailable', retryable: true })
    expect(error.message).toBe(`MongoDB cannot be reached (127.0.0.1:${proxy.port})`)
    proxy.restore()
    for (const url of [away, `mongodb://svc:${secret}@h/?no=${secret}`, `mongodb://${secret}:x@`]) {
      const refusal = await openMongoStore({ ...options, url }).catch((caught) => caught)
      const shown = [refusal.message, refusal.hint, refusal.stack, String(refusal.cause)].join()
      expect(refusal).toBeInstanceOf(Error)
      expect(shown).not.toContain(secret)
    }
  })

  it('refuses what it has not written', async () => {
    await insert(jobOf('1'))
    await insert(jobOf('2'))
    await rows(async (client) => {
      const jobs = client.db().collection<{ _id: string }>('records')
      await jobs.updateOne({ _id: `job:${jobOf('1').id}` }, { $set: { document: 7 } })
      await jobs.updateOne({ _id: `job:${jobOf('2').id}` }, { $set: { document: '{' } })
    })
    for (const digit of ['1', '2']) {
      const found = store.findJob(jobOf(digit).id)
      await expect(found).rejects.toMatchObject({ code: 'store-corrupt' })
      await expect(found).rejects.toThrow(jobOf(digit).id)
    }
    await rows((client) =>
      client
        .db()
        .collection('format')
        .updateMany({}, { $inc: { version: 1 } }),
    )
    const late = connect(url)
    expect(await codeOf(late.stats())).toBe('store-format')
    await late.close()
  })

  it('tells of a change that becomes readable after a later one, and of each once', async () => {
    let passedMs = 0
    const reader = connect(url, { clock: { ...systemClock, now: () => passedMs } })
    const stampOf = (digit: string) =>
      rows(async (client) => {
        const jobs = client.db().collection<{ _id: string; changed: Timestamp }>('records')
        return (await jobs.findOne({ _id: `job:${jobOf(digit).id}` }))!.changed
      })
    const hide = (digit: string, changed: Timestamp) =>
      rows(async (client) => {
        const jobs = client.db().collection<{ _id: string }>('records')
        await jobs.updateOne({ _id: `job:${jobOf(digit).id}` }, { $set: { changed } })
      })
    const news = async (cursor: string | undefined) => {
      const { cursor: next, jobs } = await reader.listChanges(cursor)
      return {
        next,
        ids: jobs
          .map(({ id }) => id[2])
          .sort()
          .join(''),
      }
    }
    await insert(jobOf('0'))
    const start = await news(undefined)
    await insert(jobOf('1'))
    const early = await stampOf('1')
    // As if its save were still under way: nobody can read the stamp that it has been given.
    await hide('1', new Timestamp({ t: 0, i: 1 }))
    await insert(jobOf('2'))
    const first = await news(start.next)
    expect(first.ids).toBe('2')
    passedMs += 1_000
    await hide('1', early)
    const second = await news(first.next)
    expect(second.ids).toBe('1')
    passedMs += 10_000
    const third = await news(second.next)
    expect(third.ids).toBe('')
    expect((await news(third.next)).ids).toBe('')
    expect(third.next.length).toBeLessThan(second.next.length)
    await insert(jobOf('3'))
    expect((await news(third.next)).ids).toBe('3')
    await reader.close()
  })
})
