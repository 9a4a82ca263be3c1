import { beforeAll, describe, expect, it } from 'vitest'
import { createBell } from '../../../lib/client/bell.ts'
import { checkCommitment } from '../../../lib/client/check-commitment.ts'
import {
  type ExpectedJob,
  expectedJob,
  fetchCheckedReceipt,
} from '../../../lib/client/check-receipt.ts'
import type { ClientContext } from '../../../lib/client/context.ts'
import { decryptOutput } from '../../../lib/client/read-output.ts'
import type { JobOrder } from '../../../lib/client/submit-job.ts'
import { submitJob } from '../../../lib/client/submit-job.ts'
import { monotonicMs } from '../../../lib/clock.ts'
import type { Hash32 } from '../../../lib/codecs.ts'
import { jobIdOf } from '../../../lib/job-id.ts'
import { listCommitment } from '../../../lib/list-commitment.ts'
import { receiptHash } from '../../../lib/receipt.ts'
import type { JobView } from '../../../lib/schemas/jobs.ts'
import type { ListStatement, SignedList } from '../../../lib/schemas/list.ts'
import type { Receipt } from '../../../lib/schemas/receipt.ts'
import type { Terms } from '../../../lib/schemas/terms.ts'
import { termsHash } from '../../../lib/terms.ts'
import { aHash, aJobId } from '../../branded.ts'
import { nodeAddress } from '../../icl/rules/sample-job.ts'
import { createVirtualClock } from '../../virtual-clock.ts'
import { makeReceipt } from '../make-receipt.ts'

/** A context of these parts; what is not there is not asked for. */
const contextOf = (parts: object) => parts as unknown as ClientContext

const failureOf = (call: Promise<unknown>) =>
  call.then(
    () => undefined,
    (error: { code?: string; message: string; hint?: string; retryable?: boolean }) => error,
  )

const client = nodeAddress('9')

const codeFor = (message: string): string => {
  if (message.includes('without a stake')) return 'signer-unstaked'
  if (message.includes('is open to')) return 'reader-unknown'
  return message.includes('the chain, which') ? 'receipt-differs' : 'receipt-invalid'
}
const wish = { model: 'openai:test', minTier: 0, verifierCount: 2 }

describe('a commitment', () => {
  const hash: Hash32 = aHash(`0x${'1'.repeat(64)}`)
  const tx: Hash32 = aHash(`0x${'2'.repeat(64)}`)
  const job = { jobId: aJobId(`0x${'3'.repeat(64)}`), readToken: 'token', hash } as const

  /** Looks at views one after the other, the last again and again. */
  const run = async (
    views: readonly Partial<JobView>[],
    onChain: readonly (Hash32 | undefined)[],
    timeoutMs?: number,
  ) => {
    const clock = createVirtualClock()
    const began = clock.now()
    let [looks, reads] = [0, 0]
    const api = { getJob: async () => views[Math.min(looks++, views.length - 1)] }
    const chain = { receiptHashIn: async () => onChain[Math.min(reads++, onChain.length - 1)] }
    const call = checkCommitment(contextOf({ api, chain, clock }), job, timeoutMs)
    const outcome = await clock.until(call.catch((error: unknown) => error))
    return { outcome, tookMs: clock.now() - began, reads }
  }

  it('is waited for', async () => {
    const late = await run([{}, {}, { commit_tx: tx }], [undefined, hash])
    expect(late).toEqual({ outcome: tx, tookMs: 1_500, reads: 2 })
    expect(await run([{ commit_tx: tx }], [hash])).toEqual({ outcome: tx, tookMs: 0, reads: 1 })
  })

  it('is looked for when the news comes, and after half a second without any', async () => {
    const clock = createVirtualClock()
    const began = clock.now()
    const looks: number[] = []
    const getJob = async () => {
      looks.push(clock.now() - began)
      return looks.length < 2 ? {} : { commit_tx: tx }
    }
    const chain = { receiptHashIn: async () => hash }
    const news = createBell(clock)
    void clock.sleep(100).then(news.ring)
    const context = contextOf({ api: { getJob }, chain, clock })
    const call = checkCommitment(context, job, undefined, undefined, news)
    expect(await clock.until(call)).toBe(tx)
    expect(looks).toEqual([100, 600])
  })

  it('that is of another receipt is a conflict', async () => {
    expect((await run([{ commit_tx: tx }], [tx])).outcome).toMatchObject({
      ...{ code: 'commit-conflict', retryable: false },
      message: `The chain holds another receipt (${tx}) than ${hash}`,
      hint: expect.stringContaining('Do not rely on this answer'),
    })
  })

  it('that does not come is missing after a minute, or after what the caller says', async () => {
    const { outcome, tookMs } = await run([{ commit_error: 'no gas' }], [])
    expect(tookMs).toBe(60_000)
    expect(outcome).toMatchObject({
      ...{ code: 'commit-missing', retryable: true },
      message: 'The result was not on chain after 60 s (no gas)',
      hint: expect.stringMatching(/^Service operator: see the reasons/),
    })
    const short = await run([{ commit_tx: tx }], [undefined], 1_700)
    expect(short.tookMs).toBe(2_000)
    expect((short.outcome as Error).message).toBe('The result was not on chain after 2 s')
  })
})

