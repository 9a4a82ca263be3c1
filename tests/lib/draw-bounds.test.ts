import { describe, expect, it } from 'vitest'
import { cidOf } from '../../lib/cid.ts'
import { utf8 } from '../../lib/digest.ts'
import { drawNodes, inPoolOrder } from '../../lib/draw.ts'
import { readPool, snapshotPool } from '../../lib/pool-snapshot.ts'
import { inOrder, isReputationCode, standingOf, weightOf } from '../../lib/reputation.ts'
import { aHash, aJobId } from '../branded.ts'
import { nodeAddress } from '../icl/rules/sample-job.ts'

const seed = aHash(`0x${'5'.repeat(64)}`)
const candidate = (digit: string, weight: number) => ({ address: nodeAddress(digit), weight })

describe('a draw', () => {
  it('needs weights that are positive and add up exactly', () => {
    const drawn = (...weights: readonly number[]) =>
      drawNodes(
        seed,
        weights.map((weight, index) => candidate(`${index + 1}`, weight)),
        weights.length,
      ).length
    expect(drawn(1, 2, 3)).toBe(3)
    expect(() => drawn(0)).toThrow('A draw needs positive weights')
    expect(() => drawn(5, -5)).toThrow('A draw needs positive weights')
    expect(() => drawn(0, 1)).toThrow('A draw needs positive weights')
    expect(drawn(Number.MAX_SAFE_INTEGER)).toBe(1)
    expect(() => drawn(Number.MAX_SAFE_INTEGER, 1)).toThrow('The weights of a draw are too large')
    expect(() => drawn(1.5)).toThrow('The weights of a draw are too large')
  })

  it('takes nodes from a pool in the order of their addresses', () => {
    const [a, b, c] = [candidate('a', 1), candidate('b', 2), candidate('c', 3)]
    expect(inPoolOrder([c, a, b])).toEqual([a, b, c])
    const ordered = [a, b, c]
    expect(inPoolOrder(ordered)).toBe(ordered)
    const twins = [a, { ...a, weight: 9 }]
    expect(inPoolOrder(twins)).toBe(twins)
  })
})

