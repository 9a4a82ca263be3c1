import { describe, expect, it } from 'vitest'
import { createBell } from '../../../lib/client/bell.ts'
import { toClientError } from '../../../lib/client/client-error.ts'
import {
  endedWithout,
  type FailedInference,
  inferenceError,
  stuckJobError,
  toldBy,
} from '../../../lib/client/inference.ts'
import { createStepRunner, type StepNews } from '../../../lib/client/steps.ts'
import { nameJob, uploadBlob } from '../../../lib/client/submit-job.ts'
import { jobIdOf } from '../../../lib/job-id.ts'
import { ProblemError } from '../../../lib/problem.ts'
import type { AssignmentReason, JobView } from '../../../lib/schemas/jobs.ts'
import type { SignedList } from '../../../lib/schemas/list.ts'
import { nodeAddress } from '../../icl/rules/sample-job.ts'
import { createVirtualClock } from '../../virtual-clock.ts'
import { createFakeWorld, keyBlock } from './fake-world.ts'

type Assignment = JobView['quorum'][number]
const assignment = (changes: Partial<Assignment>): Assignment => ({
  ...{
    seat: 0,
    batch: 0,
    position: 0,
    role: 'leader',
    node: nodeAddress('a'),
    fence: 1,
    status: 'revealed',
  },
  ...changes,
})
const viewOf = (quorum: readonly Assignment[], model_id = 'openai:test') =>
  ({ model_id, quorum }) as unknown as JobView

it('a refusal of the ICL becomes an error with a hint', () => {
  const hintOf = (...args: ConstructorParameters<typeof ProblemError>) => {
    const cause = new ProblemError(...args)
    const error = toClientError(cause)
    expect(error).toMatchObject({ code: args[0], message: args[1], cause })
    expect(error).toMatchObject({ retryable: cause.retryable })
    return (error as { hint: string }).hint
  }
  expect(hintOf('rate-limited', 'Slow')).toBe('Wait a little and try again.')
  expect(hintOf('not-enough-serving', 'Few')).toContain('another model, comparator or tier')
  expect(hintOf('not-enough-nodes', 'Few')).toMatch(/^Wait until more nodes serve/)
  for (const code of ['terms-refused', 'key-expired', 'key-used', 'list-refused'] as const) {
    expect(hintOf(code, 'Old')).toMatch(/^Run it again/)
  }
  expect(hintOf('unavailable', 'Later')).toBe('Try again in a moment.')
  expect(hintOf('job-not-found', 'None')).toBe('Check the request and the version in use.')
  const other = new Error('other')
  expect(toClientError(other)).toBe(other)
})

