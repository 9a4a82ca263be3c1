import { expect, it } from 'vitest'
import type { ClientContext } from '../../lib/client/context.ts'
import { askForList } from '../../lib/client/own-list.ts'
import type { Address, Hash32 } from '../../lib/codecs.ts'
import { toBase64Url } from '../../lib/digest.ts'
import { drawList } from '../../lib/list.ts'
import type { PoolNode } from '../../lib/pool-line.ts'
import { readPool } from '../../lib/pool-snapshot.ts'
import type { ListStatement } from '../../lib/schemas/list.ts'
import { statementBytes } from '../../lib/statements.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { systemRandom } from '../../lib/system.ts'
import { termsHash } from '../../lib/terms.ts'
import { aHash } from '../branded.ts'
import { createDice, type Dice } from '../simulation/dice.ts'
import { useReplicas } from './replica-set.ts'
import { listedKey } from './test-client.ts'
import { beat, joinNode, type TestIcl, walletOf } from './test-icl.ts'

/*
 * An ICL that wants its own nodes in front. It has the key that signs lists, and tries what it can with each key that a
 * client has stored. The client's own checks judge each try.
 */

const keys = 100
const triesForEach = 10

type Listed = Awaited<ReturnType<typeof listedKey>>
type Pool = readonly PoolNode[]
type Try = (body: ListStatement, dice: Dice, pool: Pool) => ListStatement | Promise<ListStatement>

const { pair } = useReplicas()

const shuffled = <T>(from: readonly T[], dice: Dice): T[] =>
  from
    .map((item) => ({ item, at: dice.next() }))
    .toSorted((one, other) => one.at - other.at)
    .map(({ item }) => item)

const randomHash = (dice: Dice): Hash32 => aHash(`0x${Buffer.from(dice.bytes(32)).toString('hex')}`)

/** A statement with the list that chain and pool would give if it were true. */
async function drawnFor(icl: TestIcl, body: ListStatement, pool: Pool): Promise<ListStatement> {
  const key = {
    chainId: icl.deps.network.chain_id,
    store: icl.deps.network.contracts.prompt_key_store,
    client: body.client,
    kpHighHandle: body.kpHighHandle,
    kpLowHandle: body.kpLowHandle,
    termsHash: await termsHash(body.terms),
    blockHash: body.block.hash,
  }
  return { ...body, list: [...drawList(key, body.terms, pool)] }
}

const triesOf = (icl: TestIcl, ring: readonly Address[]): Readonly<Record<string, Try>> => ({
  'signs again': (body, dice) => ({ ...body, at: body.at + dice.between(1, 3_600) }),
  drops: (body, dice) => ({ ...body, list: body.list.toSpliced(dice.between(0, 5), 1) }),
  'drops several': (body, dice) => ({ ...body, list: body.list.slice(dice.between(1, 6)) }),
  reorders: (body, dice) => ({ ...body, list: shuffled(body.list, dice) }),
  'puts its own in front': (body) => ({
    ...body,
    list: [...new Set([...ring.slice(0, 3), ...body.list])].slice(0, body.list.length),
  }),
  'names another block': (body, dice, pool) =>
    drawnFor(icl, { ...body, block: { ...body.block, hash: randomHash(dice) } }, pool),
  'names another salt': (body, dice, pool) =>
    drawnFor(icl, { ...body, terms: { ...body.terms, salt: toBase64Url(dice.bytes(32)) } }, pool),
  'names another key': (body, dice, pool) =>
    drawnFor(icl, { ...body, kpLowHandle: body.kpLowHandle + BigInt(dice.between(1, 1e9)) }, pool),
  'leaves others out of the pool': (body, dice, pool) =>
    drawnFor(
      icl,
      body,
      pool.filter(({ address }) => ring.includes(address) || dice.chance(0.5)),
    ),
  'passes over': (body, dice) => ({
    ...body,
    passed: shuffled([...body.list.keys()], dice)
      .slice(0, dice.between(1, 6))
      .map((position) => ({ position, reason: 'no-heartbeat' as const, at: body.at })),
  }),
})

/** The client as it asks for the list of its key, of an ICL that answers with this statement. */
function contextOf(icl: TestIcl, { api, client, list, reading }: Listed, body: ListStatement) {
  const { tally } = icl.deps.keys
  const answer = async () => ({
    body,
    key: tally.publicKey,
    signature: await tally.sign(statementBytes(body)),
    reading,
  })
  const chain = {
    blockOf: async () => list.body.block,
    nodeOf: async () => ({ staked: true, active: true, modelTiers: [0] }),
    time: async () => Math.floor(icl.clock.now() / 1000),
  }
  return {
    api: { getJwks: api.getJwks, drawList: answer },
    ...{ network: icl.deps.network, address: client.address, chain },
    clock: { ...icl.clock, sleep: async () => {} },
    random: systemRandom,
  } as unknown as ClientContext
}

it('a thousand tries of an ICL to get another list for a key that a client has stored come to nothing: its client takes the one list of the key, or none', async () => {
  const { a, clock, nodes: joined } = await pair()
  for (let index = 4; index <= 20; index++) joined.push(await joinNode(a, `n${index}`))
  await clock.advance(1_000)
  // Room for all draws, of which none becomes a job.
  for (const node of joined) await beat(a, node, 16)
  const ring = Array.from({ length: 5 }, (_, index) => walletOf(`n${index + 1}`).address)
  const tries = Object.entries(triesOf(a, ring))
  const dice = createDice(1)
  const outcomes = new Map<string, Set<string>>()
  let attempted = 0
  for (let index = 0; index < keys; index++) {
    const listed = await listedKey(a, { client: `wallet ${index}` })
    const { body } = listed.list
    const load = (cid: string) => a.api().getBlob({ params: { cid } })
    const { nodes } = await readPool(body.terms.pool_cid, load)
    const { highHandle, lowHandle, terms } = listed
    const stored = { highHandle, lowHandle, txHash: '0x01', block: body.block } as const
    for (let count = 0; count < triesForEach; count++) {
      const [name, change] = tries[attempted++ % tries.length]!
      const lie = await change(body, dice, nodes)
      const isOther = lie.list.join() !== body.list.join()
      const taken = await askForList(
        contextOf(a, listed, lie),
        { terms, pool: nodes },
        stored,
      ).then(
        ({ signed }) => (signed.body.list.join() === body.list.join() ? 'its list' : 'another'),
        (error: unknown) => (error instanceof SvcError ? error.code : String(error)),
      )
      const what = isOther ? name : 'keeps the list'
      outcomes.set(what, (outcomes.get(what) ?? new Set()).add(taken))
    }
  }
  expect(attempted).toBe(1_000)
  expect(Object.fromEntries(outcomes)).toEqual({
    drops: new Set(['quorum-untrusted']),
    'drops several': new Set(['quorum-untrusted']),
    reorders: new Set(['quorum-untrusted']),
    'puts its own in front': new Set(['quorum-untrusted']),
    'names another block': new Set(['block-differs']),
    'names another salt': new Set(['quorum-untrusted']),
    'names another key': new Set(['quorum-untrusted']),
    'leaves others out of the pool': new Set(['quorum-untrusted']),
    // Signed again, or with up to four passed over by name and reason.
    'keeps the list': new Set(['its list', 'quorum-untrusted']),
  })
})
