import { describe, expect, it } from 'vitest'
import { ProblemError } from '../../lib/problem.ts'
import { receiptHash, verifyReceipt } from '../../lib/receipt.ts'
import { codeOf } from '../code-of.ts'
import { freshIcl, icl, nodeAt, nodes } from './fresh-icl.ts'
import { claim, commitTo, offersOf, ownAssignment, reveal } from './node-steps.ts'
import { expire, runJob } from './run-job.ts'
import { submit } from './test-client.ts'
import { joinNode, modelId, type TestNode, walletOf } from './test-icl.ts'

freshIcl(3)

/** Runs a job with the given answers by seat, up to its place on chain. */
async function run(answers: readonly [string, string, string]) {
  const { view, ...ran } = await runJob(icl, nodes, answers)
  await icl.clock.advance(1_500)
  return { ...ran, view: await view() }
}

it('a job from submission to chain is accepted, receipted and committed when the quorum agrees', async () => {
  const { job, deliverer, view } = await run(['yes', 'yes', 'yes'])
  expect([view.status, view.reason]).toEqual(['accepted', 'quorum-agreed'])
  expect(view.quorum.filter(({ verdict }) => verdict === 'match')).toHaveLength(2)
  const receipt = await job.api.getReceipt(
    { params: { jobId: job.jobId } },
    { readToken: job.readToken },
  )
  const { keys } = await icl.api().getJwks()
  await verifyReceipt(receipt, { iclKeys: keys.map(({ x }) => x) })
  expect(await receiptHash(receipt)).toBe(view.receipt_hash!)
  const keyBlock = receipt.list.block.number
  expect(icl.chain.committed).toEqual([
    { jobId: job.jobId, receiptHash: view.receipt_hash, keyBlock },
  ])
  expect(view.commit_tx).toMatch(/^0x/)
  const record = await icl.api().getNode({ params: { address: deliverer!.address } })
  expect(record.metrics).toMatchObject({ tasks_completed: 1, tasks_accepted: 1 })
  expect(record.metrics.reputation_score).toBeGreaterThan(100)
})

describe('access', () => {
  it('a job waits until its client has committed to the list, and continues once it has', async () => {
    const job = await submit(icl, { commit: false })
    const view = () =>
      job.api.getJob({ params: { jobId: job.jobId } }, { readToken: job.readToken })
    expect(await view()).toMatchObject({ status: 'open', reason: 'awaiting-grant' })
    const leader = nodeAt(job.leader)
    expect(await offersOf(leader)).toEqual([])
    job.commit()
    await icl.clock.advance(1_500)
    expect(await offersOf(leader)).toHaveLength(1)
    expect((await view()).reason).toBeUndefined()
  })

  it('the key handles of another client are refused', async () => {
    const job = await submit(icl)
    const thief = walletOf('thief')
    const api = icl.api(thief.signer)
    expect(await codeOf(api.drawList({ body: job.request }))).toBe('key-unknown')
    expect(await codeOf(api.submitJob({ body: job.body }))).toBe('list-refused')
  })
})

describe('submitting', () => {
  it('the same again finds the same job, another body is a conflict', async () => {
    const job = await submit(icl)
    const again = await job.api.submitJob({ body: job.body })
    expect(again).toMatchObject({ jobId: job.jobId, read_token: job.readToken })
    const other = { ...job.body, until: job.body.until + 1 }
    expect(await codeOf(job.api.submitJob({ body: other }))).toBe('job-conflict')
  })

  it('too few nodes are told before anything is submitted', async () => {
    const look = icl.api().previewQuorum({
      query: { model_id: modelId, min_tier: 0, verifier_count: 3 },
    })
    const error = await look.catch((reason: ProblemError) => reason)
    expect(error).toMatchObject({ code: 'not-enough-nodes', status: 400 })
    expect((error as ProblemError).message).toMatch(/not enough active nodes.*quorum/)
  })
})

it('a node sees nothing of the others before it has answered itself', async () => {
  const job = await submit(icl)
  const { jobId } = job
  const [first, second, last] = [job.leader, ...job.verifiers].map(nodeAt)
  const seen: unknown[] = []
  const look = async (node: TestNode) => {
    const { step, to_check, checkers } = await ownAssignment(node, jobId)
    seen.push(step)
    expect([to_check, checkers]).toEqual([undefined, undefined])
  }
  for (const node of [first!, second!]) await commitTo(node, await claim(node), 'yes')
  await look(first!)
  await look(last!)
  await commitTo(last!, await claim(last!), 'yes')
  await look(last!)
  await reveal(first!, jobId)
  await reveal(second!, jobId)
  await look(first!)
  await look(last!)
  expect(seen).toEqual(['wait', 'work', 'reveal', 'wait', 'reveal'])
})

it('a node that waits hears at once that all have committed', async () => {
  const job = await submit(icl)
  const { jobId } = job
  const [first, ...others] = [job.leader, ...job.verifiers].map(nodeAt)
  await commitTo(first!, await claim(first!), 'yes')
  const poll = first!.api.getAssignment(
    { params: { jobId }, query: { wait: 20 } },
    { timeoutMs: 30_000 },
  )
  await icl.clock.advance(5_000)
  const before = icl.clock.now()
  for (const node of others) await commitTo(node, await claim(node), 'yes')
  const { step, deadline, server_time } = await poll
  expect([step, deadline! - server_time]).toEqual(['reveal', 30])
  expect(icl.clock.now() - before).toBeLessThan(1_000)
})

