import { describe, expect, it } from 'vitest'
import { canonicalJson } from '../../lib/canonical-json.ts'
import { checkDraws, clockSkewSeconds, epochSeconds } from '../../lib/check-draws.ts'
import type { Address } from '../../lib/codecs.ts'
import { drawNodes, type Weighted } from '../../lib/draw.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { JobView } from '../../lib/schemas/jobs.ts'
import { signingKeyFromSeed } from '../../lib/session-key.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { aHash, aJobId } from '../branded.ts'
import { nodeAddress } from '../icl/rules/sample-job.ts'

const key = await signingKeyFromSeed(new Uint8Array(32).fill(1))
const otherKey = await signingKeyFromSeed(new Uint8Array(32).fill(2))
const chainId = 31_337
const client = nodeAddress('9')
const jobId = aJobId(`0x${'7'.repeat(64)}`)
const model_id = 'openai:test'
const epoch = 3_000_000
const created_at = epoch * epochSeconds + 300
const deadline = created_at + epochSeconds
const nodes: readonly Weighted[] = ['1', '2', '3', '4', '5', '6'].map((digit, index) => ({
  address: nodeAddress(digit),
  weight: 100 + index,
}))
const cidOfPool = `bafkrei${'a'.repeat(52)}`

type Message = Record<string, unknown>
type DrawnJob = Parameters<typeof checkDraws>[0]

const messageAt = (index: number, changes: Message = {}): Message => ({
  draw: 'svc-draw-v1',
  chain_id: chainId,
  epoch,
  block_number: '12',
  block_hash: aHash(`0x${'b'.repeat(64)}`),
  client,
  jobId: index === 0 ? null : jobId,
  ordinal: index === 0 ? 5 : index,
  model_id,
  min_tier: 0,
  count: index === 0 ? 3 : 1,
  ...changes,
})

const spelled = (value: unknown) => new TextDecoder().decode(canonicalJson(value))

/** A draw from the pool without `taken`, signed by the ICL. */
async function drawAt(
  index: number,
  taken: readonly Address[],
  changes: Message = {},
  text = spelled(messageAt(index, changes)),
): Promise<JobView['draws'][number]> {
  const signature = await key.sign(new TextEncoder().encode(text))
  const pool = nodes
    .filter(({ address }) => !taken.includes(address))
    .map((node) => ({ ...node, busy: false }))
  const { count = index === 0 ? 3 : 1 } = changes as { count?: number }
  const { poolDigest, chosen } = drawNodes({ message: text, signature }, pool, count)
  return {
    ...{ message: text, signature, pool_digest: poolDigest, pool_cid: cidOfPool },
    chosen: [...chosen],
  }
}

type Assignment = DrawnJob['quorum'][number]
const assignmentOf = (node: Address, seat: number): Assignment => ({
  ...{ seat, round: 0, fence: 1, node, status: 'offered' },
  role: seat === 0 ? 'leader' : 'verifier',
})

/** A job of two draws: three nodes, then another on the last seat. */
async function drawnJob(first: Message = {}, second: Message = {}): Promise<DrawnJob> {
  const one = await drawAt(0, [client], first)
  const two = await drawAt(1, [client, ...one.chosen], second)
  const quorum = [
    ...one.chosen.map((node, seat) => assignmentOf(node, seat)),
    ...two.chosen.map((node) => assignmentOf(node, 2)),
  ]
  const job = { jobId, client, model_id, min_tier: 0, created_at, deadline, quorum }
  return { ...job, draws: [one, two] }
}

const sources = {
  chainId,
  iclKeys: [otherKey.publicKey, key.publicKey],
  loadPool: async () => nodes,
}

const mistakesOf = async (job: DrawnJob, changes: Partial<typeof sources> = {}) => {
  const checked = await checkDraws(job, { ...sources, ...changes })
  return [...checked.draws.map(({ mistakes }) => mistakes), checked.mistakes]
}

