import { describe, expect, it } from 'vitest'
import { toBase64Url } from '../../lib/digest.ts'
import { signed } from '../../lib/statements.ts'
import { codeOf } from '../code-of.ts'
import { icl, startIcl } from './fresh-icl.ts'
import { check, claim, commitTo, deliver, givenIn, reveal } from './node-steps.ts'
import { checkAll, delivererOf } from './run-job.ts'
import { submit } from './test-client.ts'
import { joinNodes, origin, type TestNode } from './test-icl.ts'

/** A job whose quorum has claimed, in a pool of five. */
async function begin() {
  await startIcl()
  const nodes = await joinNodes(icl, 5)
  const job = await submit(icl)
  const { jobId } = job
  const members = job.list.body.list.map((own) => nodes.find(({ address }) => address === own)!)
  const quorum = members.slice(0, 3)
  const works = new Map<TestNode, Awaited<ReturnType<typeof claim>>>()
  for (const node of quorum) works.set(node, await claim(node))
  return {
    ...{ job, jobId, members, quorum },
    answerAll: async (...answers: readonly [string, string, string]) => {
      for (const [index, node] of quorum.entries()) {
        await commitTo(node, works.get(node)!, answers[index]!)
      }
      for (const node of quorum) await reveal(node, jobId)
    },
  }
}

type World = Awaited<ReturnType<typeof begin>>

/** What its client and strangers are told of a job. */
async function told({ job, jobId }: World) {
  const path = { params: { jobId } }
  const token = { readToken: job.readToken }
  const get = async (url: string) => (await icl.fetch(new Request(`${origin}${url}`))).json()
  const console = await get('/v1/console/jobs')
  const reader = (await job.api.followJob(path, token)).body!.getReader()
  const { value } = await icl.clock.until(reader.read())
  await reader.cancel()
  return {
    view: await job.api.getJob(path, token),
    record: await job.api.getRecord(path, token),
    list: await job.api.listJobs({ query: {} }),
    console,
    detail: await get(`/v1/console/jobs/${console.jobs[0].ref}`),
    events: new TextDecoder().decode(value),
  }
}

/** What may happen from the claims on, up to just before the job settles. */
const courses: Readonly<Record<string, (world: World) => Promise<unknown>>> = {
  'all have committed': async ({ answerAll }) => answerAll('a', 'b', 'c'),
  'an answer was delivered and checked': async ({ jobId, quorum, answerAll }) => {
    await answerAll('a', 'a', 'a')
    const deliverer = (await delivererOf(quorum, jobId))!
    await deliver(icl, deliverer, jobId)
    await check(quorum.find((node) => node !== deliverer)!, jobId)
  },
  'a delivery was refused, and the next one is there': async ({ jobId, quorum, answerAll }) => {
    await answerAll('a', 'a', 'a')
    const refused = { verdict: 'no-match', reason: 'output-mismatch' } as const
    const deliverer = (await delivererOf(quorum, jobId))!
    await deliver(icl, deliverer, jobId)
    for (const node of quorum) if (node !== deliverer) await check(node, jobId, refused)
    await deliver(icl, (await delivererOf(quorum, jobId))!, jobId)
  },
  'another node has joined, because the answers differ': async ({ jobId, members, answerAll }) => {
    await answerAll('a', 'b', 'a')
    await icl.clock.advance(2_000)
    await commitTo(members[3]!, await claim(members[3]!), 'b')
    await reveal(members[3]!, jobId)
  },
  'two have joined': async ({ members, answerAll }) => {
    await answerAll('a', 'b', 'c')
    await icl.clock.advance(2_000)
    for (const node of members.slice(3)) await commitTo(node, await claim(node), 'a')
  },
  'nodes have contradicted themselves and the evidence': async ({ jobId, quorum, answerAll }) => {
    await answerAll('a', 'a', 'a')
    const deliverer = (await delivererOf(quorum, jobId))!
    await deliver(icl, deliverer, jobId)
    const liar = quorum.find((node) => node !== deliverer)!
    await check(liar, jobId, { verdict: 'no-match', reason: 'different-answer' })
    const { signature: _, ...answer } = givenIn(liar, jobId).answer
    const salt = toBase64Url(new Uint8Array(32))
    const body = await signed({ ...answer, salt }, liar.key)
    expect(await codeOf(liar.api.revealAnswer({ body }))).toBe('already-answered')
  },
}

describe('from the claims of its quorum on until it has settled, nobody but its nodes sees anything of a job', () => {
  for (const [name, happens] of Object.entries(courses)) {
    it(`when ${name}`, async () => {
      const world = await begin()
      const before = await told(world)
      expect(before.view.quorum.map(({ status }) => status)).toEqual(Array(3).fill('claimed'))
      const { version } = (await icl.deps.store.findJob(world.jobId))!
      await happens(world)
      const { document, version: now } = (await icl.deps.store.findJob(world.jobId))!
      expect([document.phase, now]).toEqual(['running', expect.any(Number)])
      expect(now).toBeGreaterThan(version + 5)
      expect(await told(world)).toEqual(before)
    })
  }

  it('and all of it afterwards', async () => {
    const world = await begin()
    const { job, jobId, quorum } = world
    await courses['nodes have contradicted themselves and the evidence']!(world)
    await checkAll(quorum, jobId)
    const { view, record, detail } = await told(world)
    expect(view).toMatchObject({ status: 'accepted', agreement: { answers: 3 } })
    expect(view.output_cid).toMatch(/^bafkrei/)
    expect(record.faults.map(({ kind }) => kind).toSorted()).toEqual([
      'equivocated',
      'verdict-refuted',
    ])
    expect(record.deliveries).toMatchObject([{ outcome: 'settled' }])
    expect(detail.job).toMatchObject({ jobId, answers: 3, agreed: 3 })
    expect((await job.api.listJobs({ query: {} })).jobs[0]).toMatchObject({ status: 'accepted' })
  })
})
