import { z } from 'zod'
import { deliverers } from '../../../lib/delivery-rule.ts'
import { toBase64Url } from '../../../lib/digest.ts'
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
          nodes: 90,
          min_tier: 0,
          list_length: 5,
          needs: { parts: ['tools'], prompt_bytes: 16_384 },
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
      'A blob of `pool` is named by its CID: a CIDv1 of raw bytes with SHA-256, in base32. `list` is drawn from the candidates of the pool. Big numbers are decimal text.',
    jobs: [{ ...decimals(identity), jobId }],
    draws,
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

const passing = (reason: string, ...positions: readonly number[]) =>
  positions.map((position) => ({ position, reason }))

type Choice = Pick<Terms, 'min_tier' | 'list_length' | 'needs'> & { readonly nodes: number }

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
