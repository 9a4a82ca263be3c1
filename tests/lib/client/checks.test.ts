import { beforeAll, describe, expect, it } from 'vitest'
import { checkCommitment } from '../../../lib/client/check-commitment.ts'
import {
  type ExpectedJob,
  expectedJob,
  fetchCheckedReceipt,
} from '../../../lib/client/check-receipt.ts'
import { chooseQuorum } from '../../../lib/client/choose-quorum.ts'
import type { ClientContext } from '../../../lib/client/context.ts'
import { decryptOutput } from '../../../lib/client/read-output.ts'
import { submitJob } from '../../../lib/client/submit-job.ts'
import type { Address, Hash32 } from '../../../lib/codecs.ts'
import { jobIdOf } from '../../../lib/job-id.ts'
import { ProblemError } from '../../../lib/problem.ts'
import { receiptHash } from '../../../lib/receipt.ts'
import type { JobView } from '../../../lib/schemas/jobs.ts'
import type { Receipt } from '../../../lib/schemas/receipt.ts'
import { aHash, aJobId } from '../../branded.ts'
import { nodeAddress } from '../../icl/rules/sample-job.ts'
import { sampleNetwork } from '../../sample-network.ts'
import { createVirtualClock } from '../../virtual-clock.ts'
import { makeReceipt } from '../make-receipt.ts'

/** A context of these parts; what is not there is not asked for. */
const contextOf = (parts: object) => parts as unknown as ClientContext

const failureOf = (call: Promise<unknown>) =>
  call.then(
    () => undefined,
    (error: { code?: string; message: string; hint?: string; retryable?: boolean }) => error,
  )

const [leader, one, two, client] = ['a', 'b', 'c', '9'].map((digit) => nodeAddress(digit)) as [
  Address,
  Address,
  Address,
  Address,
]
const model = 'openai:test'

