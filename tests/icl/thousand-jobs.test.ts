import { afterAll, describe, expect, it } from 'vitest'
import { createMemoryStore } from '../../icl/store/memory/store.ts'
import { eventOf } from '../../lib/counted-events.ts'
import { standingOf, utcDayOf, weightOf } from '../../lib/reputation.ts'
import type { ReputationStatement } from '../../lib/schemas/nodes.ts'
import { dayMs } from '../../lib/time.ts'
import { explainScore } from '../../node/commands/explain-score.ts'
import { quietContext } from '../node/commands/context.ts'
import { offTopic, onTopic } from '../scenarios/texts.ts'
import { createVirtualClock } from '../virtual-clock.ts'
import { createFakeChain } from './fake-chain.ts'
import { runJob } from './run-job.ts'
import { beat, createReplica, joinNode, origin, type TestNode, walletOf } from './test-icl.ts'

// SVC_LONG_TESTS=1 runs all thousand.
const jobs = process.env.SVC_LONG_TESTS === '1' ? 1_000 : 120
const day = 20_800
const [right, other, wrong] = [onTopic('right'), onTopic('other'), offTopic('wrong')]
const agreed = [right, right, right]
/** What the nodes of a job answer, by seat. */
const patterns = [
  ...[agreed, agreed, agreed, agreed, agreed],
  ...[
    [right, other, right, right],
    [wrong, right, right, right],
    [right, right, other, right],
  ],
]

// Midnight comes on the way.
const clock = createVirtualClock((day + 1) * dayMs - jobs * 1_000)
const icl = await createReplica({ clock, chain: createFakeChain(), store: createMemoryStore() })
for (const name of ['old 1', 'old 2', 'old 3']) {
  const client = { address: walletOf(name).address, firstAcceptedAt: (day - 8) * dayMs }
  await icl.deps.store.save({ kind: 'client', client, base: 0 })
}
const nodes: TestNode[] = []
for (const name of ['n1', 'n2', 'n3', 'n4', 'n5']) nodes.push(await joinNode(icl, name))
const clients = ['old 1', 'new 1', 'old 2', 'new 2', 'old 3']
for (let index = 0; index < jobs; index++) {
  const client = clients[index % clients.length]!
  const comparator = index % 2 === 0 ? 'exact' : 'similar/2'
  const answers = patterns[Math.floor(index / 2) % patterns.length]!
  await runJob(icl, nodes, answers, { client, comparator })
  await icl.clock.advance(1_000)
  if (index % 20 === 0) for (const node of nodes) await beat(icl, node)
}
await icl.clock.advance(5_000)
afterAll(() => icl.stop())

type Page = { events: { body: ReputationStatement }[]; next_cursor: string | null }
type Change = (path: string, answer: never) => unknown

/** What the command makes of a node's record, when the ICL answers otherwise than it should. */
async function explain(node: TestNode, change: Change = (_, answer) => answer) {
  const fetch = async (request: Request) => {
    const response = await icl.fetch(request)
    const { pathname } = new URL(request.url)
    const answer = change(pathname, (await response.json()) as never)
    return new Response(JSON.stringify(answer), response)
  }
  const context = { ...quietContext({}), fetch, clock: icl.clock }
  const code = await icl.clock.until(explainScore(node.address, origin, { json: true }, context))
  return { code, told: JSON.parse(context.printed.join('')) }
}

const onPages =
  (change: (page: Page) => unknown): Change =>
  (path, answer) =>
    path.endsWith('/events') ? change(answer) : answer

describe(`a record of ${jobs} jobs through the whole application`, () => {
  it('follows from the signed events alone: score, doubt and weight', async () => {
    const seen = new Set<string>()
    let events = 0
    for (const node of nodes) {
      const { code, told } = await explain(node)
      expect([code, told.holds, told.faults]).toEqual([0, true, []])
      const { reputation_score: score, doubt_millinats: doubt, weight } = told.record
      expect([score.computed, doubt.computed, weight.computed]).toEqual([
        ...[score.told, doubt.told, weight.told],
      ])
      events += told.events.length
      for (const { code: what, client, counted, at } of told.events) {
        const whose = client === 'newcomers' ? client : 'one client'
        for (const fact of [what, counted, whose, `day ${utcDayOf(at * 1000) - day}`]) {
          seen.add(fact)
        }
      }
    }
    expect(events).toBeGreaterThan(3 * jobs)
    const wanted = [
      ...['answer-delivered', 'answer-agreed', 'answer-contradicted', 'answer-dissented'],
      ...['answer-differed', 'full', 'bounded', 'again', 'newcomers', 'one client'],
      ...['day 0', 'day 1'],
    ]
    expect(seen).toEqual(new Set(wanted))
  })

  it('shows an event that is left out, or changed after it was signed', async () => {
    const [node] = nodes
    const leftOut = await explain(
      node!,
      onPages((page) => ({ ...page, events: page.events.slice(1) })),
    )
    expect([leftOut.code, leftOut.told.holds]).toEqual([1, false])
    expect(leftOut.told.faults.join()).toContain('tasks_completed: the events make')
    const changed = await explain(
      node!,
      onPages(({ events: [first, ...rest], ...page }) => ({
        ...page,
        events: [{ ...first, body: { ...first?.body, client: 'newcomers', at: 1 } }, ...rest],
      })),
    )
    expect([changed.code, changed.told.holds]).toEqual([1, false])
    expect(changed.told.faults.join()).toContain('not signed by a key that the ICL publishes')
  })

  it('is the same in whatever order the events are told: their times and ids order them', async () => {
    const turned = onPages((page) => ({ ...page, events: page.events.toReversed() }))
    const { code, told } = await explain(nodes[0]!, turned)
    expect([code, told.holds]).toEqual([0, true])
  })

  it('does not show an event that the ICL left out of its own account, too', async () => {
    const eventsOf = async (node: TestNode) => {
      const all: ReputationStatement[] = []
      await explain(
        node,
        onPages((page) => {
          all.push(...page.events.map(({ body }) => body))
          return page
        }),
      )
      return all
    }
    // The lists are drawn: any of the nodes may have none.
    const records: { node: TestNode; all: ReputationStatement[] }[] = []
    for (const node of nodes) records.push({ node, all: await eventsOf(node) })
    const isLoss = ({ code }: ReputationStatement) => code === 'answer-contradicted'
    const { node, all } = records.find((record) => record.all.some(isLoss))!
    const without = all.find(isLoss)
    const rest = standingOf(
      all.filter((body) => body !== without).flatMap((one) => eventOf(one) ?? []),
    )
    const hidden: Change = (path, answer: never) => {
      const told = answer as Page & { metrics: object; draw: { pool_weight: number } }
      if (path.endsWith('/events')) {
        return { ...told, events: told.events.filter(({ body }) => body.id !== without?.id) }
      }
      if (!path.endsWith(node.address)) return told
      const { completed, accepted, rejected, score, doubtMillinats } = rest
      return {
        ...told,
        metrics: {
          ...told.metrics,
          ...{ tasks_completed: completed, tasks_accepted: accepted, tasks_rejected: rejected },
          reputation_score: score,
        },
        draw: { ...told.draw, weight: weightOf(rest), doubt_millinats: doubtMillinats },
      }
    }
    expect(without).toBeDefined()
    const { code, told } = await explain(node, hidden)
    expect([code, told.holds, told.events.length]).toEqual([0, true, all.length - 1])
  })
})
