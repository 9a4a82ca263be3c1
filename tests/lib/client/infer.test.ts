import { describe, expect, it } from 'vitest'
import { writeAnswer } from '../../../lib/answer.ts'
import type { ClientChain, PromptKey } from '../../../lib/client/client-chain.ts'
import { infer } from '../../../lib/client/infer.ts'
import { GoesOnError } from '../../../lib/client/inference.ts'
import { inferenceSteps, type StepNews } from '../../../lib/client/steps.ts'
import type { JobId } from '../../../lib/codecs.ts'
import { promptText } from '../../../lib/prompt.ts'
import { needsOf } from '../../../lib/prompt-needs.ts'
import type { SubmitJob } from '../../../lib/schemas/jobs.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { termsHash } from '../../../lib/terms.ts'
import { samplePrompt } from '../../sample-prompt.ts'
import { clientAddress, commitTx, coordinator, createFakeWorld, nodes, pool } from './fake-world.ts'

type ListCommitment = Parameters<ClientChain['commitList']>[0]

const model = 'openai:gpt-4o-mini'

const errorOf = async (work: Promise<unknown>): Promise<SvcError> => {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (error instanceof SvcError) return error
  throw new Error(`Expected a SvcError, got ${error}`)
}

describe('infer', () => {
  it('delivers the answer of the quorum with everything that proves it', async () => {
    const { context } = await createFakeWorld()
    const news: StepNews[] = []
    const result = await infer(context, 'Why?', { model, onStep: (item) => news.push(item) })
    if (result.status !== 'accepted') throw new Error(result.status)
    expect(result.output).toBe('answer to Why?')
    expect(result.deliverer).toBe(result.receipt.delivery.body.address)
    const others = nodes.slice(0, 3).filter((node) => node !== result.deliverer)
    expect(result.verdicts).toEqual(others.map((node) => ({ node, verdict: 'match' as const })))
    expect(result.agreed).toEqual({
      ...{
        agreed: 3,
        answers: 3,
        differed: [],
        givenBack: 0,
        lapsed: 0,
        listLength: 4,
        isWholePool: true,
      },
    })
    expect(result.usage).toEqual({ input_tokens: 5, output_tokens: 2 })
    expect(result.commitTx).toBe(commitTx)
    expect(result.receipt.client).toBe(clientAddress)
    const begun = news.filter(({ phase }) => phase === 'start').map(({ step }) => step)
    expect(begun).toEqual([...inferenceSteps])
    expect(new Set(Object.keys(result.timingsMs))).toEqual(new Set([...inferenceSteps, 'total']))
  })

  it('stores a key that nobody reads before the list, and then the first of the list do', async () => {
    const { context, callsOf } = await createFakeWorld()
    await infer(context, 'Why?', { model })
    const key = callsOf('storeKey')[0]?.input as PromptKey
    const { body } = (callsOf('submitJob')[0]!.input as SubmitJob).list
    expect(key.termsHash).toBe(await termsHash(body.terms))
    expect(new Set(Object.keys(key))).toEqual(new Set(['high', 'low', 'termsHash']))
    const { terms, mask } = callsOf('commitList')[0]!.input as ListCommitment
    expect(terms.list.slice(0, 3)).toEqual(nodes.slice(0, 3))
    expect([terms.activator, mask]).toEqual([coordinator, 0b111])
    expect(terms.until - context.clock.now() / 1000).toBeGreaterThan(600)
  })

  it('asks for terms that the ICL cannot read anything else into', async () => {
    const { context, callsOf } = await createFakeWorld()
    const wish = { model, minMatches: 2, listLength: 3 }
    const result = await infer(context, 'Why?', wish)
    if (result.status !== 'accepted') throw new Error(result.status)
    const { terms, members } = result.receipt.list
    expect(members).toHaveLength(3)
    expect(terms).toEqual({
      ...{ icl_origin: 'http://icl.test', model_id: model, min_tier: 0, quorum: 3 },
      ...{ comparator: 'exact', min_matches: 2, list_length: 3, rule: 'three', max_answers: 7 },
      ...{ pool_cid: expect.stringMatching(/^bafkrei/), salt: expect.stringMatching(/^.{43}$/) },
    })
    await infer(context, 'Why?', { model })
    const [, later] = callsOf('submitJob').map(({ input }) => (input as SubmitJob).list.body)
    expect(later?.terms).toMatchObject({
      rule: 'three',
      max_answers: 7,
      min_matches: 1,
      list_length: 9,
    })
    expect(later?.terms.salt).not.toBe(terms.salt)
  })

  it('uploads nothing but ciphertext', async () => {
    const { context, blobs } = await createFakeWorld()
    await infer(context, 'a very telling prompt', { model })
    for (const blob of blobs.values()) {
      expect(Buffer.from(blob).includes('telling')).toBe(false)
    }
  })

  it('refuses an empty prompt and one that is too long before anything is sent', async () => {
    const { context, callsOf } = await createFakeWorld()
    expect((await errorOf(infer(context, ' \n', { model }))).code).toBe('prompt-empty')
    const long = await errorOf(infer(context, 'é'.repeat(524_274), { model }))
    expect(long.code).toBe('prompt-too-long')
    // 1,048,548 bytes of text, and the document around it.
    expect(long.message).toContain('1048603')
    expect(callsOf('previewQuorum')).toEqual([])
  })

  it('refuses a prompt that the ICL has no room for before a key is stored', async () => {
    const { context } = await createFakeWorld({ preview: { prompt_room_bytes: 100 } })
    const steps = new Set<string>()
    const onStep = ({ step }: { readonly step: string }) => steps.add(step)
    const error = await errorOf(infer(context, 'a'.repeat(30), { model, onStep }))
    expect([error.code, error.retryable, [...steps]]).toEqual(['no-room', true, ['preview']])
    expect(error.message).toContain('room for an encrypted prompt of 100 bytes')
  })

  it('seals a document with every part, and checks the answer by what all messages say', async () => {
    for (const comparator of ['exact', 'similar/2', undefined] as const) {
      const takes = [{ model_id: model, parts: [...needsOf(samplePrompt)!.parts!] }]
      const { context, prompts } = await createFakeWorld({
        pool: pool.map((node) => ({ ...node, takes })),
        answer: (content) => writeAnswer(samplePrompt, { content, isCut: true }),
      })
      const result = await infer(context, samplePrompt, { model, comparator })
      expect([result.status, 'answer' in result && result.answer]).toEqual([
        'accepted',
        { version: 1, content: promptText(samplePrompt), finish_reason: 'length' },
      ])
      expect(prompts[0]).toEqual(samplePrompt)
    }
  })

  it('makes a text one message of the user', async () => {
    const { context, prompts } = await createFakeWorld()
    await infer(context, '  Why?\n', { model })
    expect(prompts[0]).toEqual({
      version: 1,
      messages: [{ role: 'user', content: '  Why?\n' }],
    })
  })

  it('refuses a document that no node would read, and says what is wrong', async () => {
    const { context, callsOf } = await createFakeWorld()
    const messages = [{ role: 'assistant' as const, content: 'x' }]
    const error = await errorOf(infer(context, { version: 1, messages }, { model }))
    expect([error.code, error.message]).toEqual([
      'prompt-invalid',
      'The prompt is not valid: messages.0.role: must not be the assistant: its turn is next',
    ])
    const blank = [{ role: 'user' as const, content: ' ' }]
    expect((await errorOf(infer(context, { version: 1, messages: blank }, { model }))).code).toBe(
      'prompt-empty',
    )
    expect(callsOf('previewQuorum')).toEqual([])
  })

  it('gives up a job whose nodes are refused by the provider and says which key to check', async () => {
    const { context, callsOf } = await createFakeWorld({
      views: ({ quorum }) => [
        {
          status: 'open',
          reason: 'not-enough-nodes',
          // The others stopped offering the model before they had an offer.
          quorum: quorum.map(({ verdict: _, ...assignment }, at) => ({
            ...assignment,
            status: 'aborted',
            reason: at === 0 ? 'provider-key-refused' : 'node-left',
          })),
        },
      ],
    })
    const error = await errorOf(infer(context, 'Why?', { model, giveUpWhenStuckMs: 3_000 }))
    expect(error.code).toBe('provider-key-refused')
    expect(error.hint).toContain('the API key of openai')
    expect(callsOf('cancelJob').length).toBe(1)
  })

  it('cancels the job when it is aborted', async () => {
    const { context, callsOf } = await createFakeWorld({ views: () => [{ status: 'running' }] })
    const abort = new AbortController()
    const reason = new Error('enough')
    const work = infer(context, 'Why?', {
      model,
      signal: abort.signal,
      onStep: ({ step }) => {
        if (step === 'inference') abort.abort(reason)
      },
    })
    expect(await work.catch((error: unknown) => error)).toBe(reason)
    const [cancel] = callsOf('cancelJob')
    expect(cancel?.options).toMatchObject({ readToken: 'read-token' })
  })

  it.each([
    ['aborted', { code: 'too-late-to-cancel', retryable: false }],
    ['stuck', { code: 'not-enough-nodes', retryable: true }],
  ])('says how to open the answer of a job that it cannot cancel (%s)', async (how, said) => {
    const lacking = { reason: 'not-enough-nodes' as const, quorum: [] }
    const { context } = await createFakeWorld({
      hasCommitted: true,
      views: () => [{ status: 'running', ...(how === 'stuck' && lacking) }],
    })
    const abort = new AbortController()
    let jobId: JobId | undefined
    const work = infer(context, 'Why?', {
      model,
      signal: abort.signal,
      giveUpWhenStuckMs: 3_000,
      onSubmitted: (job) => {
        jobId = job.jobId
      },
      onStep: ({ step }) => {
        if (step === 'inference' && how === 'aborted') abort.abort(new Error('enough'))
      },
    })
    const error = await errorOf(work)
    expect(error).toBeInstanceOf(GoesOnError)
    expect(error).toMatchObject({ ...said, jobId })
    expect(error.message).toContain(`The job ${jobId} continues`)
    expect(error.hint).toContain(`--open ${jobId}`)
  })
})
