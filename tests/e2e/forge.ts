import { createPublicClient, http } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'
import { z } from 'zod'
import type { World } from '../../demo/world.ts'
import { unixSeconds } from '../../lib/clock.ts'
import type { Address, Hash32 } from '../../lib/codecs.ts'
import { drawList } from '../../lib/list.ts'
import type { PoolNode } from '../../lib/pool-line.ts'
import { recordHash } from '../../lib/receipt.ts'
import { ListRequest, SignedList } from '../../lib/schemas/list.ts'
import { Receipt, type Tally } from '../../lib/schemas/receipt.ts'
import type { AckStatement, AnswerPost } from '../../lib/schemas/statements.ts'
import type { SigningKey } from '../../lib/session-key.ts'
import { statementBytes, statementHash } from '../../lib/statements.ts'
import { systemClock } from '../../lib/system.ts'
import { termsHash } from '../../lib/terms.ts'
import type { Draft } from './lies.ts'

/** A list as it is sent, signed by this key. */
export const signedList = async (key: SigningKey, body: SignedList['body']) =>
  z.encode(SignedList, {
    body,
    key: key.publicKey,
    signature: await key.sign(statementBytes(body)),
  })

async function signedReceipt(key: SigningKey, { record, group, deliverer, settledAt }: Draft) {
  const tally: Tally = {
    statement: 'svc-tally-v3',
    jobId: record.jobId,
    record: await recordHash(record),
    group,
    deliverer,
    settled_at: settledAt,
  }
  const signature = await key.sign(statementBytes(tally))
  return { ...record, tally: { body: tally, key: key.publicKey, signature } }
}

/** A receipt as it came, changed and signed by this key. */
export async function forged(key: SigningKey, json: unknown, lie: (draft: Draft) => Draft) {
  const { tally, ...record } = Receipt.parse(json)
  const { group, deliverer, settled_at: settledAt } = tally.body
  return await signedReceipt(key, lie({ record, group, deliverer, settledAt }))
}

/** What the ICL answers to a node whose answer it has taken. */
export async function acknowledgedReveal(key: SigningKey, answer: AnswerPost) {
  const { jobId, address, fence } = answer
  const body: AckStatement = {
    ...{ statement: 'svc-ack-v2', jobId, address, fence, step: 'reveal' },
    body_hash: await statementHash(answer),
    at: unixSeconds(systemClock),
  }
  const ack = { body, key: key.publicKey, signature: await key.sign(statementBytes(body)) }
  return { jobId, status: 'revealed', phase: 'running', ack }
}

/** The list that a key's terms and block give, drawn from a pool. */
export async function listFrom(
  world: Pick<World, 'chain'>,
  pool: readonly PoolNode[],
  json: unknown,
) {
  const { terms, block_number: number, ...handles } = ListRequest.parse(json)
  const { rpcUrl, chainId, contracts, client, coordinatorKey } = world.chain
  const chain = createPublicClient({ transport: http(rpcUrl) })
  const { hash } = await chain.getBlock({ blockNumber: number })
  const address = client.address.toLowerCase() as Address
  const key = {
    ...handles,
    chainId,
    store: contracts.promptKeyStore,
    client: address,
    termsHash: await termsHash(terms),
    blockHash: hash as Hash32,
  }
  return {
    statement: 'svc-list-v2' as const,
    ...handles,
    client: address,
    terms,
    block: { number, hash: hash as Hash32 },
    list: [...drawList(key, terms, pool)],
    passed: [],
    coordinator: privateKeyToAddress(coordinatorKey).toLowerCase() as Address,
    at: unixSeconds(systemClock),
  }
}
