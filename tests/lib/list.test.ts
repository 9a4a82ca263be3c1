import { encodeAbiParameters, keccak256, parseAbiParameters } from 'viem'
import { describe, expect, it } from 'vitest'
import { sha256Hex, utf8 } from '../../lib/digest.ts'
import {
  candidatesOf,
  drawList,
  firstPositions,
  type ListSource,
  listSeedOf,
  maskOf,
} from '../../lib/list.ts'
import type { PoolNode } from '../../lib/pool-line.ts'
import { Terms } from '../../lib/schemas/terms.ts'
import { termsHash } from '../../lib/terms.ts'
import { aHash, anAddress } from '../branded.ts'
import { nodeAddress } from '../icl/rules/sample-job.ts'

const client = nodeAddress('c')

const key: ListSource = {
  chainId: 31_337,
  store: anAddress('0x0165878a594ca255338adfa4d48449f69242eb8f'),
  client,
  kpHighHandle: 2n ** 255n + 7n,
  kpLowHandle: 12n,
  termsHash: aHash(`0x${'a'.repeat(64)}`),
  blockHash: aHash(`0x${'b'.repeat(64)}`),
}

const terms: Terms = {
  icl_origin: 'https://icl.test',
  pool_cid: `bafkrei${'a'.repeat(52)}`,
  model_id: 'openai:test',
  min_tier: 1,
  comparator: 'exact',
  rule: 'three',
  quorum: 3,
  max_answers: 7,
  min_matches: 1,
  list_length: 5,
  salt: 'A'.repeat(43),
}

const offer = { input: 10n, output: 20n, delivery: 2n ** 60n }

const node = (digit: string, changes: Partial<PoolNode> = {}): PoolNode => ({
  address: nodeAddress(digit),
  weight: 100,
  tiers: [0, 1],
  models: ['openai:other', 'openai:test'],
  comparators: ['exact', 'similar/2'],
  ...changes,
})

describe('terms', () => {
  it('are hashed as canonical JSON', async () => {
    const text =
      `{"comparator":"exact","icl_origin":"https://icl.test","list_length":5,"max_answers":7,"min_matches":1,"min_tier":1,` +
      `"model_id":"openai:test","pool_cid":"bafkrei${'a'.repeat(52)}","quorum":3,"rule":"three","salt":"${'A'.repeat(43)}"}`
    const hash = await termsHash(terms)
    expect(hash).toBe(await sha256Hex(utf8(text)))
    // Fixed: another implementation must come to the same hash.
    expect<string>(hash).toBe('0x6e2649b5888c67e531a80c3bfffdc190b7d0099f27c1c18bbd81bc5dff389c3a')
  })

  it('have another hash when anything in them is another', async () => {
    const changes: readonly Partial<Terms>[] = [
      { icl_origin: 'https://icl.example' },
      { pool_cid: `bafkrei${'b'.repeat(51)}a` },
      { model_id: 'openai:other' },
      { min_tier: 0 },
      { comparator: 'similar/2' },
      { needs: { parts: ['stop'] } },
      { offer },
      { rule: 'any-two' },
      { quorum: 4 },
      { max_answers: 6 },
      { min_matches: 2 },
      { list_length: 6 },
      { salt: `${'A'.repeat(42)}E` },
    ]
    const changed = new Set(changes.flatMap((change) => Object.keys(change)))
    expect(changed).toEqual(new Set(Object.keys(Terms.shape)))
    const hashes = [{}, ...changes].map((change) => termsHash({ ...terms, ...change }))
    expect(new Set(await Promise.all(hashes)).size).toBe(1 + changes.length)
  })
})

describe('the seed of a list', () => {
  it('is the hash of what PromptKeyStore and the chain say, as a contract would encode it', () => {
    const types = 'string, uint256, address, address, uint256, uint256, bytes32, bytes32'
    const encoded = encodeAbiParameters(parseAbiParameters(types), [
      'svc-list-v2',
      31_337n,
      '0x0165878a594ca255338adfa4d48449f69242eb8f',
      '0xcccccccccccccccccccccccccccccccccccccccc',
      57896044618658097711785492504343953926634992332820282019728792003956564819975n,
      12n,
      '0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',
      '0xbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb',
    ])
    expect<string>(listSeedOf(key)).toBe(keccak256(encoded))
    // Fixed, as above.
    expect<string>(listSeedOf(key)).toBe(
      '0xf3f82d4f8ebdf7a94dd7bfd4eedb1fe4cae37c042a5d7ad4d6f24c43947103b6',
    )
  })

  it('is another when anything in it is another', () => {
    const changes: readonly Partial<ListSource>[] = [
      { chainId: 1 },
      { store: nodeAddress('1') },
      { client: nodeAddress('2') },
      { kpHighHandle: 12n, kpLowHandle: key.kpHighHandle },
      { kpLowHandle: 13n },
      { termsHash: key.blockHash, blockHash: key.termsHash },
      { blockHash: aHash(`0x${'d'.repeat(64)}`) },
    ]
    const seeds = [{}, ...changes].map((change) => listSeedOf({ ...key, ...change }))
    expect(new Set(seeds).size).toBe(1 + changes.length)
  })
})

