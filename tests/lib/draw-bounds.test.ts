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
  const rest = '5 0,2 openai:a,openai:b exact'
  const [a, b] = [`${nodeAddress('a')} ${rest}`, `${nodeAddress('b')} ${rest}`]
  const leaf = (...lines: readonly string[]) => ['svc-pool-v2', ...lines].join('\n')
  const branch = (...lines: readonly string[]) => ['svc-pool-branch-v2', ...lines].join('\n')

  it('is what was written', async () => {
    const { root, parts } = await snapshotPool([
      { address: nodeAddress('a'), weight: 5, ...serving },
      { address: nodeAddress('b'), weight: 5, ...serving },
    ])
    expect(new TextDecoder().decode(parts.get(root))).toBe(leaf(a, b))
    expect(await refusal(leaf(a, b))).toBeUndefined()
    const [one, two] = [leaf(a), leaf(b)]
    const whole = branch(await cidOf(utf8(one)), await cidOf(utf8(two)))
    expect(await refusal(whole, [one, two])).toBeUndefined()
  })

  it('is refused with a line that is no node, and says which', async () => {
    const changes = [
      ...[
        [' 5 ', ' 0 '],
        [' 5 ', ' 05 '],
        [' 5 ', ' 1234567890 '],
        [' 5 ', ' x '],
        [' 5 ', ' '],
      ],
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
      ...[
        ['0xa', '0xA'],
        ['0xa', 'x0xa'],
      ],
    ] as const
    const lines = [...changes.map(([from, to]) => a.replace(from, to)), nodeAddress('a'), '']
    for (const line of lines) {
      expect(await refusal(leaf(line))).toBe(`${JSON.stringify(line.slice(0, 80))} is no node`)
    }
    expect(await refusal(leaf(a.replace(' 5 ', ' 200 ')))).toBeUndefined()
    expect(await refusal(leaf(a.replace(' 5 ', ' 201 ')))).toContain('is no node')
    expect(await refusal(leaf('y'.repeat(100)))).toBe(`"${'y'.repeat(80)}" is no node`)
  })

  it('is refused with parts that are none, or not in order', async () => {
    expect(await refusal(branch('none'))).toBe('"none" is no part')
    expect(await refusal(branch('z'.repeat(100)))).toBe(`"${'z'.repeat(80)}" is no part`)
    expect(await refusal('svc-pool-v1')).toMatch(/^bafkrei\w+ is no part of a pool$/)
    const order = 'its nodes are out of order, or there twice'
    expect(await refusal(leaf(b, a))).toBe(order)
    expect(await refusal(leaf(a, a))).toBe(order)
    const [one, two] = [leaf(a), leaf(b)]
    const turned = branch(await cidOf(utf8(two)), await cidOf(utf8(one)))
    expect(await refusal(turned, [one, two])).toBe(order)
    const missing = branch(await cidOf(utf8(one)))
    expect(await refusal(missing)).toMatch(/^bafkrei\w+ has other content than its name says$/)
  })

  it('has no more parts below one another than an address has digits', async () => {
    const towerOf = async (height: number) => {
      const texts = [leaf(a)]
      for (let level = 0; level < height; level++) {
        texts.unshift(branch(await cidOf(utf8(texts[0]!))))
      }
      return texts
    }
    const [top, ...below] = await towerOf(40)
    expect(await refusal(top!, below)).toBeUndefined()
    const [higher, ...rest] = await towerOf(41)
    expect(await refusal(higher!, rest)).toBe('it has too many parts')
  })

  it('has no more than 100,000 nodes', async () => {
    const line = (index: number) => `0x${index.toString(16).padStart(40, '0')} 1 0 openai:a exact`
    const lines = Array.from({ length: 100_001 }, (_, index) => line(index))
    expect(await refusal(leaf(...lines))).toBe('it has too many nodes')
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