it('a held poll hears of work at once', async () => {
  const polls = nodes.map((node) =>
    node.api.getAssignments(
      { params: { address: node.address }, query: { wait: 30 } },
      { timeoutMs: 40_000 },
    ),
  )
  const before = icl.clock.now()
  await submit(icl)
  for (const poll of polls) expect((await poll).assignments).toHaveLength(1)
  expect(icl.clock.now() - before).toBeLessThan(1_000)
})

it('held polls and streams end at once when the process stops', async () => {
  const job = await submit(icl)
  const stream = await job.api.followJob(
    { params: { jobId: job.jobId } },
    { readToken: job.readToken },
  )
  const [idle] = nodes
  for (const node of nodes) await claim(node)
  const poll = idle!.api.getAssignments(
    { params: { address: idle!.address }, query: { wait: 30 } },
    { timeoutMs: 40_000 },
  )
  const reader = stream.body!.getReader()
  // A proxy that compresses holds a stream that begins with much.
  expect(new TextDecoder().decode((await reader.read()).value)).toBe(': begins\n\n')
  const told = await icl.clock.until(reader.read())
  expect(new TextDecoder().decode(told.value)).toContain('submitted')
  const before = icl.clock.now()
  await icl.clock.advance(0)
  icl.deps.notifier.close()
  expect((await poll).assignments).toEqual([])
  while (!(await reader.read()).done);
  expect(icl.clock.now()).toBe(before)
})

it('events of a job stream in order and end when it is on chain', async () => {
  const { job } = await run(['yes', 'yes', 'yes'])
  const response = await job.api.followJob(
    { params: { jobId: job.jobId } },
    { readToken: job.readToken },
  )
  const text = await icl.clock.until(response.text())
  const types = [...text.matchAll(/"type":"([a-z-]+)"/g)].map(([, type]) => type)
  expect(types[0]).toBe('submitted')
  expect(types.slice(-2)).toEqual(['accepted', 'result-committed'])
  const resumed = await job.api.followJob(
    { params: { jobId: job.jobId } },
    { readToken: job.readToken, lastEventId: String(types.length - 1) },
  )
  const rest = await icl.clock.until(resumed.text())
  expect([...rest.matchAll(/^id: /gm)]).toHaveLength(1)
  // An EventSource that has all of them connects again, and is told to stop.
  const over = await job.api.followJob(
    { params: { jobId: job.jobId } },
    { readToken: job.readToken, lastEventId: String(types.length) },
  )
  expect([over.status, await over.text()]).toEqual([204, ''])
})

it('events from the first commitment on are held back while a job runs, and are all told in order when it has settled', async () => {
  nodes.push(await joinNode(icl, 'n4'))
  const { job, view } = await runJob(icl, nodes, ['yes', 'yes', 'no'])
  await icl.clock.advance(2_000)
  const path = { params: { jobId: job.jobId } }
  const follow = async (lastEventId?: string) => {
    const token = { readToken: job.readToken }
    const stream = await job.api.followJob(
      path,
      lastEventId === undefined ? token : { ...token, lastEventId },
    )
    return stream.body!.getReader()
  }
  const read = async (reader: Awaited<ReturnType<typeof follow>>) =>
    new TextDecoder().decode((await icl.clock.until(reader.read())).value)
  const reader = await follow()
  let text = ''
  while (!text.includes(': still here')) text += await read(reader)
  const typesIn = (told: string) =>
    [...told.matchAll(/"type":"([a-z-]+)"/g)].map(([, type]) => type)
  const shown = typesIn(text)
  expect(new Set(shown)).toEqual(new Set(['submitted', 'chosen', 'offered', 'claimed']))
  const running = await view()
  expect([running.status, running.agreement]).toEqual(['running', undefined])
  expect(running.quorum.map(({ status, verdict }) => [status, verdict])).toEqual(
    Array(3).fill(['claimed', undefined]),
  )
  const second = await follow(String(shown.length))
  await expire(icl)
  let more = ''
  for (;;) {
    const next = await icl.clock.until(second.read())
    if (next.done) break
    more += new TextDecoder().decode(next.value)
  }
  const { document } = (await icl.deps.store.findJob(job.jobId))!
  expect([...shown, ...typesIn(more)]).toEqual(document.events.map(({ type }) => type))
  expect(typesIn(more)).toContain('seats-added')
  await reader.cancel()
})

it('events of a job end in order when the store goes away, with one line in the log', async () => {
  const job = await submit(icl)
  const response = await job.api.followJob(
    { params: { jobId: job.jobId } },
    { readToken: job.readToken },
  )
  const text = response.text()
  await icl.clock.advance(1_000)
  const { findJob } = icl.deps.store
  const before = icl.logged.length
  icl.deps.store.findJob = () =>
    Promise.reject(new ProblemError('unavailable', 'The database does not respond'))
  await icl.clock.advance(20_000)
  expect(await text).toContain('"type":"submitted"')
  icl.deps.store.findJob = findJob
  const lines = icl.logged.slice(before).filter((line) => line.startsWith('event stream'))
  expect(lines).toEqual([expect.stringContaining('The database does not respond')])
})
