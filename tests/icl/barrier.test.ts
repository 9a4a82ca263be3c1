import { describe, expect, it } from 'vitest'
import { sendWhatLasts } from '../../icl/background/send-what-lasts.ts'
import { createMemoryStore } from '../../icl/store/memory/store.ts'
import type { Commits } from '../../icl/store/store.ts'
import type { Webhooks } from '../../icl/webhooks/webhooks.ts'
import { unixSeconds } from '../../lib/clock.ts'
import { endpoints } from '../../lib/endpoints.ts'
import { ProblemError } from '../../lib/problem.ts'
import { aHash } from '../branded.ts'
import { codeOf } from '../code-of.ts'
import { startIcl } from './fresh-icl.ts'
import { claim, offersOf } from './node-steps.ts'
import { runJob } from './run-job.ts'
import { submit } from './test-client.ts'
import {
  attestationOf,
  joinNodes,
  origin,
  sessionKeyOf,
  type TestIcl,
  walletOf,
} from './test-icl.ts'

/*
 * What leaves the process waits for what it rests on: each answer, each event of a stream, each transaction and each message to a
 * client's server. The store here has a disk that a test can stop.
 */

/** When the saves of a store last: at once, or when the test says so. */
function createDisk() {
  let gate: ReturnType<typeof Promise.withResolvers<void>> | undefined
  let losses = 0
  const listeners: (() => void)[] = []
  const commits: Commits = {
    barrier: () => {
      const since = losses
      return async () => {
        await gate?.promise
        if (losses !== since) throw new ProblemError('unavailable', 'lost')
      }
    },
    onLost: (listener) => void listeners.push(listener),
    onForeign: () => {},
  }
  return {
    commits,
    stop: () => {
      gate = Promise.withResolvers()
    },
    goOn: () => {
      gate?.resolve()
      gate = undefined
    },
    lose: () => {
      losses++
      for (const listener of listeners) listener()
    },
  }
}

async function start() {
  const disk = createDisk()
  const sent: string[] = []
  const webhooks: Webhooks = {
    allowPrivate: true,
    send: async () => {
      sent.push('webhook')
      return { status: 204 }
    },
  }
  const store = { ...createMemoryStore(), commits: disk.commits }
  const own = await startIcl({ store, webhooks })
  const { activate, commitResults } = own.chain
  own.chain.activate = async (...args) => {
    sent.push('activate')
    return activate(...args)
  }
  own.chain.commitResults = async (...args) => {
    sent.push('commitResults')
    return commitResults(...args)
  }
  return { icl: own, disk, sent, nodes: await joinNodes(own, 3) }
}

/** Whether something has come yet, once all that can happen now has happened. */
async function hasCome(own: TestIcl, work: Promise<unknown>): Promise<boolean> {
  let isThere = false
  const note = () => {
    isThere = true
  }
  void work.then(note, note)
  await own.clock.advance(300)
  return isThere
}

