import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { attestedNode, type Certificate, type Node } from '../../icl/rules/eligibility.ts'
import type { Job } from '../../icl/rules/job.ts'
import { encodeDocument } from '../../icl/store/encoding.ts'
import type { Store, StoreRecord, Write } from '../../icl/store/store.ts'
import type { ReputationEvent } from '../../lib/reputation.ts'
import { aJobId } from '../branded.ts'
import { accepted, claimed, decidedJob, nodeA, nodeB, sampleJob } from '../icl/rules/sample-job.ts'
import { sampleReading } from '../sample-reading.ts'

const certificate: Certificate = {
  id: 'jti',
  backend: 'mock',
  issuedAt: 0,
  expiresAt: 1_000,
  thumbprint: 't',
  session: { key: 'k', not_after: 1, signature: '0x' },
}
/** A node that has attested. */
export const nodeOf = (address: Node['address'], change: Partial<Node> = {}): Node => ({
  ...attestedNode(address, certificate, sampleReading),
  ...change,
})
/** A job whose id is one digit, repeated. */
export const jobOf = (digit: string, change: Partial<Job> = {}): Job => ({
  ...sampleJob(),
  id: aJobId(`0x${digit.repeat(64)}`),
  ...change,
})
const digits = (ids: readonly string[]): string => ids.map((id) => id[2]).join('')
/** An event of a node. */
export const eventOf = (id: string, at: number, node = nodeA): ReputationEvent => ({
  id,
  node,
  jobId: jobOf('1').id,
  code: 'answer-delivered',
  at,
})
const effect = (dueAt: number) => ({
  id: 1,
  effect: { type: 'commit-result' as const },
  attempts: 0,
  dueAt,
})
const bytes = (...values: number[]) => new Uint8Array(values)