describe('a pool snapshot', () => {
  const refusal = async (text: string, others: readonly string[] = []) => {
    const blobs = new Map<string, Uint8Array<ArrayBuffer>>()
    for (const one of [text, ...others]) blobs.set(await cidOf(utf8(one)), utf8(one))
    return readPool(
      await cidOf(utf8(text)),
      async (cid) => blobs.get(cid) ?? new Uint8Array(),
    ).then(
      () => undefined,
      (error: { code?: string; message: string; hint?: string }) => {
        expect(error).toMatchObject({
          ...{ code: 'pool-snapshot-invalid', hint: expect.stringContaining('Fetch it again') },
        })
        return error.message.replace('The pool snapshot does not hold: ', '')
      },
    )
  }
  const serving = {
    tiers: [0, 2],
    models: ['openai:a', 'openai:b'],
    comparators: ['exact'],
  } as const
  const rest = '0,2 openai:a,openai:b exact'
  const [a, b] = [`${nodeAddress('a')} ${rest}`, `${nodeAddress('b')} ${rest}`]
  const page = (...lines: readonly string[]) => ['svc-pool-page-v3', ...lines].join('\n')
  const root = (...lines: readonly string[]) => ['svc-pool-v3', ...lines].join('\n')
  const cid = (text: string) => cidOf(utf8(text))
  /** Why a pool with this line of a node is refused. */
  const lineRefusal = async (line: string) =>
    refusal(root(`${await cid(page(line))} 5`), [page(line)])

  it('is what was written', async () => {
    const { parts } = await snapshotPool([
      { address: nodeAddress('a'), weight: 5, ...serving },
      { address: nodeAddress('b'), weight: 6, ...serving },
    ])
    const whole = root(`${await cid(page(a, b))} 5,6`)
    expect([...parts.values()].map((bytes) => new TextDecoder().decode(bytes))).toEqual([
      page(a, b),
      whole,
    ])
    expect(await refusal(whole, [page(a, b)])).toBeUndefined()
    const [one, two] = [page(a), page(b)]
    const split = root(`${await cid(one)} 5`, `${await cid(two)} 6`)
    expect(await refusal(split, [one, two])).toBeUndefined()
    expect(await refusal(root())).toBeUndefined()
  })

  it('is refused with a line that is no node, and says which', async () => {
    const changes = [
      ...[
        ['0,2', '2,0'],
        ['0,2', '0,0'],
        ['0,2', '256'],
        ['0,2', ''],
        ['0,2', '00'],
      ],
      ...[
        ['a,openai:b', 'b,openai:a'],
        [',openai:b', ''.padEnd(1, ',')],
        ['openai:a', 'a'],
      ],
      ...[
        ['exact', 'exact,exact'],
        ['exact', 'Exact'],
        ['exact', 'exact more'],
        ['exact', 'exact '],
      ],
      ...['exact 05', 'exact -1', `exact ${2n ** 96n}`, 'exact 1 1'].map((to) => ['exact', to]),
      ...[
        '=',
        '=@',
        '=@1',
        '=@1/2/3',
        '=@01/2',
        '=@1/',
        '=@/2',
        '=@1/2@1/2',
        `=@1/${2n ** 96n}`,
      ].map((more) => ['openai:a', `openai:a${more}`]),
      ...[
        ['0xa', '0xA'],
        ['0xa', 'x0xa'],
      ],
    ] as const
    const lines = [...changes.map(([from, to]) => a.replace(from, to)), nodeAddress('a'), '']
    for (const line of lines) {
      expect(await lineRefusal(line)).toBe(`${JSON.stringify(line.slice(0, 80))} is no node`)
    }
    expect(await lineRefusal(a)).toBeUndefined()
    expect(await lineRefusal('y'.repeat(100))).toBe(`"${'y'.repeat(80)}" is no node`)
  })

  it('is refused with a weight that is malformed or has no node', async () => {
    const name = await cid(page(a))
    for (const weight of ['0', '201', '05', '1234567890', 'x', '', '5,', '5 5', '5 ', '-5']) {
      const line = `${name} ${weight}`
      expect(await refusal(root(line), [page(a)])).toBe(
        `${JSON.stringify(line.slice(0, 80))} is no part`,
      )
    }
    expect(await refusal(root(`${name} 200`), [page(a)])).toBeUndefined()
    expect(await refusal(root(`${name} 5,5`), [page(a)])).toBe(`${name} has 1 nodes and 2 weights`)
    const both = page(a, b)
    expect(await refusal(root(`${await cid(both)} 5`), [both])).toContain('2 nodes and 1 weights')
  })

  it('is refused with parts that are none, or not in order', async () => {
    expect(await refusal(root('none'))).toBe('"none" is no part')
    expect(await refusal(root('z'.repeat(100)))).toBe(`"${'z'.repeat(80)}" is no part`)
    const noPool = /^bafkrei\w+ is no part of a pool$/
    expect(await refusal('svc-pool-v2')).toMatch(noPool)
    expect(await refusal(page(a))).toMatch(noPool)
    const [one, two] = [page(a), page(b)]
    // No page leads to others.
    const inner = root(`${await cid(one)} 5`)
    expect(await refusal(root(`${await cid(inner)} 5`), [inner, one])).toMatch(noPool)
    const order = 'its nodes are out of order, or there twice'
    for (const lines of [page(b, a), page(a, a)]) {
      expect(await refusal(root(`${await cid(lines)} 5,5`), [lines])).toBe(order)
    }
    const turned = root(`${await cid(two)} 5`, `${await cid(one)} 5`)
    expect(await refusal(turned, [one, two])).toBe(order)
    const twice = root(`${await cid(one)} 5`, `${await cid(one)} 5`)
    expect(await refusal(twice, [one])).toBe(order)
    const missing = root(`${await cid(one)} 5`)
    expect(await refusal(missing)).toMatch(/^bafkrei\w+ has other content than its name says$/)
  })

  it('has no more than 1,024 pages and 100,000 nodes, and no page is loaded of more', async () => {
    const name = await cid(page(a))
    const many = (count: number, weights: string) =>
      refusal(root(...Array.from({ length: count }, () => `${name} ${weights}`)))
    expect(await many(1_025, '5')).toBe('it has too many parts')
    expect(await many(1_024, '5')).toContain('has other content than its name says')
    const hundred = Array.from({ length: 100 }, () => 5).join()
    expect(await many(1_001, hundred)).toBe('it has too many nodes')
    expect(await many(1_000, hundred)).toContain('has other content than its name says')
  })
})

describe('a standing', () => {
  it('is of events in the order of their seconds, then of their names', () => {
    const event = (id: string, at: number) => ({ id, at })
    const ordered = [event('b', 1_999), event('c', 1_000), event('a', 2_000), event('a', 3_000)]
    expect(inOrder(ordered.toReversed())).toEqual(ordered)
    expect(inOrder([event('a', 5), event('a', 6)]).map(({ at }) => at)).toEqual([5, 6])
    const named = {
      node: nodeAddress('a'),
      jobId: aJobId(`0x${'1'.repeat(64)}`),
      code: 'answer-delivered',
      at: 1,
    } as const
    // The score stops at its bound: what comes first counts.
    const down = { ...named, id: '2', code: 'equivocated' } as const
    const up = { ...named, id: '1' }
    expect(standingOf([down, up]).score).toBe(0)
    expect(standingOf([{ ...down, id: '0' }, up]).score).toBe(10)
  })

  it('has a weight that halves with each doubling of the odds', () => {
    expect(weightOf({ score: 100, doubtMillinats: 692 })).toBe(50)
    expect(weightOf({ score: 100, doubtMillinats: 693 })).toBe(50)
    expect(weightOf({ score: 100, doubtMillinats: 1_385 })).toBe(25)
    expect(weightOf({ score: 100, doubtMillinats: 1_386 })).toBe(25)
    expect(weightOf({ score: 0, doubtMillinats: 0 })).toBe(1)
    expect(weightOf({ score: 1_000, doubtMillinats: 13_800 })).toBe(1)
  })

  it('knows the codes of this version', () => {
    expect([isReputationCode('slashed'), isReputationCode('toString')]).toEqual([true, false])
  })
})
