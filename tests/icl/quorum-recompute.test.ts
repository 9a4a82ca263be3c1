import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { keccak256, stringToHex } from 'viem'
import { afterEach, describe, expect, it } from 'vitest'
import { recomputeQuorum } from '../../icl/start/recompute-quorum.ts'
import { checkDraws, type DrawSources } from '../../lib/check-draws.ts'
import type { Weighted } from '../../lib/draw.ts'
import { readPool } from '../../lib/pool-snapshot.ts'
import type { JobView } from '../../lib/schemas/jobs.ts'
import { aHash, aJobId, anAddress } from '../branded.ts'
import {
  claim,
  commitTo,
  createTestIcl,
  joinNode,
  offersOf,
  origin,
  resultBody,
  submit,
  type TestIcl,
  type TestNode,
  walletOf,
} from './test-icl.ts'

let icl: TestIcl
const folder = mkdtempSync(join(tmpdir(), 'svc-recompute-'))

afterEach(async () => {
  await icl.stop()
})

async function joinNodes(count: number): Promise<TestNode[]> {
  const nodes: TestNode[] = []
  for (let index = 0; index < count; index++) nodes.push(await joinNode(icl, `node ${index}`))
  return nodes
}

/** A job whose leader let its offer lapse, so that a second draw took place. */
async function jobOfTwoDraws() {
  icl = await createTestIcl()
  const nodes = await joinNodes(7)
  const submitted = await submit(icl, { delegate: true })
  const quorum = new Set([submitted.preview.leader, ...submitted.preview.verifiers])
  for (const node of nodes) {
    const isLeader = node.address === submitted.preview.leader
    if (quorum.has(node.address) && !isLeader) await claim(node)
  }
  await icl.clock.advance(25_000)
  const view = await viewOf(submitted)
  return { nodes, submitted, view }
}

const viewOf = ({ jobId, readToken }: { jobId: JobView['jobId']; readToken: string }) =>
  icl.api().getJob({ params: { jobId } }, { readToken })

const sources = (): DrawSources => ({
  chainId: icl.deps.network.chain_id,
  iclKeys: icl.deps.keys.jwks.keys.filter(({ crv }) => crv === 'Ed25519').map(({ x }) => x),
  loadPool: async (root) =>
    (await readPool(root, (cid) => icl.api().getBlob({ params: { cid } }))).nodes,
})

const mistakesOf = async (view: JobView, changes: Partial<DrawSources> = {}) => {
  const { draws, mistakes } = await checkDraws(view, { ...sources(), ...changes })
  return [...draws.flatMap((draw) => draw.mistakes), ...mistakes]
}

const withDraw = (
  view: JobView,
  index: number,
  change: Partial<JobView['draws'][number]>,
): JobView => ({
  ...view,
  draws: view.draws.map((draw, at) => (at === index ? { ...draw, ...change } : draw)),
})

