import { describe, expect, it } from 'vitest'
import { getRecord } from '../../../lib/client/get-record.ts'
import { faultEvidenceHash, faultIdOf } from '../../../lib/fault.ts'
import type { FaultEvidence, FaultView } from '../../../lib/schemas/fault.ts'
import type { JobRecord } from '../../../lib/schemas/record.ts'
import { aHash, aJobId } from '../../branded.ts'
import { nodeAddress } from '../../icl/rules/sample-job.ts'
import { sampleNetwork } from '../../sample-network.ts'
import { answerOf, makeReceipt, signedByNode } from '../make-receipt.ts'

const network = sampleNetwork({ public_url: 'https://icl.test/', chain_id: 31_337 })
const otherHash = aHash(`0x${'1'.repeat(64)}`)

const receipt = (await makeReceipt('exact', ['yes', 'no', 'yes', 'yes'])).receipt
const { answers, delivery, verdicts, jobId, icl_origin, chain_id } = receipt
const delivered = answers.find(({ body }) => body.address === delivery.body.address)!
const liar = answers[1]!
const { fence, address } = liar.body
const about = { kind: 'verdict-refuted', jobId, fence, address } as const
const verdict = await signedByNode({
  ...verdicts.find(({ body }) => body.address === address)!.body,
  ...{ verdict: 'match' as const, reason: undefined },
})
const [one, other] = [answerOf(receipt, delivered.body.address), answerOf(receipt, address)]
const evidence: FaultEvidence = {
  ...{ ...about, version: 2, icl_origin, chain_id },
  statements: [one, delivery, other, verdict],
}
const fault: FaultView = {
  ...{ ...about, fault_id: faultIdOf(about), at: 5, evidence },
  evidence_hash: await faultEvidenceHash(evidence),
}
const assignments = answers.map((answer) => ({
  ...{ node: answer.body.address, fence: answer.body.fence, answer },
}))
const turn = { deliverer: delivery.body.address, fence: delivery.body.fence }
// What is checked of a record; the rest is told.
const record: JobRecord = {
  job: { jobId },
  assignments: [{ node: nodeAddress('a'), fence: 9 }, ...assignments],
  deliveries: [
    { ...turn, outcome: 'settled', delivery, verdicts },
    { deliverer: nodeAddress('a'), fence: 9, outcome: 'failed', verdicts: [] },
  ],
  faults: [fault, { ...fault, evidence: undefined }],
} as unknown as JobRecord

const read = async (given: JobRecord, changes: Partial<typeof network> = {}) => {
  const asked: unknown[] = []
  const api = {
    getRecord: async (...args: unknown[]) => {
      asked.push(...args)
      return given
    },
  }
  const context = { api, network: { ...network, ...changes } }
  const outcome = await getRecord(context, receipt.jobId).catch(
    (error: { code?: string; message: string; hint?: string }) => {
      expect(error.hint).toMatch(/operator of the ICL|Ask the ICL/)
      return `${error.code}: ${error.message.replace('The record of the job does not hold: ', '')}`
    },
  )
  expect(asked).toEqual([{ params: { jobId: receipt.jobId } }, { attempts: 3 }])
  return outcome
}

type Assignment = JobRecord['assignments'][number]
const withAssignment = (index: number, change: Partial<Assignment>): JobRecord => ({
  ...record,
  assignments: record.assignments.map((assignment, at) =>
    at === index ? { ...assignment, ...change } : assignment,
  ),
})
const withTurn = (change: Partial<JobRecord['deliveries'][number]>, index = 0): JobRecord => ({
  ...record,
  deliveries: record.deliveries.map((turn, at) => (at === index ? { ...turn, ...change } : turn)),
})
const withFault = (change: Partial<FaultView>): JobRecord => ({
  ...record,
  faults: [{ ...fault, ...change }],
})

