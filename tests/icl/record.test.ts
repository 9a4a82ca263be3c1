import { describe, expect, it } from 'vitest'
import type { Api } from '../../lib/api.ts'
import { getRecord } from '../../lib/client/get-record.ts'
import type { JobRecord } from '../../lib/schemas/record.ts'
import { signed } from '../../lib/statements.ts'
import { aHash, aJobId } from '../branded.ts'
import { codeOf } from '../code-of.ts'
import { icl, startIcl } from './fresh-icl.ts'
import { check, deliver, givenIn } from './node-steps.ts'
import { answerJob, checkAll, delivererOf, runJob } from './run-job.ts'
import { joinNodes, type TestNode, walletOf } from './test-icl.ts'

async function join(count: number): Promise<TestNode[]> {
  await startIcl()
  const nodes = await joinNodes(icl, count)
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

describe("a job's record", () => {
  it('keeps a delivery that was refused, and what was said of it, beside the one that settled', async () => {
    const nodes = await join(4)
    const { job, jobId, seated } = await answerJob(icl, nodes, ['yes', 'no', 'yes', 'yes'])
    const first = (await delivererOf(seated, jobId))!
    await deliver(icl, first, jobId)
    const members = seated.filter((_, seat) => seat !== 1)
    for (const node of members) {
      if (node === first) continue
      await check(node, jobId, { verdict: 'no-match', reason: 'output-mismatch' })
    }
    const second = (await delivererOf(seated, jobId))!
    await deliver(icl, second, jobId)
    await checkAll(seated, jobId)
    await icl.clock.advance(5_000)
    const record = await recordOf(job)
    expect(record.deliveries).toMatchObject([
      { deliverer: first.address, outcome: 'failed', reason: 'output-refused' },
      { deliverer: second.address, outcome: 'settled' },
    ])
    const reasons = record.deliveries.map(({ verdicts }) =>
      verdicts.map(({ body }) => body.reason ?? body.verdict),
    )
    expect(reasons).toEqual([
      ['output-mismatch', 'output-mismatch'],
      ['different-answer', 'match', 'match'],
    ])
    const agreement = { answers: 4, needed: 3, deliverer: second.address }
    expect(record.job.agreement).toMatchObject(agreement)
    expect(record.job.agreement?.pairs.map(({ outcome }) => outcome)).toEqual([
      ...['no-match', 'match', 'match', 'no-match', 'no-match', 'match'],
    ])
    expect(record.assignments.map(({ batch, position }) => [batch, position])).toEqual([
      ...[
        [0, 0],
        [0, 1],
        [0, 2],
        [1, 3],
      ],
    ])
    for (const [seat, { commitment, answer, scores, node }] of record.assignments.entries()) {
      expect(commitment).toMatch(/^0x/)
      expect(answer?.body.address).toBe(node)
      const own = node === second.address ? 'answer-delivered' : 'answer-agreed'
      const said = seat === 1 ? ['answer-differed'] : [own]
      const refused = ['answer-undecided', 'output-refused']
      expect(scores).toEqual(node === first.address ? refused : said)
    }
    expect(record.commit).toMatchObject({ state: 'done', tx: expect.stringMatching(/^0x/) })
    expect([record.pending, record.faults]).toEqual([[], []])
    expect(record.events.map(({ type }) => type)).toEqual(
      expect.arrayContaining(['seats-added', 'agreed', 'delivered', 'delivery-failed']),
    )
  })

  it('and the view of a disputed job say how far the answers were apart', async () => {
    const nodes = await join(3)
    const { job, view } = await runJob(icl, nodes, ['yes', 'no', 'perhaps'])
    await icl.clock.advance(2_000)
    const { status, agreement } = await view()
    expect([status, agreement?.group]).toEqual(['disputed', []])
    expect(agreement?.pairs.map(({ outcome }) => outcome)).toEqual(Array(3).fill('no-match'))
    for (const { why } of agreement!.pairs) expect(why).toBeTruthy()
    const record = await recordOf(job)
    expect([record.deliveries, record.job.agreement]).toEqual([[], agreement])
    expect(record.assignments.map(({ scores }) => scores)).toEqual(
      Array(3).fill(['answer-undecided']),
    )
  })

  it('holds the proof of a fault', async () => {
    const nodes = await join(3)
    const { job, jobId, deliverer } = await runJob(icl, nodes, ['yes', 'yes', 'yes'])
    const { answer } = givenIn(deliverer!, jobId)
    const { signature: _, ...said } = answer
    const body = await signed({ ...said, max_output_tokens: 7 }, deliverer!.key)
    expect(await codeOf(deliverer!.api.revealAnswer({ body }))).toBe('already-answered')
    await icl.clock.advance(2_000)
    const record = await recordOf(job)
    expect(record.faults).toMatchObject([{ kind: 'equivocated', address: deliverer!.address }])
    const own = record.assignments.find(({ node }) => node === deliverer!.address)
    expect(own?.scores).toEqual(['answer-delivered', 'equivocated'])
    const forged = recordOf(job, ({ faults: [fault], ...rest }) => ({
      ...rest,
      faults: [{ ...fault!, evidence: { ...fault!.evidence!, fence: 99 } }],
    }))
    expect(await codeOf(forged)).toBe('fault-invalid')
    for (const change of [
      { address: nodes.find((node) => node !== deliverer)!.address },
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
    const [one, two] = (await recordOf(job)).assignments
    const withTurn =
      (change: (turn: JobRecord['deliveries'][number]) => object) =>
      (record: JobRecord): JobRecord => {
        const [turn] = record.deliveries
        return { ...record, deliveries: [{ ...turn!, ...change(turn!) }] } as JobRecord
      }
    const made: Record<string, (record: JobRecord) => JobRecord> = {
      'another job': (record) => ({
        ...record,
        job: { ...record.job, jobId: aJobId(`0x${'9'.repeat(64)}`) },
      }),
      'another output': withTurn(({ delivery }) => ({
        delivery: {
          ...delivery!,
          body: { ...delivery!.body, output_cid: `bafkreia${'z'.repeat(50)}a` },
        },
      })),
      "another's session": withTurn(({ delivery, verdicts }) => ({
        delivery: { ...delivery!, session: verdicts[0]!.session },
      })),
      'verdicts without a delivery': withTurn(() => ({ delivery: undefined })),
      "an answer under another's name": (record) => ({
        ...record,
        assignments: [{ ...one!, answer: two!.answer }],
      }),
      'an answer for another attempt': (record) => ({
        ...record,
        assignments: record.assignments.map((own) => ({ ...own, fence: own.fence + 100 })),
      }),
      'an answer that was not given': (record) => ({
        ...record,
        assignments: record.assignments.map(({ answer: _, ...own }) => own),
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
