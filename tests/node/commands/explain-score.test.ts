import { afterAll, describe, expect, it } from 'vitest'
import type { Fetch } from '../../../lib/outgoing.ts'
import { explainScore } from '../../../node/commands/explain-score.ts'
import { aJobId } from '../../branded.ts'
import { runJob } from '../../icl/run-job.ts'
import { createTestIcl, joinNode, origin, type TestNode } from '../../icl/test-icl.ts'
import { quietContext } from './context.ts'

const nodes: TestNode[] = []
const icl = await createTestIcl()
for (const name of ['n1', 'n2', 'n3']) nodes.push(await joinNode(icl, name))
for (const client of ['c1', 'c2']) {
  await runJob(icl, nodes, ['yes', 'yes', 'yes'], { client })
  await icl.clock.advance(2_000)
}
for (let index = 0; index < 230; index++) {
  await icl.deps.store.save({
    kind: 'event',
    event: {
      id: `0x${'1'.repeat(64)}:${index}:x`,
      node: nodes[0]!.address,
      jobId: aJobId(`0x${'1'.repeat(64)}`),
      code: index % 3 === 0 ? 'verdict-outvoted' : 'answer-agreed',
      // Many in one second: within it, the id says which comes first.
      at: icl.clock.now() + ((index * 37) % 500),
    },
  })
}
// Another process that adds events saves the node with them.
const scored = await icl.deps.store.findNode(nodes[0]!.address)
if (!scored) throw new Error('The node is not there')
const { document, version } = scored
const node = { ...document, standing: { ...document.standing } }
await icl.deps.store.save({ kind: 'node', node, base: version })
await runJob(icl, nodes, ['yes', 'yes', 'yes'], { client: 'c3' })
await icl.clock.advance(2_000)
afterAll(() => icl.stop())

/** Runs the command against the ICL, whose answers a proxy may change. */
async function explain(changed: (path: string, text: string) => string = (_, text) => text) {
  const fetch: Fetch = async (request) => {
    const response = await icl.fetch(request)
    const { pathname } = new URL(request.url)
    return new Response(changed(pathname, await response.text()), response)
  }
  const context = { ...quietContext({}), fetch, clock: icl.clock }
  const { address } = nodes[0]!
  const work = explainScore(address, origin, { json: true }, context)
  const code = await icl.clock.until(work)
  return { code, told: JSON.parse(context.printed.join('')), context }
}

describe('svc-node jobs --explain', () => {
  it('makes the record of the ICL from its signed events, over all pages', async () => {
    const { code, told } = await explain()
    expect([code, told.holds, told.faults]).toEqual([0, true, []])
    expect(told.events).toHaveLength(233)
    const last = told.events.at(-1)
    const { reputation_score: score, doubt_millinats: doubt } = told.record
    expect([score.computed, score.told]).toEqual([last.score, last.score])
    expect([doubt.computed, doubt.told]).toEqual([last.doubt_millinats, last.doubt_millinats])
    expect(told.share).toMatch(/^\d+\.\d\d % \(weight \d+ of \d+\)$/)
    const sum = told.events.reduce(
      (total: number, event: { score_change: number }) => total + event.score_change,
      100,
    )
    expect(sum).toBe(last.score)
  })

  it('names no share of draws for a node that is not drawn', async () => {
    const { told } = await explain((_, text) => text.replace('"active":true', '"active":false'))
    expect([told.holds, told.share]).toEqual([true, undefined])
  })

  it('prints each event with what it adds, for people', async () => {
    const context = { ...quietContext({}), fetch: icl.fetch, clock: icl.clock }
    const work = explainScore(nodes[1]!.address, origin, {}, context)
    expect(await icl.clock.until(work)).toBe(0)
    const text = context.printed.join('\n')
    expect(text).toMatch(/score \+(5 = 105|10 = 110), doubt \+0 = 0, weight \+(5 = 105|10 = 110)/)
    expect(text).toMatch(/weight moved: +100 to \d+ in 7 days: \+\d+ by (agreeing|delivering)/)
    expect(text).toContain('The 3 signed events make exactly the record that the ICL shows.')
  })

  it.each([
    [
      'the ICL shows another score',
      (path: string, text: string) =>
        path.endsWith('/events')
          ? text
          : text.replace(/"reputation_score":\d+/, '"reputation_score":7'),
      'reputation_score: the events make',
    ],
    [
      'the ICL shows a slash that no event tells of',
      (_: string, text: string) =>
        text.replace('"total_slash_amount":0', '"total_slash_amount":5000'),
      'total_slash_amount: the events make 0',
    ],
    [
      'an event says something else than was signed',
      (_: string, text: string) =>
        text.replace('"code":"verdict-outvoted"', '"code":"answer-agreed"'),
      'not signed by a key',
    ],
    [
      'an event is held back',
      (path: string, text: string) => {
        if (!path.endsWith('/events')) return text
        const page = JSON.parse(text)
        return JSON.stringify({ ...page, events: page.events.slice(1) })
      },
      'the events make',
    ],
    [
      'the keys are other ones',
      (path: string, text: string) =>
        path.endsWith('jwks.json')
          ? text.replace(/("crv":"Ed25519","x":")[^"]+/g, `$1B${'A'.repeat(42)}`)
          : text,
      'not signed by a key',
    ],
  ])('fails when %s', async (_, change, why) => {
    const { code, told } = await explain(change)
    expect([code, told.holds]).toEqual([1, false])
    expect(told.faults.join('\n')).toContain(why)
  })

  it('does not guess what an event is worth that it does not know', async () => {
    const { address } = nodes[2]!
    await icl.deps.store.save({
      kind: 'event',
      event: {
        id: 'new',
        node: address,
        jobId: aJobId(`0x${'2'.repeat(64)}`),
        code: 'from-a-later-version' as never,
        at: icl.clock.now(),
      },
    })
    const context = { ...quietContext({}), fetch: icl.fetch, clock: icl.clock }
    await expect(icl.clock.until(explainScore(address, origin, {}, context))).rejects.toMatchObject(
      { code: 'reputation-code-unknown' },
    )
  })
})