/** Every promise of the store port, for one adapter; `open` makes an empty store. */
export function describeStore(name: string, open: () => Promise<Store>): void {
  describe(`the ${name} store`, () => {
    let store: Store
    beforeEach(async () => {
      store = await open()
    })
    afterEach(() => store.close())
    const insert = (job: Job) => store.save({ kind: 'job', job, base: 0 })
    const expectNoBlob = (cid: string) => expect(store.findBlob(cid)).resolves.toBeUndefined()

    it('answers a ping, and takes saves', async () => {
      await store.ping()
      expect(store.status().writable).toBe(true)
    })

    describe('jobs', () => {
      it('are taken once, and given back as they were put in', async () => {
        const job = jobOf('1')
        expect(await store.findJob(job.id)).toBeUndefined()
        expect(await insert(job)).toBe(true)
        expect(await insert({ ...job, modelId: 'openai:other' })).toBe(false)
        expect((await store.findJob(job.id))?.document).toEqual(job)
      })

      it('are given back with their answers, their deliveries and what was said of them', async () => {
        const job = accepted(decidedJob('a', 'a', 'a'), 20)
        expect(job.agreement?.turns[0]?.verdicts).toHaveLength(2)
        expect(await insert(job)).toBe(true)
        expect(encodeDocument((await store.findJob(job.id))!.document)).toBe(encodeDocument(job))
      })

      it('are replaced only at the version that was read', async () => {
        const job = jobOf('1')
        await insert(job)
        const { version: base } = (await store.findJob(job.id))!
        const changes = Array.from({ length: 8 }, (_, minTier) =>
          store.save({ kind: 'job', job: { ...job, minTier }, base }),
        )
        expect((await Promise.all(changes)).filter(Boolean)).toHaveLength(1)
        expect(await store.save({ kind: 'job', job, base })).toBe(false)
        expect(await store.save({ kind: 'job', job: jobOf('9'), base: 1 })).toBe(false)
        expect(await store.findJob(jobOf('9').id)).toBeUndefined()
        expect((await store.findJob(job.id))?.version).toBe(base + 1)
      })

      it('are due by the time of their tick, unless they have settled', async () => {
        await insert(jobOf('1', { tickAt: 10 }))
        await insert(jobOf('2', { tickAt: 5 }))
        await insert(jobOf('3', { tickAt: 11 }))
        await insert(jobOf('4', { tickAt: undefined }))
        await insert(jobOf('5', { tickAt: 1, phase: 'expired', settledAt: 1 }))
        expect(digits(await store.listDue('tick', 4, 9))).toBe('')
        expect(digits(await store.listDue('tick', 10, 9))).toBe('21')
        expect(digits(await store.listDue('tick', 10, 1))).toBe('2')
        expect(digits(await store.listDue('tick', 10, 9, 6))).toBe('1')
      })

      it('are due by their first effect, also when they have settled', async () => {
        await insert(jobOf('1', { outbox: [effect(20), effect(10)] }))
        await insert(jobOf('2', { outbox: [effect(5)], phase: 'accepted', settledAt: 1 }))
        await insert(jobOf('3', { outbox: [] }))
        expect(digits(await store.listDue('effect', 4, 9))).toBe('')
        expect(digits(await store.listDue('effect', 10, 9))).toBe('21')
        expect(digits(await store.listDue('effect', 10, 1))).toBe('2')
        expect(digits(await store.listDue('effect', 10, 9, 5))).toBe('21')
        expect(digits(await store.listDue('effect', 10, 9, 6))).toBe('1')
        expect(digits(await store.listDue('effect', Number.MAX_SAFE_INTEGER, 1_000_000))).toBe('21')
        expect(await store.stats()).toEqual(
          expect.objectContaining({ effects: 3, oldestEffectDueAt: 5 }),
        )
      })

      it('are found by the nodes that are busy with them until they settle', async () => {
        const job = claimed(jobOf('1'), nodeA, 1)
        await insert(job)
        await insert({ ...job, id: jobOf('2').id, phase: 'cancelled', settledAt: 1 })
        expect(digits((await store.listJobsOfNode(nodeA)).map(({ id }) => id))).toBe('1')
        expect(await store.listJobsOfNode(nodeB)).toEqual([])
        expect([...(await store.countOccupiedSlots())]).toEqual([
          [nodeA, { offered: 0, claimed: 1 }],
        ])
        const { version: base } = (await store.findJob(job.id))!
        await store.save({ kind: 'job', job: { ...job, assignments: [] }, base })
        expect(await store.listJobsOfNode(nodeA)).toEqual([])
        expect([...(await store.countOccupiedSlots())]).toEqual([])
      })

      it('are listed and counted for their client', async () => {
        await insert(jobOf('1', { createdAt: 5 }))
        await insert(jobOf('3', { createdAt: 10 }))
        await insert(jobOf('2', { createdAt: 10, phase: 'accepted', settledAt: 11 }))
        await insert(jobOf('4', { createdAt: 10, client: nodeA }))
        const { client } = jobOf('1')
        const list = async (page: Parameters<Store['listJobs']>[0]) =>
          digits((await store.listJobs({ client, ...page })).map(({ id }) => id))
        expect(await list({ limit: 9 })).toBe('321')
        expect(await list({ limit: 1 })).toBe('3')
        expect(await list({ limit: 9, before: { at: 10, id: jobOf('3').id } })).toBe('21')
        expect(await list({ limit: 9, phase: 'accepted' })).toBe('2')
        expect(await store.countJobsOfClient(client, { since: 0 })).toBe(3)
        expect(await store.countJobsOfClient(client, { since: 6 })).toBe(2)
        expect(await store.countJobsOfClient(client, 'unsettled')).toBe(2)
        expect(await store.countJobsOfClient(nodeB, { since: 0 })).toBe(0)
      })

      it('are listed for everybody, newest first, all or those of one phase', async () => {
        await insert(jobOf('1', { createdAt: 5 }))
        await insert(jobOf('3', { createdAt: 10 }))
        await insert(jobOf('2', { createdAt: 10, phase: 'accepted', settledAt: 11 }))
        await insert(jobOf('4', { createdAt: 10, client: nodeA }))
        const list = async (page: Parameters<Store['listJobs']>[0]) =>
          digits((await store.listJobs(page)).map(({ id }) => id))
        expect(await list({ limit: 9 })).toBe('4321')
        expect(await list({ limit: 2 })).toBe('43')
        expect(await list({ limit: 9, before: { at: 10, id: jobOf('3').id } })).toBe('21')
        expect(await list({ limit: 9, phase: 'open' })).toBe('431')
        expect(await list({ limit: 9, phase: 'accepted' })).toBe('2')
        expect(await list({ limit: 9, phase: 'disputed' })).toBe('')
        const before = { at: 10, id: jobOf('4').id }
        expect(await list({ limit: 9, phase: 'open', before })).toBe('31')
      })

      it('that were saved since are told to those who ask again', async () => {
        await insert(jobOf('1'))
        const start = await store.listChanges(undefined)
        expect(start.jobs).toEqual([])
        const changesOf = async (cursor: string) => {
          const { cursor: next, jobs } = await store.listChanges(cursor)
          return { next, jobs: new Map(jobs.map((change) => [change.id, change])) }
        }
        await insert(jobOf('2'))
        const { version: base } = (await store.findJob(jobOf('1').id))!
        const offered: Job = {
          ...jobOf('1'),
          assignments: jobOf('1').assignments.map((assignment) => ({
            ...assignment,
            status: 'offered',
          })),
        }
        await store.save({ kind: 'job', job: offered, base })
        const first = await changesOf(start.cursor)
        expect(first.jobs.get(jobOf('2').id)?.version).toBe(1)
        expect(first.jobs.get(offered.id)).toEqual({
          id: offered.id,
          version: base + 1,
          offeredTo: expect.arrayContaining([nodeA]),
        })
        await insert(jobOf('3'))
        expect((await changesOf(first.next)).jobs.has(jobOf('3').id)).toBe(true)
      })

      it('are counted by phase', async () => {
        await insert(jobOf('1'))
        await insert(jobOf('2', { phase: 'accepted', settledAt: 1, outbox: [] }))
        await insert(jobOf('3', { phase: 'accepted', settledAt: 1 }))
        const { phase, client } = jobOf('1')
        expect((await store.stats()).jobsByPhase).toEqual({ [phase]: 1, accepted: 2 })
        await store.erase({ kind: 'job', id: jobOf('2').id })
        expect((await store.stats()).jobsByPhase).toEqual({ [phase]: 1, accepted: 1 })
        expect(await store.countJobsOfClient(client, { since: 0 })).toBe(2)
        const { version } = (await store.findJob(jobOf('1').id))!
        await store.save({ kind: 'job', job: jobOf('1', { phase: 'expired' }), base: version })
        expect((await store.stats()).jobsByPhase).toEqual({ expired: 1, accepted: 1 })
        expect(await store.countJobsOfClient(client, 'unsettled')).toBe(0)
      })
    })

    describe('nodes', () => {
      const save = (node: Node, base = 0) => store.save({ kind: 'node', node, base })

      it('are kept by address while their certificate lasts', async () => {
        expect([await save(nodeOf(nodeB)), await save(nodeOf(nodeA))]).toEqual([true, true])
        expect(await save(nodeOf(nodeA))).toBe(false)
        const { version } = (await store.findNode(nodeA))!
        expect(await save(nodeOf(nodeA, { capacity: 3 }), version)).toBe(true)
        expect(await save(nodeOf(nodeA), version)).toBe(false)
        expect((await store.findNode(nodeA))?.document).toEqual(nodeOf(nodeA, { capacity: 3 }))
        expect((await store.listNodes(999)).map(({ address }) => address)).toEqual([nodeA, nodeB])
        expect(await store.listNodes(1_000)).toEqual([])
        expect(await store.listNodes(-1)).toHaveLength(2)
      })

      it('have events, each counted once', async () => {
        const record = (event: ReputationEvent) => store.save({ kind: 'event', event })
        expect(await record(eventOf('b', 2))).toBe(true)
        expect(await record({ ...eventOf('b', 2), at: 9 })).toBe(false)
        await record(eventOf('c', 2))
        await record(eventOf('a', 3))
        await record(eventOf('d', 1))
        await record(eventOf('e', 1, nodeB))
        const ids = (events: readonly ReputationEvent[]) => events.map(({ id }) => id).join('')
        const all = await store.listReputationEvents(nodeA, { limit: 9 })
        expect(ids(all)).toBe('acbd')
        expect(all[2]).toEqual(eventOf('b', 2))
        expect(ids(await store.listReputationEvents(nodeA, { limit: 2 }))).toBe('ac')
        const before = { at: 2, id: 'c' }
        expect(ids(await store.listReputationEvents(nodeA, { limit: 9, before }))).toBe('bd')
        expect(ids(await store.listReputationEvents(nodeA, { limit: 9, since: 2 }))).toBe('acb')
        const some = { limit: 9, before, since: 2 }
        expect(ids(await store.listReputationEvents(nodeA, some))).toBe('b')
      })
    })

    describe('clients', () => {
      const save = (address: Node['address'], firstAcceptedAt: number, base = 0) =>
        store.save({ kind: 'client', client: { address, firstAcceptedAt }, base })

      it('are replaced only at the version that was read', async () => {
        expect(await store.findClient(nodeA)).toBeUndefined()
        expect(await save(nodeA, 5)).toBe(true)
        expect(await save(nodeA, 6)).toBe(false)
        const { version } = (await store.findClient(nodeA))!
        expect(await save(nodeA, 4, version)).toBe(true)
        expect(await save(nodeA, 3, version)).toBe(false)
        expect(await save(nodeB, 3, 1)).toBe(false)
        expect(await store.findClient(nodeA)).toEqual(
          expect.objectContaining({ document: { address: nodeA, firstAcceptedAt: 4 } }),
        )
        expect(await store.findClient(nodeB)).toBeUndefined()
      })
    })

    describe('keys', () => {
      const claim = (key: string, value: string, now: number, expiresAt: number) =>
        store.save({ kind: 'key', key, value, now, expiresAt })

      it('go to one of those who claim them, until they expire', async () => {
        const values = Array.from({ length: 8 }, (_, index) => `v${index}`)
        const won = await Promise.all(values.map((value) => claim('key', value, 0, 10)))
        expect(won.filter(Boolean)).toHaveLength(1)
        const holder = values[won.indexOf(true)]!
        expect(await store.findKey('key', 9)).toBe(holder)
        expect(await store.findKey('key', 10)).toBeUndefined()
        expect(await store.findKey('other', 0)).toBeUndefined()
        expect(await claim('key', 'later', 9, 20)).toBe(false)
        expect(await claim('key', 'later', 10, 20)).toBe(true)
        expect(await store.findKey('key', 19)).toBe('later')
      })

      it('are renewed and released by their holder only', async () => {
        await claim('key', 'a', 0, 10)
        expect(await claim('key', 'a', 5, 30)).toBe(true)
        expect(await store.findKey('key', 29)).toBe('a')
        expect(await store.save({ kind: 'release-key', key: 'key', value: 'b' })).toBe(false)
        expect(await store.save({ kind: 'release-key', key: 'key', value: 'a' })).toBe(true)
        expect(await store.findKey('key', 0)).toBeUndefined()
        expect(await claim('key', 'b', 0, 10)).toBe(true)
      })

      it('go to another in place of a holder that it names', async () => {
        await claim('key', 'a', 0, 10)
        const instead = { kind: 'key', key: 'key', value: 'b', now: 0, expiresAt: 20 } as const
        expect(await store.save({ ...instead, insteadOf: 'c' })).toBe(false)
        const refusable = { kind: 'keep-blob', cid: 'none', until: 1 } as const
        expect(await store.saveAll([{ ...instead, insteadOf: 'a' }, refusable])).toBe(refusable)
        expect(await store.findKey('key', 9)).toBe('a')
        expect(await store.findKey('key', 10)).toBeUndefined()
        expect(await store.save({ ...instead, insteadOf: 'a' })).toBe(true)
        expect(await store.findKey('key', 19)).toBe('b')
      })

      it('are told apart and ordered by the bytes of their text, not by a language', async () => {
        const names = ['a', 'A', '_', 'b', 'B', '9', '10', '-']
        for (const name of names) expect(await claim(`o:${name}`, 'v', 0, 10)).toBe(true)
        const listed = (await store.listKeys('o:', 0)).map(({ key }) => key)
        expect(listed).toEqual(['-', '10', '9', 'A', 'B', '_', 'a', 'b'].map((name) => `o:${name}`))
      })

      it('are listed by their prefix', async () => {
        await claim('p:2', 'b', 0, 10)
        await claim('p:1', 'a', 0, 20)
        await claim('p_1', 'a', 0, 20)
        await claim('q:1', 'c', 0, 20)
        expect(await store.listKeys('p:', 0)).toEqual([
          { key: 'p:1', value: 'a', expiresAt: 20 },
          { key: 'p:2', value: 'b', expiresAt: 10 },
        ])
        expect((await store.listKeys('p:', 10)).map(({ key }) => key)).toEqual(['p:1'])
        // Places of running jobs, which memory keeps by client.
        const places = ['running:a:1', 'running:a:2', 'running:ab:1']
        for (const name of places) await claim(name, 'v', 0, 10)
        for (const prefix of ['run', 'running:', 'running:a', 'running:a:', 'running:a:1']) {
          expect((await store.listKeys(prefix, 0)).map(({ key }) => key)).toEqual(
            places.filter((name) => name.startsWith(prefix)),
          )
        }
      })
    })

    describe('several writes', () => {
      const job = jobOf('1')
      const key = (name: string, value = 'v') =>
        ({ kind: 'key', key: name, value, now: 0, expiresAt: 10 }) as const
      const blob = { kind: 'blob', cid: 'c', bytes: bytes(1), uploader: 'node', until: 5 } as const
      const writes: readonly Write[] = [
        { kind: 'job', job, base: 0 },
        key('a'),
        { kind: 'release-key', key: 'b', value: 'v' },
        { kind: 'event', event: eventOf('e', 1) },
        blob,
      ]

      it('are all saved, in whatever order they come', async () => {
        await store.save(key('b'))
        expect(await store.saveAll(writes)).toBeUndefined()
        expect((await store.findJob(job.id))?.version).toBe(1)
        expect(await store.findKey('a', 0)).toBe('v')
        expect(await store.findKey('b', 0)).toBeUndefined()
        expect(await store.listReputationEvents(nodeA, { limit: 9 })).toEqual([eventOf('e', 1)])
        expect(await store.findBlob('c')).toEqual(bytes(1))
        expect(await store.saveAll([])).toBeUndefined()
      })

      it('are all left out when one is refused, and it is told which', async () => {
        expect(await store.saveAll(writes)).toBe(writes[2])
        await store.save(key('b'))
        await store.save(key('a', 'other'))
        expect(await store.saveAll(writes)).toBe(writes[1])
        expect(await store.findJob(job.id)).toBeUndefined()
        await store.save({ kind: 'release-key', key: 'a', value: 'other' })
        await insert(job)
        expect(await store.saveAll(writes)).toBe(writes[0])
        expect(await store.findKey('a', 0)).toBeUndefined()
        expect(await store.findKey('b', 0)).toBe('v')
        expect(await store.listReputationEvents(nodeA, { limit: 9 })).toEqual([])
        await store.save({ kind: 'event', event: eventOf('e', 1) })
        const { version: base } = (await store.findJob(job.id))!
        const again = [{ kind: 'job', job, base } as const, ...writes.slice(1)]
        expect(await store.saveAll(again)).toBe(writes[3])
        expect((await store.findJob(job.id))?.version).toBe(base)
        expect(await store.findKey('a', 0)).toBeUndefined()
        expect(await store.saveAll([key('a'), { kind: 'keep-blob', cid: 'd', until: 9 }])).toEqual(
          expect.objectContaining({ kind: 'keep-blob' }),
        )
        expect(await store.findKey('a', 0)).toBeUndefined()
      })

      it('are left out when one of several events was recorded before', async () => {
        await store.save({ kind: 'event', event: eventOf('b', 1) })
        const events = ['a', 'b', 'c'].map(
          (id) => ({ kind: 'event', event: eventOf(id, 2) }) as const,
        )
        expect(await store.saveAll([...events, { kind: 'job', job, base: 0 }])).toBe(events[1])
        expect(await store.findJob(job.id)).toBeUndefined()
        expect(await store.listReputationEvents(nodeA, { limit: 9 })).toEqual([eventOf('b', 1)])
      })

      it('leave a key with its holder when they would have renewed it and are refused', async () => {
        await store.save(key('a'))
        await insert(job)
        const later = { ...key('a'), expiresAt: 20 }
        expect(await store.saveAll([{ kind: 'job', job, base: 0 }, later])).toBeDefined()
        expect(await store.findKey('a', 0)).toBe('v')
      })

      it('go to one of those who save at once', async () => {
        const values = Array.from({ length: 8 }, (_, index) => `v${index}`)
        const refused = await Promise.all(
          values.map((value) =>
            store.saveAll([
              { kind: 'job', job: { ...job, modelId: value }, base: 0 },
              key(`own:${value}`),
              key('one', value),
            ]),
          ),
        )
        expect(refused.filter((write) => write === undefined)).toHaveLength(1)
        const winner = values[refused.indexOf(undefined)]!
        expect((await store.findJob(job.id))?.document.modelId).toBe(winner)
        expect(await store.findKey('one', 0)).toBe(winner)
        const own = await store.listKeys('own:', 0)
        expect(own.map(({ value, key: name }) => [name, value])).toEqual([[`own:${winner}`, 'v']])
      })

      it('have one document with a version at most', async () => {
        const both = [jobOf('1'), jobOf('2')].map(
          (one) => ({ kind: 'job', job: one, base: 0 }) as const,
        )
        await expect(store.saveAll(both)).rejects.toThrow(TypeError)
        expect(await store.findJob(job.id)).toBeUndefined()
      })
    })

    it('keeps blobs, longer when they are needed', async () => {
      const put = (cid: string, until: number, uploader: 'wallet' | 'node' = 'wallet') =>
        store.save({ kind: 'blob', cid, bytes: bytes(0, 255, 10), uploader, until })
      expect(await store.save({ kind: 'keep-blob', cid: 'c1', until: 50 })).toBe(false)
      const elsewhere = { kind: 'keep-blob', cid: 'c1', until: 50, mayBeAbsent: true } as const
      expect(await store.save(elsewhere)).toBe(true)
      await expectNoBlob('c1')
      expect(await put('c1', 10)).toBe(true)
      expect(await put('c1', 5, 'node')).toBe(true)
      await put('c2', 10, 'node')
      expect(await store.findBlob('c1')).toEqual(bytes(0, 255, 10))
      await expectNoBlob('c3')
      expect([await store.countBlobBytes('wallet'), await store.countBlobBytes('node')]).toEqual([
        3, 3,
      ])
      expect(await store.save({ kind: 'keep-blob', cid: 'c2', until: 30 })).toBe(true)
      expect(await store.save({ kind: 'keep-blob', cid: 'c2', until: 20 })).toBe(true)
      await store.prune({ now: 10, settledBefore: 0, limit: 9 })
      expect(await store.findBlob('c1')).toBeUndefined()
      expect(await store.findBlob('c2')).toEqual(bytes(0, 255, 10))
      await store.prune({ now: 30, settledBefore: 0, limit: 9 })
      expect(await store.findBlob('c2')).toBeUndefined()
    })

    it('drops blobs that are not in use for room: unanswered before answered, the oldest first', async () => {
      const put = (cid: string, usedUntil: number, isAnswered = false) =>
        store.save({
          ...{ kind: 'blob', cid, bytes: bytes(), size: 10, uploader: 'wallet' },
          ...{ until: 100, usedUntil, isAnswered },
        } as const)
      await put('answered', 1, true)
      await put('older', 2)
      await put('newer', 4)
      await put('kept', 3)
      expect(await store.save({ kind: 'keep-blob', cid: 'kept', until: 1, usedUntil: 9 })).toBe(
        true,
      )
      await put('settled', 1)
      await store.save({ kind: 'keep-blob', cid: 'settled', until: 1, isAnswered: true })
      await store.save({ kind: 'blob', cid: 'x', bytes: bytes(1), uploader: 'node', until: 100 })
      expect(await store.countBlobBytes('wallet')).toBe(50)
      expect(await store.countBlobBytes('wallet', 4)).toBe(10)
      expect(await store.dropBlobs('wallet', 1, 3)).toEqual([{ cid: 'older', size: 10 }])
      const dropped = await store.dropBlobs('wallet', 15, 5)
      expect(dropped.map(({ cid }) => cid)).toEqual([
        'newer',
        expect.stringMatching(/answered|settled/),
      ])
      expect(await store.dropBlobs('wallet', 100, 5)).toHaveLength(1)
      expect(await store.dropBlobs('wallet', 100, 5)).toEqual([])
      expect(await store.countBlobBytes('wallet')).toBe(10)
      expect(await store.findBlob('x')).toEqual(bytes(1))
    })

    it('forgets what is over, and nothing else', async () => {
      const settled = (digit: string, settledAt: number, change: Partial<Job> = {}) =>
        insert(jobOf(digit, { phase: 'accepted', settledAt, outbox: [], ...change }))
      await settled('1', 5)
      await settled('2', 10)
      await settled('3', 5, { outbox: [effect(1)] })
      await insert(jobOf('4', { createdAt: 0 }))
      await store.save({ kind: 'key', key: 'old', value: 'v', now: 0, expiresAt: 5 })
      await store.save({ kind: 'key', key: 'new', value: 'v', now: 0, expiresAt: 6 })
      expect(await store.prune({ now: 5, settledBefore: 10, limit: 9 })).toBe(2)
      expect(await store.findJob(jobOf('1').id)).toBeUndefined()
      for (const kept of ['2', '3', '4']) expect(await store.findJob(jobOf(kept).id)).toBeDefined()
      const keys = (await store.listKeys('', 0)).map(({ key }) => key)
      expect(keys.filter(isOfTest)).toEqual(['new'])
      await settled('5', 1)
      await settled('6', 1)
      expect(await store.prune({ now: 0, settledBefore: 10, limit: 1 })).toBe(1)
    })

    it('erases a record before its end, but no job that is not over', async () => {
      const jobs = {
        over: jobOf('1', { phase: 'accepted', settledAt: 5, outbox: [] }),
        running: jobOf('2', { outbox: [] }),
        undelivered: jobOf('3', { phase: 'accepted', settledAt: 5, outbox: [effect(1)] }),
      }
      for (const job of Object.values(jobs)) await insert(job)
      await store.save({ kind: 'client', client: { address: nodeB, firstAcceptedAt: 7 }, base: 0 })
      await store.save({ kind: 'blob', cid: 'c', bytes: bytes(1), uploader: 'node', until: 10 })
      const erasable = [
        { kind: 'job', id: jobs.over.id },
        { kind: 'client', address: nodeB },
        { kind: 'blob', cid: 'c' },
      ] as const
      for (const record of erasable) expect(await store.erase(record)).toBe(true)
      for (const record of erasable) expect(await store.erase(record)).toBe(false)
      for (const { id } of [jobs.running, jobs.undelivered]) {
        expect(await store.erase({ kind: 'job', id })).toBe(false)
      }
      expect((await recordsOf(store)).map(({ kind }) => kind).join()).toBe('job,job')
      expect(await store.findBlob('c')).toBeUndefined()
      // As if they had never been there.
      expect(await insert(jobs.over)).toBe(true)
      expect(
        await store.save({
          kind: 'client',
          client: { address: nodeB, firstAcceptedAt: 8 },
          base: 0,
        }),
      ).toBe(true)
    })

    it('tells of a change after it forgot the job that changed last', async () => {
      await insert(jobOf('1', { phase: 'expired', settledAt: 1, outbox: [] }))
      const { cursor } = await store.listChanges(undefined)
      expect(await store.prune({ now: 0, settledBefore: 9, limit: 9 })).toBe(1)
      await insert(jobOf('2'))
      const { jobs } = await store.listChanges(cursor)
      expect(jobs.map(({ id }) => id)).toContain(jobOf('2').id)
    })

    it('gives back from a backup what it held', async () => {
      await insert(jobOf('1', { clientNonce: 2n ** 255n, outbox: [effect(3)] }))
      await store.save({ kind: 'node', node: nodeOf(nodeA), base: 0 })
      const client = { address: nodeB, firstAcceptedAt: 7 }
      await store.save({ kind: 'client', client, base: 0 })
      await store.save({ kind: 'event', event: eventOf('e', 1) })
      await store.save({ kind: 'key', key: 'k', value: 'v', now: 0, expiresAt: 10 })
      const blob = { cid: 'c', bytes: bytes(1, 2), uploader: 'kubo-node', until: 10 } as const
      await store.save({ kind: 'blob', ...blob })
      const { version: base } = (await store.findJob(jobOf('1').id))!
      await store.save({ kind: 'job', job: jobOf('1', { minTier: 7 }), base })
      const records = await recordsOf(store)
      expect(
        records
          .map(({ kind }) => kind)
          .sort()
          .join(),
      ).toBe('blob,client,event,job,key,node')
      expect(await Promise.all(records.map((record) => store.restore(record)))).toEqual(
        records.map(() => false),
      )
      const other = await open()
      try {
        await other.save({ kind: 'key', key: 'k', value: 'w', now: 0, expiresAt: 10 })
        await other.save({ kind: 'release-key', key: 'k', value: 'w' })
        for (const record of records) expect(await other.restore(record)).toBe(true)
        const byKind = (a: StoreRecord, b: StoreRecord) => (a.kind < b.kind ? -1 : 1)
        expect([...(await recordsOf(other))].sort(byKind)).toEqual([...records].sort(byKind))
        expect(await other.listDue('tick', Number.MAX_SAFE_INTEGER, 9)).toEqual(
          await store.listDue('tick', Number.MAX_SAFE_INTEGER, 9),
        )
        expect(await other.save({ kind: 'job', job: jobOf('1'), base: base + 1 })).toBe(true)
      } finally {
        await other.close()
      }
    })
  })
}

/** False for what a store that is shared keeps of its own. */
const isOfTest = (key: string): boolean => !/^(replica[:-]|database-(id|lock)$)/.test(key)

async function recordsOf(store: Store): Promise<readonly StoreRecord[]> {
  const records: StoreRecord[] = []
  for await (const record of store.scan()) {
    if (record.kind !== 'key' || isOfTest(record.key)) records.push(record)
  }
  return records
}
