import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { refOf } from '../../../icl/console/public-job.ts'
import { ConsoleJobs } from '../../../lib/schemas/console.ts'
import { aJobId } from '../../branded.ts'
import { check, deliver, givenIn } from '../node-steps.ts'
import { answerJob, checkAll, delivererOf } from '../run-job.ts'
import { submit } from '../test-client.ts'
import { createTestIcl, joinNodes, origin, type TestIcl, type TestNode } from '../test-icl.ts'

const promptCid = `bafkreia${'z'.repeat(50)}a`
const outputCid = `bafkrei${'b'.repeat(51)}a`

async function start() {
  const icl = await createTestIcl()
  const nodes = await joinNodes(icl, 5)
  return { icl, nodes }
}

const get = async (icl: TestIcl, path: string): Promise<string> =>
  (await icl.fetch(new Request(`${origin}${path}`))).text()

/** Everything that the console answers about jobs, as text; the stream until it has told of a change. */
async function everything<T>(icl: TestIcl, change: () => Promise<T>) {
  const stream = await icl.fetch(new Request(`${origin}/v1/console/events`))
  const reader = stream.body!.getReader()
  const read = async () => new TextDecoder().decode((await icl.clock.until(reader.read())).value)
  let text = ''
  while (!text.includes('"type":"overview"')) text += await read()
  await icl.clock.advance(1_000)
  const changed = await change()
  while (!text.includes('"type":"jobs"')) text += await read()
  await reader.cancel()
  const list = await get(icl, '/v1/console/jobs')
  const { jobs } = z.decode(ConsoleJobs, JSON.parse(list))
  const details = await Promise.all(jobs.map(({ ref }) => get(icl, `/v1/console/jobs/${ref}`)))
  const whole = [text, list, ...details, await get(icl, '/v1/console/overview')].join('\n')
  return { text: whole, changed }
}

type Submitted = Awaited<ReturnType<typeof submit>>
const ofTheClient = ({
  client,
  readToken,
  body,
  terms,
}: Submitted): Readonly<Record<string, string>> => ({
  client: client.address,
  'read token': readToken,
  prompt: promptCid,
  salt: terms.salt,
  handle: String(body.kpHighHandle),
  'handle in hex': body.kpLowHandle.toString(16),
})

/** The names of those that stand in the text. */
const found = (text: string, planted: Readonly<Record<string, string>>): readonly string[] =>
  Object.entries(planted).flatMap(([name, value]) =>
    text.toLowerCase().includes(value.toLowerCase()) ? [name] : [],
  )

describe('the console', () => {
  it('shows of a running job neither whose it is, nor its id, nor who works on it, nor what they found', async () => {
    const { icl, nodes } = await start()
    const run = async () => {
      const answered = await answerJob(icl, nodes, ['yes', 'no', 'yes', 'yes'], { promptCid })
      const { jobId, seated } = answered
      await deliver(icl, (await delivererOf(seated, jobId))!, jobId)
      await check(seated[1]!, jobId)
      return answered
    }
    const { text, changed } = await everything(icl, run)
    const { job, jobId, seated } = changed
    const [one, two, three, four] = seated as [TestNode, TestNode, TestNode, TestNode]
    const { evidence } = givenIn(one, jobId).answer
    expect(text).toContain('"type":"claimed"')
    expect(text).toContain('"status":"running"')
    expect(text).toContain('"list":{"members":5,"rule":"three","passed":{}}')
    const planted = {
      ...ofTheClient(job),
      'job id': job.jobId.slice(2),
      output: outputCid,
      'node 1': one.address,
      'node 2': two.address,
      'node 3': three.address,
      'node that joined': four.address,
      'not seated': nodes.find((node) => !seated.includes(node))!.address,
      evidence: evidence.comparator === 'exact' ? evidence.digest : '',
      verdict: 'no-match',
      why: 'different-answer',
      'agreement found': '"agreed"',
      'a delivery': '"delivered"',
    }
    expect(found(text, planted)).toEqual([])
    expect(text).toContain(await refOf(icl.deps.keys, job.jobId))
    // The search finds what is there: the ICL knows all of it.
    const view = await icl.deps.store.findJob(job.jobId)
    const whole = JSON.stringify(view, (_, value) =>
      typeof value === 'bigint' ? `${value} ${value.toString(16)}` : value,
    )
    expect(found(whole, planted).length).toBeGreaterThan(12)
    await icl.stop()
  })

  it('shows of a settled job who did what and why, and nothing of its client', async () => {
    const { icl, nodes } = await start()
    const answered = await answerJob(icl, nodes, ['yes', 'no', 'yes', 'yes'], { promptCid })
    const { job, jobId, seated } = answered
    const deliverer = (await delivererOf(seated, jobId))!
    await deliver(icl, deliverer, jobId)
    const { text } = await everything(icl, () => checkAll(seated, jobId))
    expect(found(text, { ...ofTheClient(job), output: outputCid })).toEqual([])
    expect(text).toContain(deliverer.address)
    expect(text).toContain(job.jobId)
    const detail = JSON.parse(await get(icl, `/v1/console/jobs/${job.jobId}`))
    const types = detail.timeline.map(({ type }: { type: string }) => type)
    expect(types).toEqual(
      expect.arrayContaining(['claimed', 'committed', 'revealed', 'agreed', 'delivered']),
    )
    expect(detail.assignments.map(({ verdict }: { verdict?: string }) => verdict)).toEqual(
      expect.arrayContaining(['match', 'no-match']),
    )
    expect(detail.agreement).toMatchObject({ needed: 3, deliverer: deliverer.address })
    expect(detail.deliveries).toEqual([{ node: deliverer.address, outcome: 'settled' }])
    await icl.stop()
  })

  it('gives on its pages no cursor in which an id can be read', async () => {
    const { icl } = await start()
    const { document } = (await icl.deps.store.findJob((await submit(icl)).jobId))!
    for (let index = 0; index < 120; index++) {
      const id = `0x${index.toString(16).padStart(64, 'e')}` as const
      await icl.deps.store.save({
        kind: 'job',
        job: { ...document, id: aJobId(id), outbox: [] },
        base: 0,
      })
    }
    const first = JSON.parse(await get(icl, '/v1/console/jobs'))
    expect(first.jobs).toHaveLength(100)
    const parts = String(first.next_cursor).split('.')
    const read = parts.map((part) => atob(part.replaceAll('-', '+').replaceAll('_', '/'))).join()
    expect(read).not.toMatch(/eeee/)
    const next = `/v1/console/jobs?cursor=${first.next_cursor}`
    const second = JSON.parse(await get(icl, next))
    const refs = [...first.jobs, ...second.jobs].map(({ ref }) => ref)
    expect(new Set(refs).size).toBe(121)
    expect(second.next_cursor).toBeNull()
    expect(await get(icl, '/v1/console/jobs?cursor=abc')).toContain('invalid-query')
    await icl.stop()
  })
})