describe('a receipt', () => {
  let receipt: Receipt
  let iclKey: string
  let job: ExpectedJob
  let order: JobOrder
  let view: JobView

  beforeAll(async () => {
    const made = await makeReceipt('exact', ['yes', 'yes', 'yes'])
    receipt = made.receipt
    iclKey = made.iclKey
    const { list } = receipt
    const body: ListStatement = {
      ...{ statement: 'svc-list-v2', client: receipt.client, terms: list.terms, at: 1 },
      ...{ kpHighHandle: receipt.kpHighHandle, kpLowHandle: receipt.kpLowHandle },
      ...{ block: list.block, list: list.members, passed: [], coordinator: list.activator },
    }
    order = {
      identity: {
        ...{ chainId: receipt.chain_id, client: receipt.client, promptCid: receipt.prompt_cid },
        ...{ kpHighHandle: receipt.kpHighHandle, kpLowHandle: receipt.kpLowHandle },
        clientNonce: receipt.client_nonce,
      },
      list: {
        ...{
          signed: { body, key: '', signature: '' },
          grants: [],
          positions: [0, 1, 2],
          until: list.until,
        },
      },
    }
    job = expectedJob(order, { wish, preparedAt: receipt.tally.body.settled_at })
    view = {
      ...{ receipt_hash: await receiptHash(receipt), output_cid: receipt.delivery.body.output_cid },
    } as unknown as JobView
  })

  let looks = 0
  const fetched = async (
    changes: {
      job?: Partial<ExpectedJob>
      view?: Partial<JobView>
      jwk?: object
      time?: number
      nodes?: Record<string, object>
      drawn?: Record<string, object>
      bound?: object
      key?: object | null
      output?: object | null
    } = {},
  ) => {
    looks = 0
    const key = { kty: 'OKP', crv: 'Ed25519', x: iclKey, ...changes.jwk }
    const context = contextOf({
      api: { getReceipt: async () => receipt, getJwks: async () => ({ keys: [key] }) },
      clock: { sleep: async () => {}, monotonic: () => monotonicMs(0) },
      chain: {
        listOf: async () => ({
          commitment: listCommitment(job.committed),
          used: 7,
          ...changes.bound,
        }),
        storedKeyAt: async (high: bigint, low: bigint, number: bigint) => {
          const { kpHighHandle, kpLowHandle, list } = receipt
          expect([high, low, number]).toEqual([kpHighHandle, kpLowHandle, list.block.number])
          const key = { termsHash: await termsHash(list.terms), block: list.block }
          return changes.key === null ? undefined : { ...key, ...changes.key }
        },
        outputKeyOf: async (high: bigint, low: bigint, from: bigint) => {
          looks += 1
          const { body } = receipt.delivery
          expect([high, low, from]).toEqual([
            ...[body.outHighHandle, body.outLowHandle],
            receipt.list.block.number,
          ])
          const { members } = receipt.list
          const self = members.indexOf(body.address)
          const key = { promptHighHandle: receipt.kpHighHandle, self, readers: [receipt.client] }
          return changes.output === null ? undefined : { ...key, ...changes.output }
        },
        time: async () => changes.time ?? receipt.tally.body.settled_at,
        nodeOf: async (node: string, _: unknown, block?: bigint) => ({
          ...{ staked: true, active: false, modelTiers: [0, 1], ...changes.nodes?.[node] },
          ...(block === receipt.list.block.number ? changes.drawn?.[node] : {}),
        }),
      },
    })
    const call = fetchCheckedReceipt(
      context,
      { ...job, ...changes.job },
      { ...view, ...changes.view },
      'token',
    )
    const failure = await failureOf(call)
    if (!failure) return await call
    expect(failure).toMatchObject({
      code: codeFor(failure.message),
      hint: expect.stringMatching(/^Do not|^Take it as read/),
    })
    return failure.message.replace(/^The receipt does not (hold: |fit the chain, which )/, '')
  }

  it('is believed when it is of this job, as it was submitted', async () => {
    expect(await fetched()).toEqual({ receipt, hash: view.receipt_hash })
  })

  it('is of this very job, and of nothing else', async () => {
    const cid = `bafkreia${'z'.repeat(50)}a`
    const cases: [Partial<ExpectedJob['identity']>, string][] = [
      [{ chainId: 1 }, 'it is about another chain'],
      [{ client }, 'it is about another client'],
      [{ clientNonce: 0n }, 'it has another nonce'],
      [{ kpHighHandle: 0n }, 'it is about another prompt key'],
      [{ kpLowHandle: 0n }, 'it is about another prompt key'],
      [{ promptCid: cid }, 'it is about another prompt'],
    ]
    for (const [change, why] of cases) {
      expect(await fetched({ job: { identity: { ...job.identity, ...change } } })).toBe(why)
    }
    const jobId = aJobId(`0x${'1'.repeat(64)}`)
    expect(await fetched({ job: { jobId } })).toBe('it is about another job')
    expect(await fetched({ job: { maxOutputTokens: 5 } })).toBe(
      'its nodes were told another length of answer',
    )
  })

  it('has the list that this client has drawn, and committed to on chain', async () => {
    const { terms, block, committed } = job
    const changes: readonly Partial<Terms>[] = [
      { icl_origin: 'https://other.test' },
      { pool_cid: receipt.prompt_cid },
      { model_id: 'a:b' },
      { min_tier: 1 },
      { comparator: 'similar/2' },
      { rule: 'any-two' },
      { quorum: 4 },
      { max_answers: 6 },
      { min_matches: 2 },
      { list_length: 10 },
      { salt: 'A'.repeat(43) },
    ]
    for (const change of changes) {
      expect(await fetched({ job: { terms: { ...terms, ...change } } })).toBe('it has other terms')
    }
    const other = aHash(`0x${'1'.repeat(64)}`)
    for (const change of [{ number: 8n }, { hash: other }]) {
      const why = 'its list is of another block'
      expect(await fetched({ job: { block: { ...block, ...change } } })).toBe(why)
    }
    const list = committed.list.toReversed()
    const otherList = 'it has another list of nodes'
    expect(await fetched({ job: { committed: { ...committed, list } } })).toBe(otherList)
    for (const change of [{ activator: client }, { until: committed.until + 1 }]) {
      const why = 'its list has another activator, or another end'
      expect(await fetched({ job: { committed: { ...committed, ...change } } })).toBe(why)
    }
    expect(await fetched({ bound: { commitment: other } })).toBe('holds another list for its key')
    expect(await fetched({ bound: { commitment: undefined } })).toBe(
      'holds another list for its key',
    )
  })

  it('has a key that the chain stored for it, in that block and under these terms', async () => {
    const other = aHash(`0x${'1'.repeat(64)}`)
    const block = { number: 7n, hash: other }
    for (const key of [null, { termsHash: other }, { block }]) {
      expect(await fetched({ key })).toBe('holds no such key in the block of its list')
    }
  })

  it('names all who can read prompt and answer', async () => {
    const { members } = receipt.list
    const open = (what: string, reader: string) =>
      `The ${what} is open to ${reader}, which the receipt does not name as a node of the job`
    expect(await fetched({ bound: { used: 0b1111 } })).toBe(open('prompt', members[3]!))
    // Who could read from the start was chosen by this client.
    expect(await fetched({ bound: { used: 0b1111 }, job: { granted: 0b1000 } })).toMatchObject({
      receipt,
    })
    const readers = [receipt.client, ...members.slice(0, 3)]
    expect(await fetched({ output: { readers } })).toMatchObject({ receipt })
    expect(await fetched({ output: { readers: [...readers, members[3]!] } })).toBe(
      open('answer', members[3]!),
    )
    for (const output of [null, { promptHighHandle: 1n }, { self: 5 }]) {
      expect(await fetched({ output })).toBe('holds no such output key of the node that delivered')
    }
  })

  it('has an output key, which is looked for four times, but once where another check fails', async () => {
    await fetched({ output: null })
    expect(looks).toBe(4)
    await fetched({ output: null, key: null })
    await new Promise((resolve) => setTimeout(resolve, 10))
    expect(looks).toBe(1)
  })

  it('is signed by a key of the ICL that can sign', async () => {
    const unknown = 'the tally key is not one of the ICL'
    for (const jwk of [{ x: 'A'.repeat(43) }, { kty: 'EC' }, { crv: 'X25519' }]) {
      expect(await fetched({ jwk })).toBe(unknown)
    }
  })

  it('is the one that the ICL named, about the output that it named', async () => {
    expect(await fetched({ view: { receipt_hash: aHash(`0x${'1'.repeat(64)}`) } })).toBe(
      'its hash is not the one that the ICL named',
    )
    expect(await fetched({ view: { output_cid: receipt.prompt_cid } })).toBe(
      'it is about another output',
    )
  })

  it('was settled after the job was made and before now, but for ten minutes', async () => {
    const settledAt = receipt.tally.body.settled_at
    const other = 'it claims to have settled at another time'
    expect(await fetched({ job: { preparedAt: settledAt + 600 } })).toMatchObject({ receipt })
    expect(await fetched({ job: { preparedAt: settledAt + 601 } })).toBe(other)
    expect(await fetched({ time: settledAt - 600 })).toMatchObject({ receipt })
    expect(await fetched({ time: settledAt - 601 })).toBe(other)
  })

  it('has nodes with a stake for the tier, every one of them', async () => {
    const nodes = receipt.answers.map(({ body }) => body.address)
    for (const node of nodes) {
      for (const change of [{ staked: false }, { modelTiers: [] }]) {
        expect(await fetched({ nodes: { [node]: change } })).toBe(
          `${node} signed the receipt without a stake for that tier`,
        )
      }
      // Its operator may change its tiers as soon as it has answered, and withdraw its stake after a week.
      const nodesNow = { [node]: { modelTiers: [] } }
      const drawn = { [node]: { modelTiers: [0] } }
      expect(await fetched({ nodes: nodesNow, drawn })).toMatchObject({ receipt })
    }
  })

  it('is expected to say what was wished for and committed to', () => {
    const { identity } = order
    const { terms, block, members, activator, until } = receipt.list
    const committed = { jobId: jobIdOf(identity), activator, until, list: members }
    const wished = expectedJob(order, { wish, preparedAt: 7 })
    expect(wished).toEqual({
      ...{ jobId: jobIdOf(identity), identity, preparedAt: 7, maxOutputTokens: 1_024 },
      ...{ terms, block, committed, granted: 0b111 },
    })
    const parameters = { max_output_tokens: 9 }
    const shorter = { wish: { ...wish, parameters }, preparedAt: 7 }
    expect(expectedJob(order, shorter)).toEqual({ ...wished, maxOutputTokens: 9 })
  })

  it('leads to an output whose key has two halves of 16 bytes', async () => {
    const decrypted = (high: bigint, low: bigint) => {
      const { outHighHandle } = receipt.delivery.body
      const sealed = { blob: new Uint8Array(40), secret: new Uint8Array(32) }
      const coprocessor = {
        decrypt: async (handle: bigint) => (handle === outHighHandle ? high : low),
      }
      return failureOf(decryptOutput(contextOf({ coprocessor }), receipt, sealed))
    }
    const largest = 2n ** 128n - 1n
    for (const [high, low] of [
      [-1n, 0n],
      [0n, largest + 1n],
    ] as const) {
      expect(await decrypted(high, low)).toMatchObject({
        ...{ code: 'output-key-invalid', hint: expect.stringContaining('Run the job again') },
        message: 'What the node stored that delivered is no key of an output',
      })
    }
    expect((await decrypted(0n, largest))?.code).toBe('blob-unreadable')
  })
})

