import { z } from 'zod'
import { cidOf } from '../../../lib/cid.ts'
import { deliverers } from '../../../lib/delivery-rule.ts'
import { toBase64Url, utf8 } from '../../../lib/digest.ts'
import { jobIdOf } from '../../../lib/job-id.ts'
import { candidatesOf, drawList, firstPositions, listSeedOf } from '../../../lib/list.ts'
import { listCommitment } from '../../../lib/list-commitment.ts'
import type { PoolNode } from '../../../lib/pool-line.ts'
import { snapshotPool } from '../../../lib/pool-snapshot.ts'
import { Terms } from '../../../lib/schemas/terms.ts'
import { termsHash } from '../../../lib/terms.ts'
import { aHash, anAddress } from '../../branded.ts'
import { decimals, fill } from './bytes.ts'

const client = anAddress(`0x${'c1'.repeat(20)}`)

/** What a third of the nodes take beyond a short conversation. */
const tools = {
  ...{ model_id: 'openai:test', parts: ['seed', 'tools'] },
  ...{ max_prompt_bytes: 131_072, max_output_tokens: 4_096 },
}

const asked = (index: number) => ({ input: BigInt(index), output: 2n ** 90n + BigInt(index) })

/** A pool of so many nodes with different weights, the client among them, not all of which serve the same. */
const poolOf = (count: number): readonly PoolNode[] =>
  Array.from({ length: count }, (_, index) => ({
    address:
      index === 1
        ? client
        : anAddress(
            `0x${((index * 7_919) % 65_521).toString(16).padStart(4, '0').padEnd(40, '5')}`,
          ),
    weight: 1 + ((index * 37) % 200),
    tiers: index % 5 === 0 ? [0] : [0, 1],
    models: index % 7 === 4 ? ['openai:other'] : ['openai:other', 'openai:test'],
    ...(index % 3 === 0 && { takes: [tools] }),
    ...(index % 2 === 0 && { asks: [{ model_id: 'openai:test', ...asked(index) }] }),
    ...(index % 6 === 2 && { delivery: BigInt(index) }),
    comparators: index % 11 === 4 ? (['exact'] as const) : (['exact', 'similar/2'] as const),
  })).toSorted((a, b) => (a.address < b.address ? -1 : 1))

/** Jobs, terms, pools, and the lists that are drawn from them. */
export async function listVectors(): Promise<object> {
  const identity = {
    ...{ chainId: 31_337, client, promptCid: `bafkrei${'a'.repeat(52)}` },
    ...{ kpHighHandle: 2n ** 255n + 7n, kpLowHandle: 12n, clientNonce: 13n },
  }
  const jobId = jobIdOf(identity)
  const draws = await Promise.all(
    (
      [
        { nodes: 9, min_tier: 0, list_length: 9 },
        { nodes: 40, min_tier: 1, list_length: 16 },
        {
          nodes: 300,
          min_tier: 0,
          list_length: 5,
          needs: { parts: ['tools'], prompt_bytes: 16_384 },
        },
        {
          nodes: 60,
          min_tier: 0,
          list_length: 9,
          offer: { input: 40n, output: 2n ** 90n + 36n, delivery: 20n },
        },
      ] satisfies readonly Choice[]
    ).map((choice) => drawVector(choice)),
  )
  const list = draws[0]?.list ?? []
  const activator = anAddress(`0x${'ac'.repeat(20)}`)
  const until = 1_800_001_000
  const commitment = { jobId, activator, until, list }
  const group = [
    [0, 4],
    [0, 1],
    [2, 8],
    [1, 6],
    [2, 7],
  ].map(([batch = 0, position = 0]) => ({ batch, position }))
  return {
    about:
      'A blob of `pool` is named by its CID: a CIDv1 of raw bytes with SHA-256, in base32. `list` is drawn from the candidates of the pool. Big numbers are decimal text. Nobody takes an invalid pool.',
    jobs: [{ ...decimals(identity), jobId }],
    draws,
    invalidPools: await Promise.all(invalidPools.map(poolOfText)),
    firstSeats: [
      { length: 9, quorum: 3, passed: [] },
      { length: 5, quorum: 3, passed: passing('busy', 0, 2) },
      { length: 5, quorum: 4, passed: [...passing('busy', 1, 2), ...passing('no-heartbeat', 0)] },
      { length: 3, quorum: 3, passed: passing('busy', 0, 1, 2) },
    ].map((seats) => ({
      ...seats,
      positions: firstPositions(seats.length, seats.passed, seats.quorum),
    })),
    commitments: [{ ...commitment, commitment: listCommitment(commitment) }],
    deliverers: [{ group, order: deliverers(group).map(({ position }) => position) }],
  }
}

