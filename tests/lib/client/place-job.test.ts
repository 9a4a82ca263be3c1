import { describe, expect, it } from 'vitest'
import { infer } from '../../../lib/client/infer.ts'
import { ProblemError } from '../../../lib/problem.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { holdTime } from '../../virtual-clock.ts'
import { createFakeWorld, type FakeOptions } from './fake-world.ts'

const model = 'openai:gpt-4o-mini'
const timeoutMs = 5_000
const reverted = new SvcError('commit-list-reverted', 'commitList reverted', { hint: 'See.' })

type Context = Awaited<ReturnType<typeof createFakeWorld>>['context']

/** Runs a job whose submission and commitment go as a test says. */
const run = async (
  committing: FakeOptions['committing'],
  submitting: (real: Context['api']['submitJob']) => Context['api']['submitJob'],
  signal?: AbortSignal,
) => {
  const { context, callsOf } = await createFakeWorld({ ...(committing && { committing }) })
  const api = { ...context.api, submitJob: submitting(context.api.submitJob) }
  const failure = await infer({ ...context, api }, 'Why?', {
    ...{ model, ...(signal && { signal }) },
  }).then(
    ({ status }) => status,
    (error: unknown) => error,
  )
  return { failure, cancelled: callsOf('cancelJob').map(({ options }) => options) }
}

/** A moment that a test decides on. */
function moment() {
  let come = () => {}
  const reached = new Promise<void>((resolve) => {
    come = resolve
  })
  return { come, reached }
}

/** Has a moment come after what is done now; no virtual time passes until then. */
function comeSoon({ come }: ReturnType<typeof moment>): void {
  const goOn = holdTime()
  setTimeout(() => {
    come()
    goOn()
  }, 0)
}

const never = (signal: AbortSignal | null | undefined) =>
  new Promise<never>((_, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
  })

describe('a job that is placed', () => {
  it('is uploaded and submitted while the commitment is under way', async () => {
    const submitted = moment()
    const { failure } = await run(
      () => submitted.reached,
      (real) => async (input, options) => {
        const answer = await real(input, options)
        submitted.come()
        return answer
      },
    )
    expect(failure).toBe('accepted')
  })

  it('is not followed before the commitment is made', async () => {
    const committed = moment()
    const { context, callsOf } = await createFakeWorld({ committing: () => committed.reached })
    const heard: string[] = []
    const submitted = moment()
    const work = infer(context, 'Why?', {
      model,
      onSubmitted: () => heard.push('submitted'),
      onStep: ({ step, phase }) => {
        if (step === 'submit' && phase === 'end') submitted.come()
      },
    })
    await submitted.reached
    expect([heard, callsOf('followJob')]).toEqual([[], []])
    committed.come()
    expect((await work).status).toBe('accepted')
    expect(heard).toEqual(['submitted'])
  })

  it('is cancelled when the commitment fails after the submission went out', async () => {
    const submitted = moment()
    const late = await run(
      async () => {
        await submitted.reached
        throw reverted
      },
      (real) => async (input, options) => {
        const answer = await real(input, options)
        submitted.come()
        return answer
      },
    )
    // With the token of the submission: a wallet would have to ask its user.
    expect(late).toEqual({ failure: reverted, cancelled: [{ timeoutMs, readToken: 'read-token' }] })
    // Whether it has arrived is not known.
    const sent = moment()
    const underWay = await run(
      async () => {
        await sent.reached
        throw reverted
      },
      () => (_, options) => {
        sent.come()
        return never(options?.signal)
      },
    )
    expect(underWay).toEqual({ failure: reverted, cancelled: [{ timeoutMs }] })
  })

  it('is not submitted when the commitment fails before', async () => {
    const { context, callsOf } = await createFakeWorld({
      committing: () => Promise.reject(reverted),
    })
    const putBlob: typeof context.api.putBlob = (_, options) => never(options?.signal)
    const api = { ...context.api, putBlob }
    await expect(infer({ ...context, api }, 'Why?', { model })).rejects.toBe(reverted)
    expect([...callsOf('submitJob'), ...callsOf('cancelJob')]).toEqual([])
  })
})

describe('a submission that is refused', () => {
  const refusal = new ProblemError('job-conflict', 'Another job')
  const refuse = () => () => Promise.reject(refusal)

  it('says that the key is spent when the commitment was made', async () => {
    const { failure } = await run(undefined, refuse)
    expect(failure).toMatchObject({ code: 'job-conflict', message: 'Another job' })
    expect((failure as SvcError).hint).toMatch(/ The prompt key is spent: another try stores/)
  })

  it('waits a little for a commitment that is under way', async () => {
    const refused = moment()
    const { failure } = await run(
      () => refused.reached,
      () => async () => {
        // The commitment is made only after the refusal.
        comeSoon(refused)
        throw refusal
      },
    )
    expect((failure as SvcError).hint).toContain('The prompt key is spent')
  })

  it('does not say so when the commitment was not made', async () => {
    const refused = moment()
    const failing = await run(
      async () => {
        await refused.reached
        throw reverted
      },
      () => async () => {
        comeSoon(refused)
        throw refusal
      },
    )
    const hanging = await run((signal) => never(signal), refuse)
    for (const { failure, cancelled } of [failing, hanging]) {
      expect(failure).toMatchObject({ code: 'job-conflict' })
      expect((failure as SvcError).hint).not.toContain('spent')
      expect(cancelled).toEqual([])
    }
  })
})