describe('a submission', () => {
  const identity = {
    ...{ chainId: 5, client, promptCid: `bafkrei${'a'.repeat(52)}` },
    ...{ kpHighHandle: 1n, kpLowHandle: 2n, clientNonce: 3n },
  }
  const jobId = jobIdOf(identity)
  const signed = { body: {}, key: 'k', signature: 's' } as unknown as SignedList
  const list = { signed, grants: [], positions: [0, 1, 2], until: 77 }

  const run = async (answer: object, wanted: Parameters<typeof submitJob>[2] = wish) => {
    const bodies: unknown[] = []
    const api = {
      submitJob: async (...args: unknown[]) => {
        bodies.push(args)
        return answer
      },
    }
    const call = submitJob(contextOf({ api }), { identity, list }, wanted)
    return { outcome: await call.catch((error: unknown) => error), bodies }
  }

  it('says what is wished for, and no more', async () => {
    const submitted = { jobId, status: 'open', read_token: 't' }
    const { outcome, bodies } = await run(submitted)
    expect(outcome).toBe(submitted)
    const body = {
      ...{ model_id: wish.model, prompt_cid: identity.promptCid, client_nonce: 3n },
      ...{ kpHighHandle: 1n, kpLowHandle: 2n, list: signed, until: 77 },
    }
    expect(bodies).toEqual([[{ body }, expect.objectContaining({ attempts: 6 })]])
    const webhook = { url: 'https://receiver.test' }
    const parameters = { max_output_tokens: 5 }
    const more = { ...wish, parameters, comparator: 'exact' as const, minMatches: 2, webhook }
    expect((await run(submitted, more)).bodies).toMatchObject([
      [{ body: { ...body, parameters, webhook } }, {}],
    ])
  })

  it('is answered about this very job', async () => {
    const other = aHash(`0x${'1'.repeat(64)}`)
    expect((await run({ jobId: other })).outcome).toMatchObject({
      ...{ code: 'job-id-wrong', message: `The ICL answered about ${other}, not ${jobId}` },
      hint: 'Check the chain id and the version of the ICL.',
    })
  })
})
