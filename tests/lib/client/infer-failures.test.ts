import { describe, expect, it } from 'vitest'
import { infer } from '../../../lib/client/infer.ts'
import { type Clock, monotonicMs } from '../../../lib/clock.ts'
import { jobIdOf } from '../../../lib/job-id.ts'
import { ProblemError } from '../../../lib/problem.ts'
import type { JobEvent, SubmitJob } from '../../../lib/schemas/jobs.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { clientAddress, createFakeWorld, type FakeOptions, nodes } from './fake-world.ts'

const model = 'openai:gpt-4o-mini'

describe('a job that could not be submitted', () => {
  const submitWith = async (error: Error) => {
    const { context, callsOf } = await createFakeWorld()
    let body: SubmitJob | undefined
    const submitJob: typeof context.api.submitJob = async (input) => {
      body = input.body
      throw error
    }
    const api = { ...context.api, submitJob }
    const failure = await infer({ ...context, api }, 'Why?', { model }).catch(
      (reason: unknown) => reason,
    )
    const jobId = jobIdOf({
      ...{ chainId: context.network.chain_id, client: clientAddress },
      ...{ promptCid: body!.prompt_cid, clientNonce: body!.client_nonce },
      ...{ kpHighHandle: body!.kpHighHandle, kpLowHandle: body!.kpLowHandle },
    })
    return { failure, cancelled: callsOf('cancelJob'), jobId }
  }

  it('is cancelled when the submission may have arrived all the same', async () => {
    for (const error of [
      new SvcError('icl-unreachable', 'Away', { hint: '', retryable: true }),
      new ProblemError('rate-limited', 'Busy'),
    ]) {
      const { failure, cancelled, jobId } = await submitWith(error)
      expect(failure).toMatchObject({ name: 'SvcError', code: error.code })
      // Without a token: the wallet signs.
      expect(cancelled).toEqual([
        { name: 'cancelJob', input: { params: { jobId } }, options: { timeoutMs: 5_000 } },
      ])
    }
  })

  it('is left alone when the ICL has refused it', async () => {
    for (const error of [
      new SvcError('job-id-wrong', 'No', { hint: '' }),
      new ProblemError('job-conflict', 'No'),
      new TypeError('bug'),
    ]) {
      const { failure, cancelled } = await submitWith(error)
      expect((failure as Error).message).toBe(error.message)
      expect(cancelled).toEqual([])
    }
  })
})

it.each([
  { model: 'nope' as never },
  { model, parameters: { max_output_tokens: 0 } },
  { model, parameters: { max_output_tokens: 8_193 } },
  { model, webhook: { url: 'here' } },
])('a job that no submission may hold is refused before anything is paid: %o', async (options) => {
  const { context, callsOf } = await createFakeWorld()
  const failure = await infer(context, 'Why?', options).catch((reason: unknown) => reason)
  expect(failure).toMatchObject({ name: 'SvcError', code: 'request-invalid' })
  expect(callsOf('previewQuorum')).toEqual([])
})

it.each([
  ['off', 'https://a.test', 'webhooks-off'],
  ['https', 'http://a.test', 'webhook-refused'],
  ['https', 'https://localhost', 'webhook-refused'],
  ['http', 'ftp://a.test', 'webhook-refused'],
] as const)(
  'a webhook that its ICL (%s) does not send to %s is refused before anything is paid',
  async (webhooks, url, code) => {
    const { context, callsOf } = await createFakeWorld()
    const network = { ...context.network, webhooks }
    const failure = infer({ ...context, network }, 'Why?', { model, webhook: { url } })
    await expect(failure).rejects.toMatchObject({ name: 'SvcError', code })
    expect(callsOf('previewQuorum')).toEqual([])
  },
)

it.each(['disputed', 'expired', 'cancelled'] as const)(
  'a job that ended without an answer is told as %s, with its token and no output',
  async (status) => {
    const { context } = await createFakeWorld({ views: () => [{ status }] })
    const result = await infer(context, 'Why?', { model })
    expect(result).toMatchObject({ status, model })
    expect(result).toMatchObject({ readToken: 'read-token', deliverer: undefined })
    expect(Object.keys(result)).not.toContain('output')
    expect(Object.keys(result)).not.toContain('proof')
  },
)

describe('who runs an inference', () => {
  it('takes a newer pool when the proof took so long that the ICL would refuse the first one', async () => {
    const previewsWith = async (proofMs: number) => {
      const { context, callsOf } = await createFakeWorld()
      let now = 0
      const clock: Clock = { ...context.clock, monotonic: () => monotonicMs(now) }
      const encrypt: typeof context.coprocessor.encrypt = async (high, low, encryption) => {
        now += proofMs
        return await context.coprocessor.encrypt(high, low, encryption)
      }
      const slow = { ...context, clock, coprocessor: { ...context.coprocessor, encrypt } }
      let compared = 0
      const result = await infer(slow, 'Why?', { model, onPool: () => compared++ })
      expect(result.status).toBe('accepted')
      return [callsOf('previewQuorum').length, compared]
    }
    expect(await previewsWith(10_000)).toEqual([1, 1])
    expect(await previewsWith(5 * 60_000)).toEqual([2, 2])
  })

  it('is told of the proof of encryption, and of the secret of its webhook', async () => {
    const run = async (options: FakeOptions = {}) => {
      const { context } = await createFakeWorld(options)
      const submitJob: typeof context.api.submitJob = async (...args) => ({
        ...(await context.api.submitJob(...args)),
        webhook_secret: 'secret',
      })
      const coprocessor: typeof context.coprocessor = {
        ...context.coprocessor,
        encrypt: async (high, low, encryption) => {
          encryption?.onStep?.({ step: 'prove', phase: 'end', elapsedMs: 7, proofBytes: 99 })
          return await context.coprocessor.encrypt(high, low, encryption)
        },
      }
      const submitted: object[] = []
      const result = await infer(
        { ...context, coprocessor, api: { ...context.api, submitJob } },
        'Why?',
        { model, onSubmitted: (job) => submitted.push(job) },
      )
      const key = { highHandle: expect.any(BigInt), lowHandle: expect.any(BigInt) }
      expect(submitted).toEqual([
        { jobId: result.jobId, readToken: 'read-token', key, webhookSecret: 'secret' },
      ])
      return result
    }
    const proof = { bytes: 99, stepsMs: { prepare: 0, prove: 7, verify: 0 } }
    expect(await run()).toMatchObject({ status: 'accepted', proof })
    expect(await run({ views: () => [{ status: 'expired' }] })).toMatchObject({ proof })
  })

  it('is told of each event in a line', async () => {
    const event: Partial<JobEvent> = {
      ...{ type: 'claimed', role: 'leader', node: nodes[0]!, detail: 'soon' },
    }
    const details: (string | undefined)[] = []
    const { context } = await createFakeWorld({
      views: (accepted) => [details.length === 2 ? accepted : { status: 'running' }],
      streams: [[event, { type: 'committed' }]],
    })
    await infer(context, 'Why?', {
      model,
      onStep: ({ step, phase, detail }) => {
        if (step === 'inference' && phase === 'progress') details.push(detail)
      },
    })
    expect(details).toEqual([`claimed leader ${nodes[0]!.slice(0, 8)} soon`, 'committed'])
  })
})