const line = `0x${'a'.repeat(40)} 0,1 openai:m=seed::@5/0,openai:n@1=@0/7 exact,similar/2 9`
const changedLine = (from: string, to: string) => [line.replace(from, to)]

/** Pools by what is wrong with them: the lines of their one page, its weights, and the first line of the root. */
const invalidPools: readonly InvalidPool[] = [
  ['a byte order mark', [line], '5', '\ufeffsvc-pool-v3'],
  ['a weight more than nodes', [line], '5,5'],
  ['a weight less than nodes', [line, line.replace('0xa', '0xb')], '5'],
  ['a node twice', [line, line], '5,5'],
  ['nodes out of order', [line.replace('0xa', '0xb'), line], '5,5'],
  ...['0', '05', '201', '5,', ''].map(
    (weight) => [`the weight ${weight}`, [line], weight] as const,
  ),
  ['tiers out of order', changedLine('0,1', '1,0')],
  ['models out of order', changedLine('openai:m', 'openai:o')],
  ['a model that takes nothing', changedLine('=seed::', '=::')],
  ['a part that is unknown', changedLine('seed', 'sead')],
  ['a price without its other half', changedLine('@5/0', '@5')],
  ['a price with a leading zero', changedLine('@5/0', '@05/0')],
  ['a price of 2^96', changedLine('@5/0', `@${2n ** 96n}/0`)],
  ['a model with a sign and no more', changedLine('=seed::@5/0', '=')],
  ['a delivery of 2^96', changedLine(' 9', ` ${2n ** 96n}`)],
  ['a delivery without digits', changedLine(' 9', ' ')],
  ['more after the delivery', changedLine(' 9', ' 9 9')],
  ['a comparator that is unknown', changedLine('exact', 'exacts')],
]

type InvalidPool = readonly [string, readonly string[], string?, string?]

async function poolOfText([name, lines, weights = '5', first = 'svc-pool-v3']: InvalidPool) {
  const page = ['svc-pool-page-v3', ...lines].join('\n')
  const pageCid = await cidOf(utf8(page))
  const top = `${first}\n${pageCid} ${weights}`
  const root = await cidOf(utf8(top))
  return { name, root, pool: { [pageCid]: page, [root]: top } }
}

const passing = (reason: string, ...positions: readonly number[]) =>
  positions.map((position) => ({ position, reason }))

type Choice = Pick<Terms, 'min_tier' | 'list_length' | 'needs' | 'offer'> & {
  readonly nodes: number
}

async function drawVector({ nodes, list_length, ...choice }: Choice) {
  const pool = poolOf(nodes)
  const { root, parts } = await snapshotPool(pool)
  const terms: Terms = {
    ...{ icl_origin: 'https://icl.test', pool_cid: root, model_id: 'openai:test' },
    ...{ ...choice, comparator: 'similar/2', rule: 'three' },
    ...{ quorum: 3, max_answers: 7, min_matches: 1, list_length },
    salt: toBase64Url(fill(8)),
  }
  const key = {
    chainId: 31_337,
    store: anAddress('0x0165878a594ca255338adfa4d48449f69242eb8f'),
    client,
    kpHighHandle: 2n ** 255n + 7n,
    kpLowHandle: 12n,
    termsHash: await termsHash(terms),
    blockHash: aHash(`0x${'b'.repeat(64)}`),
  }
  const decoder = new TextDecoder()
  return {
    terms: z.encode(Terms, terms),
    ...decimals(key),
    pool: Object.fromEntries([...parts].map(([cid, bytes]) => [cid, decoder.decode(bytes)])),
    candidates: candidatesOf(pool, terms, client).length,
    seed: listSeedOf(key),
    list: drawList(key, terms, pool),
  }
}