describe('a list', () => {
  const pool = ['1', '2', '3', '4', '5', '6', '7', '8'].map((digit) => node(digit))

  it('is drawn from the pool, and known to all who draw it again', () => {
    // Fixed, as above.
    const list = drawList(key, terms, pool)
    expect(list.map((address) => address[2])).toEqual(['6', '1', '7', '4', '5'])
    expect(drawList(key, terms, pool.toReversed())).toEqual(list)
  })

  it('is as long as the terms say, or as the pool allows', () => {
    expect(drawList(key, { ...terms, list_length: 8 }, pool)).toHaveLength(8)
    expect(drawList(key, { ...terms, list_length: 16 }, pool)).toHaveLength(8)
  })

  it('has nodes that serve the model, the tier and the comparator, and never the client', () => {
    const fit = [node('1'), node('2', { tiers: [3] })]
    const unfit = [
      node('3', { models: ['openai:other'] }),
      node('4', { tiers: [0] }),
      node('5', { comparators: ['similar/2'] }),
      { ...node('6'), address: client },
    ]
    expect(candidatesOf([...fit, ...unfit], terms, client)).toEqual(fit)
    expect(candidatesOf(unfit, terms, undefined)).toEqual(unfit.slice(3))
    const list = drawList(key, terms, [...unfit, ...fit])
    expect(list.toSorted()).toEqual(fit.map(({ address }) => address))
  })
})

describe('an offer', () => {
  it('is for nodes that ask no more for the model and a delivery, and for all without prices', () => {
    const asking = (input: bigint, output: bigint, delivery = 0n) => ({
      asks: [{ model_id: 'openai:test', input, output }],
      delivery,
    })
    const fit = [
      node('1'),
      node('2', asking(10n, 20n, 2n ** 60n)),
      node('3', { asks: [{ model_id: 'openai:other', input: 99n, output: 99n }] }),
    ]
    const dear = [
      node('4', asking(11n, 20n)),
      node('5', asking(10n, 21n)),
      node('6', asking(10n, 20n, 2n ** 60n + 1n)),
      node('7', { delivery: 2n ** 60n + 1n }),
    ]
    expect(candidatesOf([...fit, ...dear], { ...terms, offer }, client)).toEqual(fit)
    expect(candidatesOf([...fit, ...dear], terms, client)).toEqual([...fit, ...dear])
  })
})

describe('the first seats of a list', () => {
  const states = ['free', 'busy', 'no-heartbeat'] as const

  it('are the earliest free nodes, then the earliest busy ones, for every list up to seven', () => {
    for (let length = 3; length <= 7; length++) {
      for (let pattern = 0; pattern < states.length ** length; pattern++) {
        const stateAt = (position: number) =>
          states[Math.floor(pattern / states.length ** position) % states.length]!
        const positions = Array.from({ length }, (_, position) => position)
        const passed = positions.flatMap((position) =>
          stateAt(position) === 'free' ? [] : [{ position, reason: stateAt(position) }],
        )
        const first = firstPositions(length, passed, 3)
        expectFirst(first, positions, stateAt)
        expect(firstPositions(length, passed.toReversed(), 3)).toEqual(first)
      }
    }
  })

  function expectFirst(
    first: readonly number[],
    positions: readonly number[],
    stateAt: (position: number) => (typeof states)[number],
  ) {
    const are = (state: string) => positions.filter((position) => stateAt(position) === state)
    const seated = (state: string) => first.filter((position) => stateAt(position) === state)
    // As many as there are, in the order of the list, none of them unfit.
    expect(first).toHaveLength(Math.min(3, are('free').length + are('busy').length))
    expect(first).toEqual(first.toSorted((a, b) => a - b))
    expect(seated('no-heartbeat')).toEqual([])
    // Of each kind the earliest, and a busy one only when no free one is left.
    expect(are('free').slice(0, seated('free').length)).toEqual([...seated('free')])
    expect(are('busy').slice(0, seated('busy').length)).toEqual([...seated('busy')])
    if (seated('busy').length > 0) expect(seated('free')).toEqual(are('free'))
  }

  it('are bits of a mask', () => {
    expect(maskOf([])).toBe(0)
    expect(maskOf([0, 1, 2])).toBe(0b111)
    expect(maskOf([1, 4, 15])).toBe(0b1000_0000_0001_0010)
  })
})