describe('while the disk takes its time', () => {
  const requests = Object.entries(endpoints)
    .map(([id, { method, path }]) => [id, method, path.replace(/\{\w+\}/g, 'x')] as const)
    .concat([
      ['an unknown address', 'GET', '/nowhere'],
      ['the front page', 'GET', '/'],
    ])

  it.each(requests)('no answer leaves: %s', async (_, method, path) => {
    const { icl: own, disk } = await start()
    disk.stop()
    const answer = own.fetch(new Request(origin + path, { method }))
    expect(await hasCome(own, answer)).toBe(false)
    disk.goOn()
    expect(await hasCome(own, answer)).toBe(true)
  })

  it('no event of a stream leaves', async () => {
    const { icl: own, disk, nodes } = await start()
    const job = await submit(own)
    const streams = [`/v1/inference/${job.jobId}/events`, '/v1/console/events'].map(
      async (path) => {
        const authorization = `Bearer ${job.readToken}`
        const response = await own.fetch(new Request(origin + path, { headers: { authorization } }))
        const reader = response.body!.getReader()
        const first = reader.read()
        await own.clock.until(first)
        return reader
      },
    )
    const readers = await Promise.all(streams)
    disk.stop()
    await own.clock.advance(2_000)
    const claims = nodes.map((node) =>
      node.api.claimAssignment({ body: { jobId: job.jobId, fence: 1 } }).catch(() => {}),
    )
    const next = readers.map((reader) => reader.read())
    for (const chunk of next) expect(await hasCome(own, chunk)).toBe(false)
    disk.goOn()
    await own.clock.until(Promise.all(claims))
    for (const chunk of next) expect(await hasCome(own, chunk)).toBe(true)
    for (const reader of readers) await reader.cancel()
  })

  it('no answer leaves that waited for the next step of a node', async () => {
    const { icl: own, disk, nodes } = await start()
    await submit(own)
    const claims = await Promise.all(nodes.map((node) => claim(node)))
    const commitment = aHash(`0x${'ab'.repeat(32)}`)
    const bodies = claims.map(({ jobId, fence }) => ({ jobId, fence, commitment }))
    const [first, ...others] = nodes.map(
      (node, index) => () =>
        node.api.commitAssignment(
          { query: { wait: 20 }, body: bodies[index]! },
          { timeoutMs: 30_000 },
        ),
    )
    const answer = first!()
    await own.clock.advance(1_000)
    disk.stop()
    const later = others.map((commit) => commit())
    for (const one of [answer, ...later]) expect(await hasCome(own, one)).toBe(false)
    disk.goOn()
    expect((await own.clock.until(answer)).next?.step).toBe('reveal')
    await own.clock.until(Promise.all(later))
  })

  it('nothing is sent to the chain or to a client’s server', async () => {
    const { icl: own, disk, sent, nodes } = await start()
    const webhook = 'http://127.0.0.1:9/told'
    const beforeVerdicts = () => {
      own.chain.down = new Error('away')
    }
    await runJob(own, nodes, ['x', 'x', 'x'], { beforeVerdicts, webhook })
    disk.stop()
    own.chain.down = undefined
    sent.length = 0
    await own.clock.advance(5_000)
    expect(sent).toEqual([])
    disk.goOn()
    await own.clock.advance(5_000)
    expect(sent).toEqual(['commitResults', 'webhook'])
  })

  it('every call that tells the chain something waits, and none that has been given up goes out', async () => {
    const { icl: own, disk } = await start()
    const called: string[] = []
    const names = Object.keys(own.chain).filter(
      (name) => typeof Reflect.get(own.chain, name) === 'function',
    )
    const listed = Object.fromEntries(
      names.map((name) => [name, async () => void called.push(name)]),
    )
    const { chain } = sendWhatLasts({ ...own.deps, chain: listed as never })
    disk.stop()
    const given = new AbortController()
    const calls = names.map((name) => (chain as never)[name] as (...args: unknown[]) => unknown)
    const results = calls.map(async (call) => call(given.signal))
    await own.clock.advance(1)
    const sends = ['activate', 'commitResults', 'executeSlash', 'proposeSlash']
    expect(
      names.filter((name) => !called.includes(name)).toSorted((a, b) => (a < b ? -1 : 1)),
    ).toEqual(sends)
    given.abort()
    disk.goOn()
    await Promise.allSettled(results)
    expect(called.filter((name) => sends.includes(name))).toEqual([])
  })
})

describe('when what was saved is lost', () => {
  it('earlier callers are told to ask again, streams end, and the next request is answered', async () => {
    const { icl: own, disk } = await start()
    const { jobId, readToken } = await submit(own)
    const headers = { authorization: `Bearer ${readToken}` }
    const events = `${origin}/v1/inference/${jobId}/events`
    const stream = (await own.fetch(new Request(events, { headers }))).body!.getReader()
    await own.clock.until(stream.read())
    disk.stop()
    const view = () => own.api().getJob({ params: { jobId } }, { readToken })
    const before = codeOf(view())
    await own.clock.advance(1)
    disk.lose()
    disk.goOn()
    expect(await own.clock.until(before)).toBe('unavailable')
    for (;;) if ((await own.clock.until(stream.read())).done) break
    expect((await view()).jobId).toBe(jobId)
  })

  it('nothing goes out that rests on it, and the work goes on', async () => {
    const { icl: own, disk, sent, nodes } = await start()
    disk.stop()
    await own.clock.advance(1)
    const submitted = submit(own).catch(() => undefined)
    await own.clock.advance(2_000)
    expect(sent).toEqual([])
    disk.lose()
    await own.clock.advance(1)
    expect(sent).toEqual([])
    disk.goOn()
    await own.clock.until(submitted)
    const { jobId } = await submit(own)
    await own.clock.advance(1_000)
    const offers = await Promise.all(nodes.map(offersOf))
    expect(offers.flat().filter((offer) => offer.jobId === jobId)).toHaveLength(3)
  })

  it('the log tells of no node that was refused, and of no work that was taken over again', async () => {
    const { icl: own, disk } = await start()
    const { address, signer } = walletOf('late')
    const api = own.api(signer)
    const { nonce } = await api.getChallenge({ params: { address } })
    const notAfter = unixSeconds(own.clock) + 86_400
    const body = await attestationOf('late', nonce, await sessionKeyOf('late'), notAfter)
    disk.stop()
    const answer = codeOf(api.verifyAttestation({ body }))
    await own.clock.advance(1_000)
    disk.lose()
    disk.goOn()
    expect(await own.clock.until(answer)).toBe('unavailable')
    const linesOf = (message: string) => own.logged.filter((line) => line.startsWith(message))
    expect(linesOf('node attested')).toHaveLength(3)
    expect(linesOf('work taken over')).toHaveLength(1)
  })
})
