import { afterEach, describe, expect, it } from 'vitest'
import type { Api } from '../../lib/api.ts'
import { getRecord } from '../../lib/client/get-record.ts'
import { verifyFault } from '../../lib/fault.ts'
import type { JobRecord } from '../../lib/schemas/record.ts'
import { signResult, signVerdict } from '../../lib/statements.ts'
import { aHash, aJobId } from '../branded.ts'
import { codeOf } from '../code-of.ts'
import { runJob } from './run-job.ts'
import {
  claim,
  commitTo,
  createTestIcl,
  joinNode,
  resultBody,
  submit,
  type TestIcl,
  type TestNode,
  walletOf,
} from './test-icl.ts'

let icl: TestIcl
afterEach(() => icl.stop())

async function join(count: number): Promise<TestNode[]> {
  icl = await createTestIcl()
  const nodes: TestNode[] = []
  for (let index = 1; index <= count; index++) nodes.push(await joinNode(icl, `n${index}`))
  return nodes
}

/** The record as the library reads it, from an ICL whose answer may be another than it gave. */
const recordOf = (
  job: { readonly api: Api; readonly jobId: `0x${string}` },
  changed: (record: JobRecord) => JobRecord = (record) => record,
) =>
  getRecord(
    {
      api: { getRecord: async (...args) => changed(await job.api.getRecord(...args)) },
      network: icl.deps.network,
    },
    aJobId(job.jobId),
  )

/** Runs the second round of a job that was rejected, with the nodes that had no part in the first. */
async function redo(jobId: `0x${string}`, nodes: readonly TestNode[]) {
  const job = (await icl.deps.store.findJob(aJobId(jobId)))!.document
  const assignments = job.assignments.filter(({ round }) => round === 1)
  const nodeAt = (address: string) => nodes.find((node) => node.address === address)!
  const reveals: Awaited<ReturnType<typeof commitTo>>[] = []
  const verifiers = assignments
    .filter(({ role }) => role === 'verifier')
    .map(({ node }) => nodeAt(node))
  const leader = nodeAt(assignments.find(({ role }) => role === 'leader')!.node)
  const claimed = await claim(leader)
  for (const verifier of verifiers) {
    reveals.push(await commitTo(verifier, await claim(verifier), 'yes'))
  }
  await leader.api.postResult({ body: await resultBody(icl, leader, claimed, 'yes') })
  for (const [index, verifier] of verifiers.entries()) {
    await verifier.api.postVerdict({ body: await reveals[index]!() })
  }
}