describe('a job that ended without an answer', () => {
  it('shows the verdicts, and who delivered or was to deliver', () => {
    const first = assignment({})
    const others = [
      assignment({ role: 'verifier', verdict: 'match', node: nodeAddress('e') }),
      assignment({
        ...{ role: 'verifier', verdict: 'no-match', verdict_reason: 'different-answer' },
        node: nodeAddress('f'),
      }),
      assignment({ role: 'verifier' }),
    ]
    const verdicts = [
      { node: nodeAddress('e'), verdict: 'match' },
      { node: nodeAddress('f'), verdict: 'no-match', reason: 'different-answer' },
    ]
    expect(toldBy(viewOf([first, ...others]))).toEqual({ deliverer: undefined, verdicts })
    const agreement = { deliverer: nodeAddress('e') } as JobView['agreement']
    expect(toldBy({ ...viewOf([first]), agreement }).deliverer).toBe(nodeAddress('e'))
  })

  const errorOfEnd = (end: Partial<FailedInference>) =>
    inferenceError({ model: 'openai:m', ...end } as FailedInference)

  it.each([
    ['disputed', 'quorum-disagreed', /did not agree/, /^Run it again/],
    ['disputed', 'undelivered', /none of them delivered it/, /^Run the job again\. /],
    ['expired', undefined, /not be done before its deadline/, /^Run it again\. .* overloaded/],
    ['expired', 'not-enough-nodes', /too few nodes are free/, /^Service operator: wait/],
    ['cancelled', undefined, /cancelled by its client/, /^Submit it again/],
  ] as const)('%s (%s) is an error with a code, and what to do', (status, reason, what, hint) => {
    const error = errorOfEnd({ status, reason })
    expect(error).toMatchObject({ code: `job-${status}`, retryable: status !== 'cancelled' })
    expect(error.message).toMatch(what)
    expect(error.hint).toMatch(hint)
  })

  it('names what the nodes failed to deliver for, and who has to act', () => {
    const cause = 'wallet-empty'
    const { code, message, hint } = errorOfEnd({ status: 'disputed', reason: 'undelivered', cause })
    expect([code, message]).toEqual([
      'job-disputed',
      "The job has no answer: the nodes agreed on an answer, but none of them delivered it: the node's wallet cannot pay for gas",
    ])
    expect(hint).toMatch(/^Run the job again\. .* Node operator: send gas money to the wallet/)
  })

  it('names what the nodes gave it back for, and speaks of no overload then', () => {
    const limited = errorOfEnd({
      ...{ status: 'expired', reason: 'attempts-exhausted', cause: 'chain-rate-limited' },
    })
    expect(limited).toMatchObject({ code: 'chain-rate-limited', retryable: true })
    expect(limited.message).toMatch(/^No node could do the job: the rate limit of the node's chain/)
    expect(limited.hint).toMatch(
      /^Run the job again: it draws nodes anew\. Node operator: use an RPC endpoint with a higher/,
    )
    const late = errorOfEnd({ status: 'expired', reason: 'deadline-passed', cause: 'node-busy' })
    expect(late.code).toBe('job-expired')
  })

  it('names the cause of most nodes, however often one of them tried, and of as many the one that the client can mend', () => {
    const causeOf = (...ended: readonly (readonly [string, AssignmentReason])[]) =>
      endedWithout({
        ...viewOf(ended.map(([node, reason]) => assignment({ node: nodeAddress(node), reason }))),
        status: 'expired',
      }).cause
    const [away, long, busy] = [
      'provider-unavailable',
      'provider-prompt-too-long',
      'node-busy',
    ] as const
    expect(causeOf(['a', away], ['a', away], ['a', away], ['b', long], ['c', long])).toBe(long)
    expect(causeOf(['a', away], ['b', long], ['c', away])).toBe(away)
    expect(causeOf(['a', away], ['b', long], ['c', busy])).toBe(long)
    expect(causeOf(['a', busy], ['b', busy], ['c', away])).toBe(away)
    expect(causeOf(['a', busy], ['b', busy])).toBe(busy)
  })
})

it('a job whose nodes are limited by their providers says when the first may ask again', () => {
  const reason = 'provider-rate-limited'
  const quorum = [
    assignment({ reason, retry_after: 3_600 }),
    assignment({ reason, retry_after: 40 }),
    assignment({ reason: 'provider-unavailable', retry_after: 5 }),
    assignment({ reason }),
  ]
  const view = { ...viewOf(quorum), status: 'expired', reason: 'list-used-up' } as const
  const ended = inferenceError(endedWithout(view) as FailedInference)
  for (const error of [ended, stuckJobError(view)]) {
    expect(error).toMatchObject({ code: reason, retryable: true, retryAfterSeconds: 40 })
    expect(error.hint).toMatch(/^Run the job again in 40 s: /)
  }
})

describe('a bell', () => {
  it('wakes who waits, or the next who does, once', async () => {
    const clock = createVirtualClock()
    const bell = createBell(clock)
    const began = clock.now()
    const waiting = bell.wait(1_000)
    await clock.advance(10)
    bell.ring()
    await clock.until(waiting)
    expect(clock.now() - began).toBe(10)
    bell.ring()
    await clock.until(bell.wait(1_000))
    expect(clock.now() - began).toBe(10)
    await clock.until(bell.wait(1_000))
    expect(clock.now() - began).toBe(1_010)
  })

  it('lets go of who gives up', async () => {
    const bell = createBell(createVirtualClock())
    const reason = new Error('enough')
    const caller = new AbortController()
    const waiting = bell.wait(1_000, caller.signal).catch((error: unknown) => error)
    caller.abort(reason)
    expect(await waiting).toBe(reason)
    bell.ring()
    expect(await bell.wait(1_000, caller.signal).catch((error: unknown) => error)).toBe(reason)
  })
})

it('steps tell of their start, their progress and their end, and keep their times', async () => {
  const clock = createVirtualClock()
  const news: StepNews[] = []
  const runner = createStepRunner(clock, (one) => news.push(one))
  await clock.advance(5)
  const run = runner.run('upload', async (progress) => {
    await clock.sleep(20)
    progress('half')
    await clock.sleep(10)
    return 'done'
  })
  expect(await clock.until(run)).toBe('done')
  expect(news).toEqual([
    { step: 'upload', phase: 'start', elapsedMs: 0 },
    { step: 'upload', phase: 'progress', elapsedMs: 20, detail: 'half' },
    { step: 'upload', phase: 'end', elapsedMs: 30 },
  ])
  news.length = 0
  await runner.run(
    'submit',
    async () => 'expired',
    () => false,
  )
  await runner.run('receipt', () => Promise.reject(new Error('no'))).catch(() => {})
  expect(news.map(({ step, phase }) => [step, phase])).toEqual([
    ['submit', 'start'],
    ['submit', 'failed'],
    ['receipt', 'start'],
    ['receipt', 'failed'],
  ])
  expect(runner.timings()).toMatchObject({ upload: 30, total: 35 })
  const silent = createStepRunner(clock, undefined)
  expect(await silent.run('commit', async (progress) => progress('x'))).toBeUndefined()
})

it('a blob is believed to be stored under its own name only', async () => {
  const { context } = await createFakeWorld()
  const blob = Uint8Array.of(1, 2, 3)
  const body = {
    kpHighHandle: 7n,
    kpLowHandle: 8n,
    block: keyBlock,
  } as unknown as SignedList['body']
  const list = { signed: { body, key: '', signature: '' } }
  expect(await uploadBlob(context, blob, list)).toMatch(/^bafkrei/)
  const api = { ...context.api, putBlob: async () => ({ cid: `bafkrei${'b'.repeat(51)}a` }) }
  await expect(uploadBlob({ ...context, api }, blob, list)).rejects.toMatchObject({
    ...{ code: 'blob-cid-wrong', hint: expect.stringContaining('Do not use this ICL') },
    message: expect.stringContaining('instead of bafkrei'),
  })
})

it('a job is named by all that makes it, and by a nonce of its own', async () => {
  const { context } = await createFakeWorld()
  const parts = { promptCid: `bafkrei${'a'.repeat(52)}`, highHandle: 5n, lowHandle: 6n }
  const { jobId, identity } = nameJob(context, parts)
  expect(identity).toEqual({
    ...{ chainId: context.network.chain_id, client: context.address, promptCid: parts.promptCid },
    ...{ kpHighHandle: 5n, kpLowHandle: 6n, clientNonce: identity.clientNonce },
  })
  expect(identity.clientNonce).toBeGreaterThan(2n ** 128n)
  expect(jobId).toBe(jobIdOf(identity))
  expect(nameJob(context, parts).jobId).not.toBe(jobId)
})