describe('the draws of a job', () => {
  it('are derived again from their seeds and pools: the preview and the one that filled a seat', async () => {
    const { view } = await jobOfTwoDraws()
    expect(view.draws).toHaveLength(2)
    const { draws, mistakes } = await checkDraws(view, sources())
    expect(draws.map(({ mistakes: wrong }) => wrong)).toEqual([[], []])
    expect(mistakes).toEqual([])
    expect(draws.map(({ nodes }) => nodes)).toEqual([7, 4])
    expect(draws.map(({ message }) => message?.count)).toEqual([3, 1])
    expect(draws[0]?.recomputed).toEqual(view.draws[0]?.chosen)
  })

  it('are refused with one weight changed, one node more or one less', async () => {
    const { view } = await jobOfTwoDraws()
    const { loadPool } = sources()
    const changes: ((nodes: readonly Weighted[]) => readonly Weighted[])[] = [
      (nodes) => nodes.map((node, index) => (index === 0 ? { ...node, weight: 99 } : node)),
      (nodes) => nodes.slice(1),
      (nodes) => [...nodes, { address: anAddress(`0x${'f'.repeat(40)}`), weight: 1 }],
    ]
    for (const change of changes) {
      const found = await mistakesOf(view, {
        loadPool: async (cid) => change(await loadPool(cid)),
      })
      expect(found).toContain('the pool has another digest')
    }
  })

  it('are refused with any byte of a message or signature changed', async () => {
    const { view } = await jobOfTwoDraws()
    const { message, signature } = view.draws[1]!
    let refused = 0
    for (let at = 0; at < message.length; at++) {
      const other = message[at] === '0' ? '1' : '0'
      const changed = `${message.slice(0, at)}${other}${message.slice(at + 1)}`
      const found = await mistakesOf(withDraw(view, 1, { message: changed }))
      if (found.includes('no key of the ICL signed its message')) refused += 1
    }
    expect(refused).toBe(message.length)
    for (let at = 0; at < signature.length; at++) {
      const other = signature[at] === 'A' ? 'B' : 'A'
      const changed = `${signature.slice(0, at)}${other}${signature.slice(at + 1)}`
      const found = await mistakesOf(withDraw(view, 1, { signature: changed }))
      expect(found).toContain('no key of the ICL signed its message')
    }
  }, 60_000)

  it('are refused with another node, another order, another digest, pool or key', async () => {
    const { view } = await jobOfTwoDraws()
    const [first] = view.draws
    const { chosen, message, signature } = first!
    const stranger = `0x${'f'.repeat(40)}` as const
    const wrong: [JobView, RegExp][] = [
      [
        withDraw(view, 0, { chosen: [anAddress(stranger), ...chosen.slice(1)] }),
        /seed and pool give 0x/,
      ],
      [withDraw(view, 0, { chosen: chosen.toReversed() }), /seed and pool give 0x/],
      [withDraw(view, 0, { chosen: chosen.slice(1) }), /seed and pool give 0x/],
      [withDraw(view, 0, { pool_digest: aHash(`0x${'0'.repeat(64)}`) }), /another digest/],
      [withDraw(view, 0, { pool_cid: undefined }), /no snapshot of its pool/],
      [withDraw(view, 0, { pool_cid: `bafkrei${'a'.repeat(52)}` }), /No blob/],
      [withDraw(view, 1, { message, signature }), /it is for the job null/],
      [{ ...view, client: anAddress(stranger) }, /it is for the client 0x/],
      [{ ...view, model_id: 'openai:another' }, /it is for the model openai:test/],
      [{ ...view, min_tier: 1 }, /it is for tier 0/],
      [{ ...view, jobId: aJobId(`0x${'1'.repeat(64)}`) }, /it is for the job 0x/],
      [{ ...view, created_at: view.created_at + 1_260 }, /its epoch \d+ is not one of the job/],
      [{ ...view, draws: view.draws.slice(0, 1) }, /no draw chose 0x/],
      [
        { ...view, quorum: view.quorum.filter(({ node }) => node !== view.draws[1]!.chosen[0]) },
        /was drawn, and never had a seat/,
      ],
      [{ ...view, draws: [] }, /the job has no draws/],
    ]
    for (const [changed, mistake] of wrong) {
      expect((await mistakesOf(changed)).join('\n')).toMatch(mistake)
    }
    expect(await mistakesOf(view, { iclKeys: [] })).toContain(
      'no key of the ICL signed its message',
    )
    expect(await mistakesOf(view, { chainId: 1 })).toContain('it is for chain 31337')
    expect(await mistakesOf(view)).toEqual([])
  })

  it('may be of a neighbouring epoch only when the clocks can have differed by so much', async () => {
    const { view } = await jobOfTwoDraws()
    const [first, second] = view.draws.map(({ message }) => JSON.parse(message).epoch as number)
    const datedAt = (created_at: number) => ({ ...view, created_at, deadline: created_at + 600 })
    const wrongAt = async (created_at: number) =>
      (await checkDraws(datedAt(created_at), sources())).draws.map(({ mistakes }) =>
        mistakes.some((mistake) => mistake.includes('is not one of the job')),
      )
    const startOf = (epoch: number) => epoch * 600
    expect(second).toBe(first)
    // The preview's clock was ahead of the job's, or it was given ten minutes before.
    const [begin, end] = [startOf(first!), startOf(first! + 1)]
    expect((await wrongAt(begin))[0]).toBe(false)
    expect((await wrongAt(begin - 30))[0]).toBe(false)
    expect((await wrongAt(begin - 31))[0]).toBe(true)
    expect((await wrongAt(end + 600 + 29))[0]).toBe(false)
    expect((await wrongAt(end + 600 + 30))[0]).toBe(true)
    // The clock of who drew later was behind the job's, or ahead of its deadline.
    expect((await wrongAt(end + 29))[1]).toBe(false)
    expect((await wrongAt(end + 30))[1]).toBe(true)
    expect((await wrongAt(begin - 600 - 30))[1]).toBe(false)
    expect((await wrongAt(begin - 600 - 31))[1]).toBe(true)
  })

  it('hold after the job is accepted, and their pools are kept as long as its blobs', async () => {
    icl = await createTestIcl()
    const nodes = await joinNodes(3)
    const submitted = await submit(icl)
    const byAddress = new Map(nodes.map((node) => [node.address, node]))
    const leader = byAddress.get(submitted.preview.leader)!
    const claimed = await claim(leader)
    const reveals = []
    for (const address of submitted.preview.verifiers) {
      const node = byAddress.get(address)!
      reveals.push({ node, reveal: await commitTo(node, await claim(node), 'yes') })
    }
    await leader.api.postResult({ body: await resultBody(icl, leader, claimed, 'yes') })
    for (const { node, reveal } of reveals) {
      await node.api.postVerdict({ body: await reveal() })
    }
    expect(await offersOf(leader)).toEqual([])
    const pruneAt = icl.clock.now() + 29 * 86_400_000
    await icl.deps.store.prune({ now: pruneAt, settledBefore: 0, limit: 1_000 })
    const view = await viewOf(submitted)
    expect(view.status).toBe('accepted')
    expect(await mistakesOf(view)).toEqual([])
  })
})

