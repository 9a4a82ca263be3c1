import { describe, expect, it, vi } from 'vitest'
import type { Chain } from '../../../icl/chain/chain.ts'
import { createMemoryStore } from '../../../icl/store/memory/store.ts'
import { ProblemError } from '../../../lib/problem.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { offersOf } from '../node-steps.ts'
import { at, useReplicas } from '../replica-set.ts'
import { runJob } from '../run-job.ts'
import { submit } from '../test-client.ts'
import { createShared, joinNodes, type TestIcl } from '../test-icl.ts'

const { start, kill, stop, pair } = useReplicas()

describe('what is done outside', () => {
  /** Notes which replica sends something. */
  const noting = (chain: Chain, id: string, senders: string[]): Chain =>
    new Proxy(chain, {
      get: (target, name) => {
        if (name === 'commitResults' || name === 'activate') senders.push(id)
        return Reflect.get(target, name)
      },
    })

  it('is done by one replica, and by another 15 s after that one was killed', async () => {
    const shared = createShared()
    const senders: string[] = []
    const all = new Map<string, TestIcl>()
    for (const id of ['a', 'b', 'c']) {
      all.set(id, await start(shared, id, { chain: noting(shared.chain, id, senders) }))
    }
    await shared.clock.advance(6_000)
    const [some] = all.values()
    const nodes = await joinNodes(some!, 3)
    await runJob(some!, nodes, ['yes', 'yes', 'yes'], { client: 'first' })
    await shared.clock.advance(3_000)
    expect(senders).toHaveLength(1)
    const [owner] = senders
    kill(all.get(owner!)!)
    const other = [...all].find(([id]) => id !== owner)![1]
    const late = nodes.map((node) => at(other, node))
    const killedAt = shared.clock.now()
    const offered = (async () => {
      const { leader: address } = await submit(other, { client: 'second' })
      const leader = late.find((node) => node.address === address)!
      while ((await offersOf(leader)).length === 0) await shared.clock.advance(250)
    })()
    await offered
    expect(shared.clock.now() - killedAt).toBeGreaterThan(5_000)
    expect(shared.clock.now() - killedAt).toBeLessThan(17_000)
  })

  it('holds up no other node of a draw while the chain takes its time for one', async () => {
    const { a, chain, clock, nodes } = await pair()
    const { isAllowed } = chain
    const slow = Promise.withResolvers<void>()
    chain.isAllowed = async (handle, account) => {
      if (account === nodes[0]!.address) await slow.promise
      return isAllowed(handle, account)
    }
    await submit(a)
    await clock.advance(1_000)
    const counts = async () =>
      Promise.all(nodes.map(async (node) => (await offersOf(at(a, node))).length))
    expect(await counts()).toEqual([0, 1, 1])
    slow.resolve()
    await clock.advance(100)
    expect(await counts()).toEqual([1, 1, 1])
  })

  it('goes over at once when its replica stops in order', async () => {
    const { a, b, clock, nodes } = await pair()
    await stop(a)
    const stoppedAt = clock.now()
    await submit(b)
    const mine = nodes.map((node) => at(b, node))
    while ((await offersOf(mine[0]!)).length === 0) await clock.advance(100)
    expect(clock.now() - stoppedAt).toBeLessThan(2_000)
    expect((await b.deps.store.listKeys('replica:', clock.now())).map(({ key }) => key)).toEqual([
      'replica:b',
    ])
  })

  it('goes over also when its replica stops while the chain takes its time', async () => {
    const { a, b, clock, chain, nodes } = await pair()
    const { commitResults } = chain
    chain.commitResults = (_, signal) =>
      new Promise((_resolve, reject) => {
        signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
      })
    const { job } = await runJob(a, nodes, ['yes', 'yes', 'yes'])
    await clock.advance(1_000)
    chain.commitResults = commitResults
    const stoppedAt = clock.now()
    await stop(a)
    const view = () =>
      b.api().getJob({ params: { jobId: job.jobId } }, { readToken: job.readToken })
    while ((await view()).commit_tx === undefined) await clock.advance(250)
    expect(clock.now() - stoppedAt).toBeLessThan(8_000)
    expect((await view()).commit_error).toBeUndefined()
  })

  it('is done at once by a new process that has the store for itself', async () => {
    const shared = { ...createShared(), store: createMemoryStore() }
    const first = await start(shared, 'a')
    const nodes = await joinNodes(first, 3)
    kill(first)
    const second = await start(shared, 'b')
    await submit(second)
    expect(await offersOf(at(second, nodes[0]!))).toHaveLength(1)
  })

  /** Runs four jobs of which the first is being put on chain until `mine` is called; answers the sizes of what was sent. */
  async function pileUp(mostAtOnce: number) {
    const { a, clock, chain, nodes } = await pair()
    const { commitResults } = chain
    const sizes: number[] = []
    let mine = () => {}
    const mined = new Promise<void>((resolve) => {
      mine = resolve
    })
    chain.commitResults = async (results, signal) => {
      sizes.push(results.length)
      await mined
      if (results.length > mostAtOnce) {
        throw new SvcError('chain-unavailable', 'exceeds block gas limit', { hint: '' })
      }
      return commitResults(results, signal)
    }
    const views: Awaited<ReturnType<typeof runJob>>['view'][] = []
    for (const client of ['c1', 'c2', 'c3', 'c4']) {
      views.push((await runJob(a, nodes, ['yes', 'yes', 'yes'], { client })).view)
      await clock.advance(1_000)
    }
    const statuses = async () => {
      const seen = await Promise.all(views.map((view) => view()))
      return seen.map(({ status, commit_tx: tx }) => [status, tx !== undefined])
    }
    return { clock, sizes, mine, statuses }
  }

  it('puts all results that wait on chain with one transaction', async () => {
    const { clock, sizes, mine, statuses } = await pileUp(10)
    expect(sizes).toEqual([1])
    mine()
    await clock.advance(3_000)
    expect(sizes).toEqual([1, 3])
    expect(await statuses()).toEqual(Array(4).fill(['accepted', true]))
  })

  it('sends fewer results together when the chain does not take as many', async () => {
    const { clock, sizes, mine, statuses } = await pileUp(1)
    mine()
    await clock.advance(10_000)
    expect(sizes.slice(0, 3)).toEqual([1, 3, 1])
    expect(await statuses()).toEqual(Array(4).fill(['accepted', true]))
  })

  it('keeps in the job why it failed last, until it has not', async () => {
    const { a, clock, chain, nodes } = await pair()
    const { job } = await runJob(a, nodes, ['yes', 'yes', 'yes'], {
      beforeVerdicts: () => {
        chain.down = new SvcError('chain-unavailable', 'the chain is away', { hint: '' })
      },
    })
    await clock.advance(1_000)
    const outbox = async () => (await a.deps.store.findJob(job.jobId))!.document.outbox
    expect(await outbox()).toMatchObject([
      { effect: { type: 'commit-result' }, error: 'the chain is away' },
    ])
    chain.down = undefined
    chain.shallow = true
    await clock.advance(10_000)
    expect((await outbox()).map(({ error }) => error)).toEqual([undefined])
  })

  it('is not noted in the job again and again while the store cannot do it', async () => {
    const shared = createShared()
    const a = await start(shared, 'a')
    const nodes = await joinNodes(a, 3)
    const events = vi.spyOn(shared.store, 'listReputationEvents')
    const { job } = await runJob(a, nodes, ['yes', 'yes', 'yes'], {
      beforeVerdicts: () => {
        events.mockRejectedValue(new ProblemError('unavailable', 'the database is away'))
      },
    })
    const found = async () => (await shared.store.findJob(job.jobId))!
    await shared.clock.advance(5_000)
    const { version, document } = await found()
    expect(document.outbox.map(({ effect }) => effect.type)).toContain('score-node')
    await shared.clock.advance(60_000)
    expect((await found()).version).toBe(version)
    events.mockRestore()
    await shared.clock.advance(15_000)
    expect((await found()).document.outbox).toEqual([])
  })

  it('is done again when the chain reorganises before a result is deep enough', async () => {
    const { a, clock, chain, nodes } = await pair()
    chain.shallow = true
    const { view } = await runJob(a, nodes, ['yes', 'yes', 'yes'])
    await clock.advance(10_000)
    expect([chain.committed.length, (await view()).commit_tx]).toEqual([1, undefined])
    chain.committed.length = 0
    await clock.advance(20_000)
    expect([chain.committed.length, (await view()).commit_tx]).toEqual([1, undefined])
    chain.shallow = false
    await clock.advance(20_000)
    expect([chain.committed.length, (await view()).commit_tx]).toEqual([1, expect.any(String)])
  })

  it('is given up when the chain has another result of the job, which nothing changes', async () => {
    const shared = createShared()
    const refused = async () => ({ status: 500 })
    const a = await start(shared, 'a', {
      webhooks: { check: async () => {}, send: refused, post: refused },
    })
    const nodes = await joinNodes(a, 3)
    let looks = 0
    shared.chain.findCommitment = async () => {
      looks++
      throw new SvcError('chain-conflict', 'it holds another result', { hint: '' })
    }
    const webhook = 'https://receiver.example/hook'
    const { jobId, view } = await runJob(a, nodes, ['yes', 'yes', 'yes'], { webhook })
    await shared.clock.advance(60_000)
    expect(looks).toBe(1)
    expect((await view()).commit_error).toBe('it holds another result')
    const left = (await a.deps.store.findJob(jobId))?.document.outbox.map(
      ({ effect }) => effect.type,
    )
    expect(left).toEqual(['notify'])
    expect((await a.api().getReadiness()).reasons.join()).not.toContain('another result')
  })

  it('is what the operator is told of in /readyz and in the log when the contracts are wrong', async () => {
    const { a, chain, clock } = await pair()
    const fault = 'ResultRegistry: there is no contract at 0xde'
    const told = () => a.logged.filter((line) => line.includes(fault))
    chain.findFaults = async () => [fault]
    expect((await a.api().getReadiness()).reasons).toContain(fault)
    await clock.advance(600_000)
    expect(told()).toHaveLength(1)
    chain.findFaults = async () => []
    await clock.advance(300_000)
    expect(told()).toEqual([told()[0], expect.stringContaining(`over: ${fault}`)])
  })
})