describe('the draws of a job', () => {
  it('are derived again from what was signed and from the pools', async () => {
    const job = await drawnJob()
    const { draws, mistakes } = await checkDraws(job, sources)
    expect(mistakes).toEqual([])
    expect(draws).toEqual(
      job.draws.map((draw, index) => ({
        ...{ draw, message: messageAt(index), nodes: index === 0 ? 6 : 3 },
        ...{ recomputed: draw.chosen, mistakes: [] },
      })),
    )
  })

  it.each<[string, Message]>([
    ['it is for chain 1', { chain_id: 1 }],
    [`it is for the client ${nodeAddress('8')}`, { client: nodeAddress('8') }],
    ['it is for the client null', { client: null }],
    ['it is for the job null', { jobId: null }],
    ['it is draw 2 of its job, not 1', { ordinal: 2 }],
    ['it is for the model openai:other', { model_id: 'openai:other' }],
    ['it is for tier 1', { min_tier: 1 }],
    [`its epoch ${epoch + 9} is not one of the job`, { epoch: epoch + 9 }],
  ])('do not hold when the ICL signed another thing: %s', async (mistake, change) => {
    expect(await mistakesOf(await drawnJob({}, change))).toEqual([[], [mistake], []])
  })

  it('before the job name no job, whatever number they have', async () => {
    expect(await mistakesOf(await drawnJob({ jobId }))).toEqual([
      [`it is for the job ${jobId}`],
      [],
      [],
    ])
    expect(await mistakesOf(await drawnJob({ ordinal: 77 }))).toEqual([[], [], []])
  })

  it.each([
    ['another kind', spelled(messageAt(1, { draw: 'svc-draw-v2' }))],
    ['a field more', spelled(messageAt(1, { more: 1 }))],
    ['a field less', spelled({ ...messageAt(1), epoch: undefined })],
    ['another spelling', JSON.stringify(messageAt(1), null, 1)],
    ['no JSON', 'svc-draw-v1'],
    ['no nodes', spelled(messageAt(1, { count: 0 }))],
    ['an ordinal below zero', spelled(messageAt(1, { ordinal: -1 }))],
    ['a block number that is written otherwise', spelled(messageAt(1, { block_number: '012' }))],
    ['a block number with more after it', spelled(messageAt(1, { block_number: '12x' }))],
    ['a block number with more before it', spelled(messageAt(1, { block_number: 'x12' }))],
    ['a block number that is too long', spelled(messageAt(1, { block_number: '1'.repeat(21) }))],
  ])('with a message that is none are not drawn again: %s', async (_, text) => {
    const job = await drawnJob()
    const [first] = job.draws
    const taken = [client, ...first!.chosen]
    const changed = { ...job, draws: [first!, await drawAt(1, taken, {}, text)] }
    const { draws } = await checkDraws(changed, sources)
    expect(draws[1]).toEqual({
      ...{ draw: changed.draws[1], message: undefined, nodes: undefined, recomputed: undefined },
      mistakes: ['its message is not one of a draw'],
    })
    const unknown = await checkDraws(changed, { ...sources, iclKeys: [] })
    expect(unknown.draws[1]?.mistakes).toEqual([
      'no key of the ICL signed its message',
      'its message is not one of a draw',
    ])
  })

  it('may name block 0, or one of 20 digits', async () => {
    for (const block_number of ['0', '1'.repeat(20)]) {
      expect(await mistakesOf(await drawnJob({}, { block_number }))).toEqual([[], [], []])
    }
  })

  it('are signed by a key of the ICL, in the one spelling of the signature', async () => {
    const job = await drawnJob()
    const unsigned = ['no key of the ICL signed its message']
    expect(await mistakesOf(job, { iclKeys: [otherKey.publicKey] })).toEqual([
      ...[unsigned, unsigned],
      [],
    ])
    const [first, second] = job.draws
    // Decodes to the same bytes, but draws others.
    const last = first!.signature.at(-1)!
    const respelled = first!.signature.slice(0, -1) + { A: 'B', Q: 'R', g: 'h', w: 'x' }[last]
    const changed = { ...job, draws: [{ ...first!, signature: respelled }, second!] }
    expect((await mistakesOf(changed))[0]).toContain(unsigned[0])
  })

  it('without a snapshot, or with one that cannot be read, are not drawn again', async () => {
    const job = await drawnJob()
    const [first, second] = job.draws
    const { pool_cid: _, ...bare } = first!
    const without = { ...job, draws: [bare, second!] }
    const { draws } = await checkDraws(without, sources)
    expect(draws[0]).toMatchObject({
      ...{ message: messageAt(0), nodes: undefined, recomputed: undefined },
      mistakes: ['no snapshot of its pool was kept'],
    })
    const failing = (error: unknown) =>
      mistakesOf(job, { loadPool: () => Promise.reject(error) }).then(([found]) => found)
    expect(await failing(new Error('it is gone'))).toEqual(['it is gone'])
    expect(await failing('gone')).toEqual(['gone'])
    expect(await failing(new ProblemError('blob-not-found', 'No blob'))).toEqual(['No blob'])
  })

  it('are not judged while nobody answers', async () => {
    const job = await drawnJob()
    const away = new SvcError('icl-unreachable', 'Away', { hint: '', retryable: true })
    for (const error of [away, new ProblemError('rate-limited', 'Later')]) {
      const call = checkDraws(job, { ...sources, loadPool: () => Promise.reject(error) })
      await expect(call).rejects.toBe(error)
    }
  })

  it('do not hold with another digest, order or choice, and say whom the seed gives', async () => {
    const job = await drawnJob()
    const [first, second] = job.draws
    const withFirst = async (change: Partial<JobView['draws'][number]>) =>
      (await mistakesOf({ ...job, draws: [{ ...first!, ...change }, second!] }))[0]
    expect(await withFirst({ pool_digest: aHash(`0x${'0'.repeat(64)}`) })).toEqual([
      'the pool has another digest',
    ])
    const given = `seed and pool give ${first!.chosen.join(', ')}`
    expect(await withFirst({ chosen: first!.chosen.toReversed() })).toEqual([given])
    const nobody = await mistakesOf(job, { loadPool: async () => [] })
    expect(nobody[0]).toEqual(['the pool has another digest', 'seed and pool give nobody'])
  })

  it('leave out the client and all who had a part before', async () => {
    const job = await drawnJob()
    const withClient = [...nodes, { address: client, weight: 1_000 }]
    expect(await mistakesOf(job, { loadPool: async () => withClient })).toEqual([[], [], []])
  })

  it('are of an epoch in which the job can have been previewed or have lasted', async () => {
    const wrongAt = async (index: number, created: number, until = deadline) => {
      const job = { ...(await drawnJob()), created_at: created, deadline: until }
      return (await mistakesOf(job))[index]!.length > 0
    }
    const [begin, end] = [epoch * epochSeconds, (epoch + 1) * epochSeconds]
    const skew = clockSkewSeconds
    expect(await wrongAt(0, begin - skew)).toBe(false)
    expect(await wrongAt(0, begin - skew - 1)).toBe(true)
    expect(await wrongAt(0, end + epochSeconds + skew - 1)).toBe(false)
    expect(await wrongAt(0, end + epochSeconds + skew)).toBe(true)
    expect(await wrongAt(1, end + skew - 1)).toBe(false)
    expect(await wrongAt(1, end + skew)).toBe(true)
    expect(await wrongAt(1, begin - 900, begin - skew)).toBe(false)
    expect(await wrongAt(1, begin - 900, begin - skew - 1)).toBe(true)
  })
})

describe('the quorum of a job', () => {
  it('is who was drawn, on the seats that they were drawn for', async () => {
    const job = await drawnJob()
    const [leader, one, two, later] = job.quorum
    const mistakes = async (quorum: readonly Assignment[]) =>
      (await checkDraws({ ...job, quorum: [...quorum] }, sources)).mistakes
    const stranger = assignmentOf(nodeAddress('f'), 1)
    expect(await mistakes([...job.quorum, stranger])).toEqual([
      `no draw chose ${stranger.node}, which has seat 1`,
    ])
    expect(await mistakes([leader!, one!, two!])).toEqual([
      `${later!.node} was drawn, and never had a seat`,
    ])
    const swapped = [{ ...leader!, seat: 1 }, { ...one!, seat: 0 }, two!, later!]
    expect(await mistakes(swapped)).toEqual(['the first draw was not seated as drawn'])
    expect(await mistakes([one!, two!, later!])).toEqual([
      `${leader!.node} was drawn, and never had a seat`,
      'the first draw was not seated as drawn',
    ])
    expect((await checkDraws({ ...job, draws: [] }, sources)).mistakes).toEqual([
      'the job has no draws',
    ])
  })
})