describe('a quorum', () => {
  const wish = { model, minTier: 2, verifierCount: 2 }
  const good = { leader, verifiers: [one, two], model_id: model, preview: 'token', expires_at: 0 }
  const node = { staked: true, active: true, modelTiers: [1, 2] }

  const choose = (
    preview: Partial<typeof good> | ProblemError,
    {
      nodes = {},
      models = [],
      wanted = wish,
    }: {
      nodes?: Record<string, Partial<typeof node>>
      models?: readonly { model_id: string; nodes: number }[]
      wanted?: Parameters<typeof chooseQuorum>[1]
    } = {},
  ) => {
    const asked: unknown[] = []
    const api = {
      previewQuorum: async (...args: unknown[]) => {
        asked.push(args)
        if (preview instanceof ProblemError) throw preview
        return { ...good, ...preview }
      },
      getModels: async () => ({ models }),
    }
    const chain = { nodeOf: async (address: string) => ({ ...node, ...nodes[address] }) }
    return { call: chooseQuorum(contextOf({ api, chain, address: client }), wanted), asked }
  }

  it('is asked for as it is wanted', async () => {
    const { call, asked } = choose({})
    expect(await call).toEqual(good)
    const query = { client, model_id: model, min_tier: 2, verifier_count: 2 }
    expect(asked).toEqual([[{ query }, { signal: undefined, attempts: 3 }]])
    const compared = choose({}, { wanted: { ...wish, comparator: 'exact' } })
    await compared.call
    expect(compared.asked).toMatchObject([[{ query: { ...query, comparator: 'exact' } }, {}]])
  })

  it.each<[string, Partial<typeof good>]>([
    ['the model openai:other instead of openai:test', { model_id: 'openai:other' }],
    ['another number of nodes than the 3 asked for', { verifiers: [one] }],
    ['another number of nodes than the 3 asked for', { verifiers: [one, one] }],
    ['another number of nodes than the 3 asked for', { verifiers: [one, two, two] }],
    ['another number of nodes than the 3 asked for', { verifiers: [leader, one] }],
    ['this very client as a node of its own job', { verifiers: [one, client] }],
    ['this very client as a node of its own job', { leader: client }],
  ])('is not believed with %s', async (why, change) => {
    expect(await failureOf(choose(change).call)).toMatchObject({
      ...{ code: 'quorum-untrusted', message: `The ICL chose ${why}` },
      hint: expect.stringContaining('Do not use this ICL'),
    })
  })

  it('has nodes that are active on chain for the tier, every one of them', async () => {
    for (const address of [leader, one, two]) {
      for (const change of [{ active: false }, { modelTiers: [1] }, { modelTiers: [] }]) {
        const { call } = choose({}, { nodes: { [address]: change } })
        expect((await failureOf(call))?.message).toBe(
          `The ICL chose ${address}, which is not active on chain for that tier`,
        )
      }
    }
  })

  it('that there is none says what there is', async () => {
    const few = new ProblemError('not-enough-nodes', 'Few')
    const served = (...counts: readonly (readonly [string, number])[]) =>
      choose(few, { models: counts.map(([model_id, nodes]) => ({ model_id, nodes })) }).call
    expect(await failureOf(served(['a:b', 2], ['c:d', 1], ['e:f', 0], [model, 0]))).toMatchObject({
      ...{ code: 'model-unknown', message: 'No node serves openai:test', cause: few },
      hint: 'Choose a model that is served: a:b, c:d.',
    })
    expect(await failureOf(served([model, 1]))).toMatchObject({
      ...{ code: 'not-enough-nodes', retryable: true, cause: few },
      message:
        'Not enough nodes: 1 node serves openai:test now, and a job needs 3 (1 leader and 2 verifiers)',
      hint: expect.stringContaining('Wait until more nodes'),
    })
    expect((await failureOf(served([model, 2])))?.message).toContain('2 nodes serve openai:test')
    expect((await failureOf(served([model, 0])))?.message).toContain('0 nodes serve')
    expect((await failureOf(served()))?.message).toContain('0 nodes serve')
    const other = new ProblemError('rate-limited', 'Slow')
    expect(await failureOf(choose(other).call)).toBe(other)
  })
})

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
  let view: JobView

  beforeAll(async () => {
    const made = await makeReceipt('exact', ['yes', 'yes', 'yes'])
    receipt = made.receipt
    iclKey = made.iclKey
    job = {
      jobId: receipt.jobId,
      identity: {
        ...{ chainId: receipt.chain_id, client: receipt.client, promptCid: receipt.prompt_cid },
        ...{ kpHighHandle: receipt.kpHighHandle, kpLowHandle: receipt.kpLowHandle },
        clientNonce: receipt.client_nonce,
      },
      ...{ model: receipt.model_id, maxOutputTokens: 1_024, minTier: 1, comparator: 'exact' },
      verifierCount: 2,
      preparedAt: receipt.tally.body.settled_at,
    }
    view = {
      ...{ receipt_hash: await receiptHash(receipt), output_cid: receipt.output_cid },
    } as unknown as JobView
  })

  const fetched = async (
    changes: {
      job?: Partial<ExpectedJob>
      view?: Partial<JobView>
      jwk?: object
      time?: number
      nodes?: Record<string, object>
      publicUrl?: string
    } = {},
  ) => {
    const key = { kty: 'OKP', crv: 'Ed25519', x: iclKey, ...changes.jwk }
    const context = contextOf({
      api: { getReceipt: async () => receipt, getJwks: async () => ({ keys: [key] }) },
      chain: {
        time: async () => changes.time ?? receipt.tally.body.settled_at,
        nodeOf: async (node: string) => ({
          ...{ staked: true, active: false, modelTiers: [0, 1], ...changes.nodes?.[node] },
        }),
      },
      network: sampleNetwork({ public_url: changes.publicUrl ?? 'https://icl.test/icl' }),
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
      code: failure.message.includes('stake') ? 'signer-unstaked' : 'receipt-invalid',
      hint: expect.stringMatching(/^Do not/),
    })
    return failure.message.replace('The receipt does not hold: ', '')
  }

  it('is believed when it is of this job, as it was submitted', async () => {
    expect(await fetched()).toEqual({ receipt, hash: view.receipt_hash })
    expect(await fetched({ job: { minMatches: 2 } })).toMatchObject({ receipt })
  })

  it('is of this very job, and of nothing else', async () => {
    const cid = `bafkrei${'z'.repeat(52)}`
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
    expect(await fetched({ job: { model: 'a:b' } })).toBe('it is about another model')
    expect(await fetched({ job: { maxOutputTokens: 5 } })).toBe(
      'its nodes were told another length of answer',
    )
    expect(await fetched({ job: { comparator: 'similar/2' } })).toBe('it used another comparator')
    expect(await fetched({ publicUrl: 'https://other.test' })).toBe('it comes from another ICL')
    expect(await fetched({ job: { minMatches: 3 } })).toBe('the votes do not accept the answer')
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
    const nodes = [receipt.leader, ...receipt.verifiers].map(({ body }) => body.address)
    for (const node of nodes) {
      for (const change of [{ staked: false }, { modelTiers: [0] }]) {
        expect(await fetched({ nodes: { [node]: change } })).toBe(
          `${node} signed the receipt without a stake for that tier`,
        )
      }
    }
  })

  it('has as many verifiers as were asked for, or more', async () => {
    expect(await fetched({ job: { verifierCount: 1 } })).toMatchObject({ receipt })
    expect(await fetched({ job: { verifierCount: 3 } })).toBe(
      'it has 2 verifiers of the 3 asked for',
    )
  })

  it('is expected to say what was wished for', () => {
    const wish = { model: 'openai:test', minTier: 3, verifierCount: 2 }
    const network = sampleNetwork({ default_comparator: 'similar/2' })
    const { identity } = job
    expect(expectedJob({ network }, { identity, wish, preparedAt: 7 })).toEqual({
      ...{ jobId: jobIdOf(identity), identity, model: 'openai:test', minTier: 3, preparedAt: 7 },
      ...{ maxOutputTokens: 1_024, comparator: 'similar/2', minMatches: undefined },
      verifierCount: 2,
    })
    const more = {
      ...{ parameters: { max_output_tokens: 9 }, comparator: 'exact' as const, minMatches: 2 },
    }
    expect(
      expectedJob({ network }, { identity, wish: { ...wish, ...more }, preparedAt: 7 }),
    ).toMatchObject({ maxOutputTokens: 9, comparator: 'exact', minMatches: 2 })
  })

  it('leads to an output whose key has two halves of 16 bytes', async () => {
    const decrypted = (high: bigint, low: bigint) => {
      const { outHighHandle } = receipt.leader.body
      const coprocessor = {
        decrypt: async (handle: bigint) => (handle === outHighHandle ? high : low),
      }
      return failureOf(decryptOutput(contextOf({ coprocessor }), receipt, new Uint8Array(40)))
    }
    const largest = 2n ** 128n - 1n
    for (const [high, low] of [
      [-1n, 0n],
      [0n, largest + 1n],
    ] as const) {
      expect(await decrypted(high, low)).toMatchObject({
        ...{ code: 'output-key-invalid', hint: expect.stringContaining('Run the job again') },
        message: 'What the leader stored is no key of an output',
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
  const wish = { model, minTier: 0, verifierCount: 2 }
  const preview = { leader, verifiers: [one, two], model_id: model, preview: 'p0', expires_at: 0 }

  const run = async (
    answers: readonly (object | Error)[],
    wanted: Parameters<typeof submitJob>[2] = wish,
  ) => {
    const clock = createVirtualClock()
    const began = clock.now()
    const bodies: { preview: string }[] = []
    let previews = 0
    const api = {
      submitJob: async ({ body }: { body: { preview: string } }) => {
        bodies.push(body)
        const answer = answers[Math.min(bodies.length, answers.length) - 1]!
        if (answer instanceof Error) throw answer
        return answer
      },
      previewQuorum: async () => ({ ...preview, preview: `p${++previews}` }),
    }
    const chain = { nodeOf: async () => ({ staked: true, active: true, modelTiers: [0] }) }
    const random = { bytes: () => Uint8Array.of(7) }
    const context = contextOf({ api, chain, clock, random, address: client })
    const call = submitJob(context, identity, wanted, preview)
    const outcome = await clock.until(call.catch((error: unknown) => error))
    return { outcome, bodies, tookMs: clock.now() - began }
  }
  const stale = new ProblemError('preview-stale', 'Left')

  it('says what is wished for, and no more', async () => {
    const submitted = { jobId, status: 'open', read_token: 't' }
    const { outcome, bodies } = await run([submitted])
    expect(outcome).toBe(submitted)
    const body = {
      ...{ model_id: model, prompt_cid: identity.promptCid, kpHighHandle: 1n, kpLowHandle: 2n },
      ...{ client_nonce: 3n, preview: 'p0' },
    }
    expect(bodies).toEqual([body])
    const webhook = { url: 'https://receiver.test' }
    const parameters = { max_output_tokens: 5 }
    const more = { ...wish, parameters, comparator: 'exact' as const, minMatches: 2, webhook }
    expect((await run([submitted], more)).bodies).toEqual([
      { ...body, parameters, comparator: 'exact', min_matches: 2, webhook },
    ])
  })

  it('takes a new preview each time that one is outdated, twelve at most', async () => {
    const submitted = { jobId, status: 'open', read_token: 't' }
    const invalid = new ProblemError('preview-invalid', 'Old')
    const late = await run([stale, invalid, submitted])
    expect([late.outcome, late.tookMs]).toEqual([submitted, 27 + 47])
    expect(late.bodies.map((body) => body.preview)).toEqual(['p0', 'p1', 'p2'])
    const never = await run([stale])
    expect([never.outcome, never.bodies.length]).toEqual([stale, 12])
    const other = new ProblemError('rate-limited', 'Slow')
    expect((await run([other])).bodies).toHaveLength(1)
    const foreign = Object.assign(new Error('x'), { code: 'preview-stale' })
    expect((await run([foreign])).bodies).toHaveLength(1)
  })

  it('is answered about this very job', async () => {
    const other = aHash(`0x${'1'.repeat(64)}`)
    expect((await run([{ jobId: other }])).outcome).toMatchObject({
      ...{ code: 'job-id-wrong', message: `The ICL answered about ${other}, not ${jobId}` },
      hint: 'Check the chain id and the version of the ICL.',
    })
  })
})