describe('npm run quorum:recompute', () => {
  async function run(args: readonly string[], environment: Record<string, string> = {}) {
    const printed: string[] = []
    const exitCode = await recomputeQuorum(
      args,
      { environment, print: (line) => printed.push(line), complain: (line) => printed.push(line) },
      icl.fetch,
    )
    return { exitCode, text: printed.join('\n') }
  }

  it('prints each draw and how many were recomputed, with a token or the client key', async () => {
    const { submitted } = await jobOfTwoDraws()
    const { jobId, readToken } = submitted
    const asked = await run([jobId, '--icl', origin, '--read-token', readToken])
    expect(asked.text).toContain('2 of 2 draws recomputed')
    expect(asked.exitCode).toBe(0)
    const inEnvironment = { SVC_READ_TOKEN: readToken, SVC_ICL_ENDPOINT: origin }
    expect((await run([jobId], inEnvironment)).exitCode).toBe(0)
    const json = await run([jobId, '--json'], inEnvironment)
    expect(JSON.parse(json.text)).toMatchObject({ recomputed: true, draws: [{}, {}] })
    const other = await run([jobId, '--client', `0x${'1'.repeat(40)}`], inEnvironment)
    expect(other.exitCode).toBe(1)
    expect(other.text).toContain(`job: it is a job of ${walletOf('client').address}`)
  })

  it('ends with 1 and says which draw, when the ICL shows another quorum than it drew', async () => {
    const { submitted } = await jobOfTwoDraws()
    const found = await icl.deps.store.findJob(submitted.jobId)
    const { document: job, version } = found!
    const [first, second] = job.draws
    const draws = [first!, { ...second!, chosen: [first!.chosen[0]!] }]
    await icl.deps.store.save({ kind: 'job', job: { ...job, draws }, base: version })
    const asked = await run([submitted.jobId, '--icl', origin, '--read-token', submitted.readToken])
    expect(asked.exitCode).toBe(1)
    expect(asked.text).toContain('1 of 2 draws recomputed')
    expect(asked.text).toMatch(/draw 1: seed and pool give 0x/)
  })

  it('says what it was not told, and keeps a wrong token to itself', async () => {
    icl = await createTestIcl()
    const job = `0x${'1'.repeat(64)}`
    expect(await run([])).toMatchObject({ exitCode: 2, text: expect.stringContaining('one job') })
    expect(await run([job])).toMatchObject({ exitCode: 2, text: expect.stringContaining('--icl') })
    expect(await run([job, '--icl', origin])).toMatchObject({ exitCode: 2 })
    const wrong = await run([job, '--icl', origin, '--read-token', 'secret'])
    expect(wrong.exitCode).toBe(2)
    expect(wrong.text).not.toContain('secret')
    const unknown = await run([job, '--icl', origin, '--read-token', 'A'.repeat(43)])
    expect(unknown.exitCode).toBe(1)
    const dashed = await run([job, '--icl', origin, '--read-token', `-${'A'.repeat(42)}`])
    expect(dashed).toEqual(unknown)
    const missing = await run([job, '--icl', origin, '--read-token', '--json'])
    expect(missing).toMatchObject({ exitCode: 2, text: expect.stringContaining('--read-token') })
    expect((await run(['--help'])).text).toContain('Usage: npm run quorum:recompute')
  })

  it('reads a job with the key of its client', async () => {
    const { submitted } = await jobOfTwoDraws()
    const file = join(folder, 'key')
    writeFileSync(file, `${keccak256(stringToHex('client'))}\n`)
    const asked = await run([submitted.jobId, '--icl', origin, '--client-key-file', file])
    rmSync(folder, { recursive: true, force: true })
    expect(asked.text).toContain('2 of 2 draws recomputed')
  })
})
