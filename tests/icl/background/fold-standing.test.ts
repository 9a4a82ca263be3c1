import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { foldStanding } from '../../../icl/background/fold-standing.ts'
import { attestedNode, type Certificate, type Node } from '../../../icl/rules/eligibility.ts'
import { createMemoryStore } from '../../../icl/store/memory/store.ts'
import { type ReputationEvent, standingOf } from '../../../lib/reputation.ts'
import { aJobId } from '../../branded.ts'
import { sampleReading } from '../../sample-reading.ts'
import { nodeA } from '../rules/sample-job.ts'

const start: Node = attestedNode(nodeA, {} as Certificate, sampleReading)
const codes = ['answer-delivered', 'verdict-outvoted', 'lease-lapsed', 'answer-agreed'] as const

const eventAt = (index: number, second: number): ReputationEvent => ({
  id: `0x${index}:1`,
  node: nodeA,
  jobId: aJobId(`0x${String(index).padStart(64, '0')}`),
  code: codes[index % codes.length]!,
  at: second * 1_000 + (index % 7),
})

/**
 * Scores one event after the other as the background does, each in a process that has read the node's document anew unless it says
 * otherwise. Gives the node, how often all events were read, how often any, and the most that one score read.
 */
async function scoreAll(
  events: readonly ReputationEvent[],
  { knownSeconds = true, shared = false, isElsewhere = (_: number): boolean => true } = {},
) {
  const store = { ...createMemoryStore(), shared }
  let wholeReads = 0
  let reads = 0
  let mostRead = 0
  const counted = {
    ...store,
    listReputationEvents: async (...args: Parameters<typeof store.listReputationEvents>) => {
      const [, { since = 0 }] = args
      reads += 1
      if (since === 0) wholeReads += 1
      const found = await store.listReputationEvents(...args)
      mostRead = Math.max(mostRead, found.length)
      return found
    },
  }
  let node = start
  for (const [index, event] of events.entries()) {
    const second = Math.floor(event.at / 1000)
    const from = knownSeconds ? second : undefined
    const known = isElsewhere(index) ? structuredClone(node) : node
    const found = await foldStanding(counted, known, from, second, [event])
    await store.save({ kind: 'event', event })
    node = { ...node, folded: undefined, ...found }
  }
  const all = await store.listReputationEvents(nodeA, { limit: 1_000 })
  return { node, reads, wholeReads, mostRead, expected: standingOf(all) }
}

describe('the standing of a node', () => {
  it('gives what folding all of them gives, and reads all of them only until there are many', async () => {
    const events = Array.from({ length: 400 }, (_, index) => eventAt(index, 1_000 + index * 10))
    const { node, wholeReads, expected } = await scoreAll(events)
    expect(node.standing).toEqual(expected)
    expect(node.folded?.before).toBeGreaterThan(1_000)
    expect(wholeReads).toBeLessThan(70)
  })

  it('reads few events of a busy node of several replicas, and folds a late one in all the same', async () => {
    const events = Array.from({ length: 900 }, (_, index) =>
      eventAt(index, 1_000 + Math.floor(index / 5)),
    )
    const { node, mostRead, expected } = await scoreAll(events, { shared: true })
    expect(node.standing).toEqual(expected)
    expect(mostRead).toBeLessThan(80)
    const withLate = [...events.slice(0, 700), eventAt(7_777, 1_130), ...events.slice(700)]
    const late = await scoreAll(withLate, { shared: true })
    expect(late.node.standing).toEqual(late.expected)
  })

  it('counts none twice when a replica whose clock is behind continues', async () => {
    const events = Array.from({ length: 300 }, (_, index) =>
      eventAt(index, 1_000 + index * 6 - (index >= 200 ? 45 : 0)),
    )
    const { node, wholeReads, expected } = await scoreAll(events, { shared: true })
    expect(node.standing).toEqual(expected)
    expect(wholeReads).toBeLessThan(60)
  })

  it('counts events of one second by their ids, in whatever order they come', async () => {
    const events = Array.from({ length: 150 }, (_, index) => eventAt((index * 37) % 150, 5_000))
    const { node, expected } = await scoreAll(events)
    expect(node.standing).toEqual(expected)
  })

  it('reads everything again for an event from before what is folded', async () => {
    const events = Array.from({ length: 200 }, (_, index) => eventAt(index, 1_000 + index * 20))
    const { node, expected } = await scoreAll([...events, eventAt(777, 1_001), eventAt(778, 6_000)])
    expect(node.standing).toEqual(expected)
  })

  it('reads no event again that this process has counted', async () => {
    const events = Array.from({ length: 200 }, (_, index) => eventAt(index, 1_000 + index * 3))
    const { node, reads, expected } = await scoreAll(events, { isElsewhere: () => false })
    expect(node.standing).toEqual(expected)
    expect(reads).toBe(1)
  })

  it('is the fold of all events, whichever processes count them, in whatever order', async () => {
    const seconds = fc.array(fc.nat(150), { minLength: 1, maxLength: 40 })
    const elsewhere = fc.array(fc.boolean(), { minLength: 1 })
    await fc.assert(
      fc.asyncProperty(seconds, elsewhere, fc.boolean(), async (offsets, which, shared) => {
        const events = offsets.map((offset, index) => eventAt(index, 1_000 + index * 5 + offset))
        const isElsewhere = (index: number) => which[index % which.length]!
        const { node, expected } = await scoreAll(events, { shared, isElsewhere })
        expect(node.standing).toEqual(expected)
      }),
    )
  })

  it('reads everything when it is not known since when an event may be missing', async () => {
    const events = Array.from({ length: 100 }, (_, index) => eventAt(index, 1_000 + index * 20))
    const { node, wholeReads, expected } = await scoreAll(events, { knownSeconds: false })
    expect(node.standing).toEqual(expected)
    expect(wholeReads).toBe(100)
  })
})