describe('the record of a job', () => {
  it('holds when everybody has signed what it says', async () => {
    expect(await read(record)).toBe(record)
    const bare = { ...record, faults: [] }
    expect(await read(bare)).toBe(bare)
  })

  it('is of the job that was asked for', async () => {
    const other = { ...record, job: { ...record.job, jobId: aJobId(otherHash) } }
    expect(await read(other)).toBe('record-invalid: it is of another job')
  })

  it('has answers of those who gave them', async () => {
    const { address } = liar.body
    expect(await read(withAssignment(2, { answer: delivered }))).toBe(
      `record-invalid: a statement of ${address} is another node's`,
    )
    expect(await read(withAssignment(2, { fence: 9 }))).toBe(
      `record-invalid: a statement of ${address} is for another attempt`,
    )
    const forged = { ...liar, signature: delivered.signature }
    expect(await read(withAssignment(2, { answer: forged }))).toBe(
      `record-invalid: ${address} did not sign its statement`,
    )
    const elsewhere = await signedByNode({ ...liar.body, jobId: aJobId(otherHash) })
    expect(await read(withAssignment(2, { answer: elsewhere }))).toBe(
      `record-invalid: ${address} spoke of another job`,
    )
  })

  it('has deliveries of whose turn it was, of its own answer, and verdicts on them', async () => {
    const { delivery, verdicts } = receipt
    const { address } = delivery.body
    const other = nodeAddress('a')
    expect(await read(withTurn({ deliverer: other }))).toBe(
      `record-invalid: a statement of ${other} is another node's`,
    )
    expect(await read(withTurn({ fence: 9 }))).toBe(
      `record-invalid: a statement of ${address} is for another attempt`,
    )
    const of = async (change: Partial<typeof delivery.body>) => ({
      delivery: await signedByNode({ ...delivery.body, ...change }),
    })
    expect(await read(withTurn(await of({ answer: otherHash })))).toBe(
      `record-invalid: ${address} delivered another answer`,
    )
    const [first] = verdicts
    expect(await read(withTurn(await of({ outLowHandle: 99n })))).toBe(
      `record-invalid: ${first!.body.address} looked at another delivery`,
    )
    const says = async (change: Partial<(typeof verdicts)[number]['body']>) => ({
      verdicts: [await signedByNode({ ...first!.body, ...change })],
    })
    expect(await read(withTurn(await says({ answer: otherHash })))).toBe(
      `record-invalid: the verdict of ${first!.body.address} is on no answer of its own`,
    )
    const forged = { ...first!, signature: delivery.signature }
    expect(await read(withTurn({ verdicts: [forged] }))).toBe(
      `record-invalid: ${first!.body.address} did not sign its statement`,
    )
    expect(await read(withTurn({ verdicts: [first!] }, 1))).toBe(
      `record-invalid: ${other} had delivered nothing`,
    )
  })

  it('has sessions that were granted for this ICL on its chain', async () => {
    const ungranted = `record-invalid: the wallet of ${receipt.answers[0]!.body.address} did not grant the session key`
    expect(await read(record, { public_url: 'https://other.test' })).toBe(ungranted)
    expect(await read(record, { chain_id: 1 })).toBe(ungranted)
  })

  it('has faults of this job, with the proofs of these very faults', async () => {
    const { address } = fault
    expect(await read(withFault({ jobId: aJobId(otherHash) }))).toBe(
      `record-invalid: the fault of ${address} is of another job`,
    )
    expect(await read(withFault({ fault_id: otherHash }))).toBe(
      `record-invalid: the fault of ${address} has another's id`,
    )
    expect(await read(withFault({ evidence_hash: otherHash }))).toBe(
      `record-invalid: the proof of the fault of ${address} has another hash`,
    )
    const refuting = { ...fault.evidence!, statements: [delivered, delivered] }
    expect(await read(withFault({ evidence: refuting }))).toMatch(/^fault-invalid: /)
    const renamed = { kind: 'equivocated', ...{ fence: fault.fence } } as const
    const misnamed = { ...renamed, fault_id: faultIdOf({ ...fault, ...renamed }) }
    expect(await read(withFault(misnamed))).toBe(
      `record-invalid: the fault of ${address} has another's proof`,
    )
    const alone = { ...record, deliveries: [], assignments: [], faults: [fault] }
    for (const change of [{ public_url: 'https://other.test' }, { chain_id: 1 }]) {
      expect(await read(alone, change)).toBe(
        `record-invalid: the fault of ${address} has another's proof`,
      )
    }
  })
})
