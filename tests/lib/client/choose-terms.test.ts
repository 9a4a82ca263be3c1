import { describe, expect, it } from 'vitest'
import { type ChosenTerms, chooseTerms } from '../../../lib/client/choose-terms.ts'
import { infer } from '../../../lib/client/infer.ts'
import { storePromptKey } from '../../../lib/client/prompt-key.ts'
import type { EncryptedHalves } from '../../../lib/coprocessor/coprocessor.ts'
import { ProblemError } from '../../../lib/problem.ts'
import { promptOfText } from '../../../lib/prompt.ts'
import { clientAddress, createFakeWorld, type FakeOptions, pool } from './fake-world.ts'

const model = 'openai:gpt-4o-mini'
const wish = { model, minTier: 0, verifierCount: 2 }

const chosen = async (
  options: FakeOptions = {},
  wanted: Parameters<typeof chooseTerms>[1] = wish,
) => {
  const world = await createFakeWorld(options)
  const outcome = await chooseTerms(world.context, wanted).catch((error: unknown) => error)
  return { outcome, world }
}

describe('the terms of a job', () => {
  it('are about the pool that the ICL has published for what is wished for', async () => {
    const { outcome, world } = await chosen({}, { ...wish, comparator: 'similar/2' })
    expect(outcome).toMatchObject({
      terms: { pool_cid: expect.stringMatching(/^bafkrei/), comparator: 'similar/2', quorum: 3 },
      pool: pool.toSorted((a, b) => (a.address < b.address ? -1 : 1)),
    })
    const query = { model_id: model, comparator: 'similar/2', min_tier: 0, verifier_count: 2 }
    expect(world.callsOf('previewQuorum')).toMatchObject([{ input: { query } }])
  })

  it('allow two nodes more than answers, 16 at most, or as many as are wished for', async () => {
    const lengthOf = async (verifierCount: number, listLength?: number) => {
      const many = [...'89abcdef'].map((digit) => ({
        ...pool[0]!,
        address: pool[0]!.address.replace(/.$/, digit) as (typeof pool)[number]['address'],
      }))
      const distinct = many.filter(({ address }) => address !== pool[0]!.address)
      const { outcome } = await chosen(
        { pool: [...pool, ...distinct] },
        { ...wish, verifierCount, listLength },
      )
      return (outcome as { terms?: { list_length: number } }).terms?.list_length ?? outcome
    }
    expect([await lengthOf(2), await lengthOf(5)]).toEqual([9, 9])
    expect([await lengthOf(2, 3), await lengthOf(2, 16)]).toEqual([3, 16])
    for (const wrong of [2, 17, 3.5]) {
      expect(await lengthOf(2, wrong)).toMatchObject({
        ...{
          code: 'list-length-wrong',
          hint: expect.stringContaining('3 (one for each first answer)'),
        },
      })
    }
  })

  it('name a rule, and the most answers that it looks at', async () => {
    const termsOf = async (wanted: Partial<Parameters<typeof chooseTerms>[1]>) => {
      const { outcome } = await chosen({}, { ...wish, ...wanted })
      const { rule, max_answers, min_matches, list_length } = (outcome as ChosenTerms).terms
      return [rule, max_answers, min_matches, list_length]
    }
    expect(await termsOf({})).toEqual(['three', 7, 1, 9])
    expect(await termsOf({ rule: 'any-two' })).toEqual(['any-two', 5, 1, 7])
    expect(await termsOf({ rule: 'majority', minMatches: 2 })).toEqual(['majority', 5, 2, 7])
    expect(await termsOf({ maxAnswers: 4, listLength: 4 })).toEqual(['three', 4, 1, 4])
  })

  it('that no answers could meet are refused before a key is paid for', async () => {
    const refused = { code: 'quota-refused', hint: expect.stringMatching(/^Ask for /) }
    for (const wanted of [{ maxAnswers: 8 }, { minMatches: 5, maxAnswers: 5 }]) {
      expect((await chosen({}, { ...wish, ...wanted })).outcome).toMatchObject(refused)
    }
    const rule = 'most' as 'majority'
    expect((await chosen({}, { ...wish, rule })).outcome).toMatchObject({
      code: 'quota-refused',
      message: 'There is no rule most',
    })
    // Enough for a list of nine; the pool has four.
    const { context, callsOf } = await createFakeWorld()
    await expect(infer(context, 'Why?', { model, minMatches: 4 })).rejects.toMatchObject({
      ...refused,
      message:
        'Such a job cannot agree: 5 answers have to match one another, and the job has at most 4',
    })
    expect(callsOf('storeKey')).toEqual([])
  })

  it('are not made when the ICL answers about something else', async () => {
    const { outcome } = await chosen({ preview: { model_id: 'openai:cheaper' } })
    expect(outcome).toMatchObject({
      ...{ code: 'quorum-untrusted', hint: expect.stringContaining('Do not use this ICL') },
    })
  })

  it('are not made of a pool that holds other bytes than its name says, or is not there', async () => {
    const { world } = await chosen()
    const blobs = { download: async () => new TextEncoder().encode('svc-pool-v3') }
    await expect(chooseTerms({ ...world.context, blobs }, wish)).rejects.toMatchObject({
      code: 'pool-snapshot-invalid',
    })
    const { outcome } = await chosen({ preview: { pool_cid: `bafkrei${'a'.repeat(52)}` } })
    expect(outcome).toMatchObject({ code: 'blob-unavailable' })
  })

  it('need a pool with enough nodes for them besides the client, before a key is paid for', async () => {
    const [first, second, third] = pool
    const two = [first!, second!]
    const pools = [
      ['not-enough-nodes', two],
      ['not-enough-serving', [...two, { ...third!, address: clientAddress }]],
      ['not-enough-serving', [...two, { ...third!, models: ['openai:other'] }]],
      ['not-enough-serving', [...two, { ...third!, comparators: ['similar/2' as const] }]],
    ] as const
    for (const [code, few] of pools) {
      const { outcome } = await chosen({ pool: few }, { ...wish, comparator: 'exact' })
      expect(outcome).toMatchObject({ code, retryable: true })
    }
    const { context, callsOf } = await createFakeWorld({ pool: two })
    await expect(infer(context, 'Why?', { model })).rejects.toMatchObject({
      code: 'not-enough-nodes',
    })
    expect(callsOf('storeKey')).toEqual([])
  })

  it('are refused before a key is paid for when they are not as the ICL takes them', async () => {
    const { outcome, world } = await chosen()
    const { terms } = outcome as ChosenTerms
    const halves = {} as EncryptedHalves
    for (const change of [{ stray: 1 }, { quorum: 3.5 }, { needs: { prompt_bytes: -1 } }]) {
      const stored = storePromptKey(world.context, halves, { ...terms, ...change })
      await expect(stored).rejects.toThrow()
    }
    expect(world.callsOf('storeKey')).toEqual([])
  })

  it('name what the prompt needs, and are not made when too few nodes take it', async () => {
    const takes = [{ model_id: model, parts: ['seed' as const] }]
    const other = { models: [model, 'other:m'], takes: [{ model_id: 'other:m', parts: ['stop'] }] }
    const able = pool.map((node) => ({ ...node, takes }))
    const prompt = { ...promptOfText('Why?'), seed: 7 }
    const seeded = await createFakeWorld({ pool: able })
    await infer(seeded.context, prompt, { model })
    expect(seeded.callsOf('drawList')).toMatchObject([
      { input: { terms: { needs: { parts: ['seed'] } } } },
    ])
    const [first] = able
    const few = await createFakeWorld({ pool: [first!, ...pool.slice(1)] })
    await expect(infer(few.context, prompt, { model })).rejects.toMatchObject({
      code: 'prompt-not-supported',
      message: `Not enough nodes take the prompt: of the 4 that serve ${model}, 1 take seed, and a job needs 3`,
      hint: 'Leave it out: no model here takes it.',
    })
    const elsewhere = await createFakeWorld({
      pool: pool.map((node) => ({ ...node, ...other }) as (typeof pool)[number]),
    })
    await expect(
      infer(elsewhere.context, { ...promptOfText('Why?'), stop: ['.'] }, { model }),
    ).rejects.toMatchObject({
      hint: 'Leave it out, or choose a model that takes it: other:m.',
    })
    for (const { callsOf } of [few, elsewhere]) expect(callsOf('storeKey')).toEqual([])
    // What no model has to be asked for is not told.
    const plain = await createFakeWorld()
    await infer(plain.context, 'Why?', { model })
    expect(plain.callsOf('drawList')).toMatchObject([
      { input: { terms: expect.not.objectContaining({ needs: expect.anything() }) } },
    ])
  })

  it('that no nodes can meet say what is served', async () => {
    const served = async (...counts: readonly (readonly [string, number])[]) =>
      (await chosen({ models: counts.map(([model_id, nodes]) => ({ model_id, nodes })) })).outcome
    expect(await served(['a:b', 2], ['c:d', 1], ['e:f', 0], [model, 0])).toMatchObject({
      ...{ code: 'model-unknown', message: `No node serves ${model}` },
      ...{ hint: 'Choose a model that is served: a:b, c:d.', cause: expect.any(ProblemError) },
    })
    expect(await served([model, 1])).toMatchObject({
      ...{ code: 'not-enough-nodes', retryable: true, cause: expect.any(ProblemError) },
      message: `Not enough nodes: 1 node serves ${model} now, and a job needs 3`,
      hint: expect.stringContaining('Wait until more nodes'),
    })
    const tiers = [{ model_id: model, nodes: 4 }]
    const { outcome: lacking, world: lackingWorld } = await chosen(
      { models: tiers },
      { ...wish, minTier: 3 },
    )
    expect(lacking).toMatchObject({
      code: 'not-enough-nodes',
      message: `Not enough nodes: 4 serve ${model}, but fewer than 3 of them have tier 3 or higher and compare by exact`,
      hint: expect.stringContaining('lower tier'),
    })
    const messageOf = async (...counts: readonly (readonly [string, number])[]) =>
      ((await served(...counts)) as Error).message
    expect(await messageOf([model, 2])).toContain(`2 nodes serve ${model}`)
    expect(await messageOf([model, 0])).toContain('0 nodes serve')
    expect(await messageOf()).toContain('0 nodes serve')
    const unserved = new ProblemError('not-enough-serving', 'None')
    const serving = { ...lackingWorld.context.api, previewQuorum: () => Promise.reject(unserved) }
    await expect(
      chooseTerms({ ...lackingWorld.context, api: serving }, wish),
    ).rejects.toMatchObject({ code: 'not-enough-serving', retryable: true, cause: unserved })
    const withdrawn = [...tiers, { model_id: 'c:d', nodes: 0, withdrawn: 2 }]
    const few = await chosen({ models: withdrawn }, { ...wish, model: 'c:d' })
    expect(few.outcome).toMatchObject({ code: 'not-enough-nodes' })
    const { world } = await chosen()
    const limited = new ProblemError('rate-limited', 'Slow')
    const api = { ...world.context.api, previewQuorum: () => Promise.reject(limited) }
    await expect(chooseTerms({ ...world.context, api }, wish)).rejects.toBe(limited)
  })
})