describe("a job's record", () => {
  it('keeps what was said in a round that was rejected, beside the one that was accepted', async () => {
    const nodes = await join(6)
    const { job, leader, verifiers } = await runJob(icl, nodes, ['no', 'yes', 'yes'])
    await icl.clock.advance(2_000)
    await redo(job.jobId, nodes)
    await icl.clock.advance(5_000)
    const record = await recordOf(job)
    expect(record.rounds.map(({ round, outcome }) => [round, outcome])).toEqual([
      [0, 'rejected'],
      [1, 'accepted'],
    ])
    const [first, second] = record.rounds
    expect([first?.leader, first?.result?.body.address]).toEqual([leader.address, leader.address])
    expect(first?.tally).toMatchObject({ matches: 0, no_matches: 2 })
    expect(second?.tally).toMatchObject({ matches: 2, no_matches: 0 })
    const outcomes = first?.tally?.pairs.map(({ outcome }) => outcome)
    expect(outcomes).toEqual(['no-match', 'no-match', 'match'])
    expect(record.assignments).toHaveLength(6)
    for (const { address } of verifiers) {
      const assignment = record.assignments.find(({ node }) => node === address)
      expect(assignment?.verdict_statement?.body.leader_statement).toMatch(/^0x/)
      expect([assignment?.commitment, assignment?.scores]).toEqual([
        expect.stringMatching(/^0x/),
        ['verdict-upheld'],
      ])
    }
    expect(record.assignments[0]?.scores).toEqual(['result-rejected'])
    expect(record.commit).toMatchObject({ state: 'done', tx: expect.stringMatching(/^0x/) })
    expect([record.pending, record.faults]).toEqual([[], []])
    expect(record.events.map(({ type }) => type)).toContain('started-over')
    expect(record.job.list.members).toHaveLength(6)
    expect(record.assignments.map(({ position }) => position)).toEqual([0, 1, 2, 3, 4, 5])
  })

  it('and the view of a disputed job say how far the answers were apart', async () => {
    const nodes = await join(3)
    const { job, view } = await runJob(icl, nodes, ['yes', 'no', 'perhaps'])
    await icl.clock.advance(2_000)
    const seen = await view()
    expect([seen.status, seen.tally?.no_matches]).toEqual(['disputed', 2])
    expect(seen.tally?.pairs.map(({ outcome }) => outcome)).toEqual(Array(3).fill('no-match'))
    for (const { why } of seen.tally!.pairs) expect(why).toBeTruthy()
    const record = await recordOf(job)
    expect(record.rounds).toMatchObject([{ outcome: 'disputed', tally: seen.tally }])
    expect(record.assignments[0]?.scores).toEqual(['result-unmatched'])
  })

  it('shows no answer, nor what is made from one, to whoever may still copy it: not before the job has settled', async () => {
    const nodes = await join(4)
    const nodeAt = (address: string) => nodes.find((node) => node.address === address)!
    const job = await submit(icl)
    const leader = nodeAt(job.leader)
    const [liar] = job.verifiers.map(nodeAt)
    const claimed = await claim(leader)
    const honest = await commitTo(liar!, await claim(liar!), 'no')
    const result = await resultBody(icl, leader, claimed, 'yes')
    await leader.api.postResult({ body: result })
    const { signature: _, reason: __, ...lie } = await honest()
    const verdict = { ...lie, verdict: 'match' as const }
    await liar!.api.postVerdict({ body: await signVerdict(liar!.address, verdict, liar!.key) })
    const { signature: ___, ...said } = result
    const second = { ...said, max_output_tokens: 7 }
    const contradiction = await signResult(leader.address, second, leader.key)
    expect(await codeOf(leader.api.postResult({ body: contradiction }))).toBe('already-answered')
    await icl.clock.advance(2_000)
    const path = { params: { jobId: job.jobId } }
    const token = { readToken: job.readToken }
    const seen = async () => ({
      record: await recordOf(job),
      view: await job.api.getJob(path, token),
      list: await job.api.listJobs({ query: {} }),
      faults: await Promise.all(
        [leader, liar!].map(({ address }) =>
          icl.api().getNodeFaults({ params: { address }, query: {} }),
        ),
      ),
    })
    const textOf = (value: unknown) =>
      JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? `${part}` : part))
    const secrets = [
      result.evidence.digest,
      lie.evidence.digest,
      result.output_cid,
      `"${result.outHighHandle}"`,
    ]
    const before = await seen()
    for (const secret of secrets) expect(textOf(before)).not.toContain(secret)
    expect(before.view.status).toBe('running')
    expect([before.record.rounds, before.record.faults]).toEqual([
      [{ round: 0, outcome: 'open' }],
      [],
    ])
    await job.api.cancelJob(path, token)
    const after = await seen()
    for (const secret of secrets) expect(textOf(after)).toContain(secret)
    expect(after.record.faults).toHaveLength(2)
    expect(after.record.rounds[0]?.result_hash).toBe(lie.leader_statement)
    for (const fault of after.record.faults)
      expect(await verifyFault(fault.evidence!)).toBe(fault.kind)
  })

  it('holds the proof of a fault', async () => {
    const nodes = await join(3)
    const { job, leader } = await runJob(icl, nodes, ['yes', 'yes', 'yes'])
    const { document } = (await icl.deps.store.findJob(job.jobId))!
    const { statement: _, address: __, ...body } = document.result!.body
    const other = await signResult(leader.address, { ...body, max_output_tokens: 7 }, leader.key)
    expect(await codeOf(leader.api.postResult({ body: other }))).toBe('already-answered')
    await icl.clock.advance(2_000)
    const record = await recordOf(job)
    expect(record.faults).toMatchObject([{ kind: 'equivocated', address: leader.address }])
    expect(record.assignments[0]?.scores).toEqual(['result-accepted', 'equivocated'])
    const forged = recordOf(job, ({ faults: [fault], ...rest }) => ({
      ...rest,
      faults: [{ ...fault!, evidence: { ...fault!.evidence!, fence: 99 } }],
    }))
    expect(await codeOf(forged)).toBe('fault-invalid')
    for (const change of [
      { address: nodes.find(({ address }) => address !== leader.address)!.address },
      { kind: 'verdict-refuted' as const },
      { jobId: aJobId(`0x${'9'.repeat(64)}`) },
      { fault_id: aHash(`0x${'9'.repeat(64)}`) },
      { evidence_hash: aHash(`0x${'9'.repeat(64)}`) },
    ]) {
      const mislabelled = recordOf(job, ({ faults: [fault], ...rest }) => ({
        ...rest,
        faults: [{ ...fault!, ...change }],
      }))
      expect([change, await codeOf(mislabelled)]).toEqual([change, 'record-invalid'])
    }
  })

  it('is refused by the library when the ICL made something up', async () => {
    const nodes = await join(3)
    const { job } = await runJob(icl, nodes, ['yes', 'yes', 'yes'])
    await icl.clock.advance(2_000)
    const [leader, verifier] = (await recordOf(job)).assignments
    const withResult = (change: object) => (record: JobRecord) => {
      const [round] = record.rounds
      const result = round!.result!
      return { ...record, rounds: [{ ...round!, result: { ...result, ...change } }] } as JobRecord
    }
    const made: Record<string, (record: JobRecord) => JobRecord> = {
      'another job': (record) => ({
        ...record,
        job: { ...record.job, jobId: aJobId(`0x${'9'.repeat(64)}`) },
      }),
      'another output': (record) => {
        const { body } = record.rounds[0]!.result!
        const output_cid = `bafkrei${'z'.repeat(52)}`
        return withResult({ body: { ...body, output_cid } })(record)
      },
      "another's session": withResult({ session: verifier!.verdict_statement!.session }),
      "a verdict under another's name": (record) => ({
        ...record,
        assignments: [{ ...leader!, verdict_statement: verifier!.verdict_statement! }],
      }),
      'a verdict for another attempt': (record) => ({
        ...record,
        assignments: record.assignments.map((assignment) =>
          assignment.node === verifier!.node
            ? { ...assignment, fence: assignment.fence + 100 }
            : assignment,
        ),
      }),
      'a result of another round': (record) => ({
        ...record,
        rounds: [{ ...record.rounds[0]!, round: 1 }],
      }),
      'a hash of another result': (record) => ({
        ...record,
        rounds: [{ ...record.rounds[0]!, result_hash: aHash(`0x${'9'.repeat(64)}`) }],
      }),
      'a hash of another verdict': (record) => ({
        ...record,
        assignments: record.assignments.map((assignment) =>
          assignment.node === verifier!.node
            ? { ...assignment, verdict_hash: aHash(`0x${'9'.repeat(64)}`) }
            : assignment,
        ),
      }),
    }
    for (const [what, change] of Object.entries(made)) {
      expect([what, await codeOf(recordOf(job, change))]).toEqual([what, 'record-invalid'])
    }
  })

  it('is for its client and the holder of its read token only', async () => {
    const nodes = await join(3)
    const { job } = await runJob(icl, nodes, ['yes', 'yes', 'yes'])
    const params = { jobId: job.jobId }
    const record = await icl.api().getRecord({ params }, { readToken: job.readToken })
    expect(record.job.jobId).toBe(job.jobId)
    const stranger = icl.api(walletOf('stranger').signer)
    expect(await codeOf(stranger.getRecord({ params }))).toBe('job-not-found')
    expect(await codeOf(nodes[0]!.api.getRecord({ params }))).toBe('signature-missing')
  })
})
