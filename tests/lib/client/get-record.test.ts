import { beforeAll, describe, expect, it } from 'vitest'
import { getRecord } from '../../../lib/client/get-record.ts'
import { faultEvidenceHash, faultIdOf } from '../../../lib/fault.ts'
import type { FaultEvidence, FaultView } from '../../../lib/schemas/fault.ts'
import type { Receipt } from '../../../lib/schemas/receipt.ts'
import type { JobRecord } from '../../../lib/schemas/record.ts'
import { signingKeyFromSeed } from '../../../lib/session-key.ts'
import { statementBytes, statementHash } from '../../../lib/statements.ts'
import { aHash, aJobId } from '../../branded.ts'
import { nodeAddress } from '../../icl/rules/sample-job.ts'
import { sampleNetwork } from '../../sample-network.ts'
import { makeReceipt } from '../make-receipt.ts'

const network = sampleNetwork({ public_url: 'https://icl.test/', chain_id: 31_337 })
const otherHash = aHash(`0x${'1'.repeat(64)}`)

let receipt: Receipt
let record: JobRecord
let fault: FaultView

beforeAll(async () => {
  receipt = (await makeReceipt('exact', ['yes', 'no', 'yes'])).receipt
  const { leader, verifiers, jobId, icl_origin, chain_id } = receipt
  const [liar] = verifiers as [Receipt['verifiers'][number]]
  const about = {
    kind: 'verdict-refuted',
    jobId,
    role: 'verifier',
    fence: liar.body.fence,
    address: liar.body.address,
  } as const
  const evidence: FaultEvidence = {
    ...{ ...about, version: 1, icl_origin, chain_id, statements: [leader, liar] },
  }
  fault = {
    ...{ ...about, fault_id: faultIdOf(about), at: 5, evidence },
    evidence_hash: await faultEvidenceHash(evidence),
  }
  const assignments = await Promise.all(
    verifiers.map(async (verifier) => ({
      ...{ role: 'verifier', round: 0, node: verifier.body.address, fence: verifier.body.fence },
      ...{ verdict_statement: verifier, verdict_hash: await statementHash(verifier.body) },
    })),
  )
  const led = { role: 'leader', round: 0, node: leader.body.address, fence: leader.body.fence }
  // What is checked of a record; the rest is told.
  record = {
    job: { jobId },
    rounds: [
      { round: 0, result: leader, result_hash: await statementHash(leader.body) },
      { round: 1 },
    ],
    assignments: [led, ...assignments],
    faults: [fault, { ...fault, evidence: undefined }],
  } as unknown as JobRecord
})

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
const withRound = (change: Partial<JobRecord['rounds'][number]>): JobRecord => ({
  ...record,
  rounds: record.rounds.map((round, at) => (at === 0 ? { ...round, ...change } : round)),
})
const withFault = (change: Partial<FaultView>): JobRecord => ({
  ...record,
  faults: [{ ...fault, ...change }],
})

describe('the record of a job', () => {
  it('holds when everybody has signed what it says, hashes given or not', async () => {
    expect(await read(record)).toBe(record)
    const bare = { ...withRound({ result_hash: undefined }), faults: [] }
    expect(await read(bare)).toBe(bare)
    const hashless = withAssignment(1, { verdict_hash: undefined })
    expect(await read(hashless)).toBe(hashless)
  })

  it('is of the job that was asked for', async () => {
    const other = { ...record, job: { ...record.job, jobId: aJobId(otherHash) } }
    expect(await read(other)).toBe('record-invalid: it is of another job')
  })

  it('has results of those who led their rounds', async () => {
    const { address } = receipt.leader.body
    for (const change of [
      { role: 'verifier' as const },
      { round: 1 },
      { node: nodeAddress('a') },
      { fence: 9 },
    ]) {
      expect(await read(withAssignment(0, change))).toBe(
        `record-invalid: ${address} did not lead round 0`,
      )
    }
    expect(await read(withRound({ result_hash: otherHash }))).toBe(
      `record-invalid: the statement of ${address} has another hash`,
    )
  })

  it('has verdicts of those who gave them', async () => {
    const [one, two] = receipt.verifiers as [
      Receipt['verifiers'][number],
      Receipt['verifiers'][number],
    ]
    const { address } = one.body
    expect(await read(withAssignment(1, { verdict_statement: two }))).toBe(
      `record-invalid: the verdict of ${address} is somebody else's`,
    )
    expect(await read(withAssignment(1, { fence: 9 }))).toBe(
      `record-invalid: the verdict of ${address} is for another attempt`,
    )
    expect(await read(withAssignment(1, { verdict_hash: otherHash }))).toBe(
      `record-invalid: the statement of ${address} has another hash`,
    )
    const forged = { ...one, signature: two.signature }
    expect(await read(withAssignment(1, { verdict_statement: forged }))).toBe(
      `record-invalid: ${address} did not sign its statement`,
    )
    const key = await signingKeyFromSeed(new Uint8Array(32).fill(22))
    const body = { ...one.body, jobId: aJobId(otherHash) }
    const elsewhere = { ...one, body, signature: await key.sign(statementBytes(body)) }
    expect(
      await read(withAssignment(1, { verdict_statement: elsewhere, verdict_hash: undefined })),
    ).toBe(`record-invalid: ${address} spoke of another job`)
  })

  it('has sessions that were granted for this ICL on its chain', async () => {
    const ungranted = `record-invalid: the wallet of ${receipt.leader.body.address} did not grant the session key`
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
    const refuting = { ...fault.evidence!, statements: [receipt.leader, receipt.leader] }
    expect(await read(withFault({ evidence: refuting }))).toMatch(/^fault-invalid: /)
    const renamed = { kind: 'equivocated', ...{ fence: fault.fence } } as const
    const misnamed = { ...renamed, fault_id: faultIdOf({ ...fault, ...renamed }) }
    expect(await read(withFault(misnamed))).toBe(
      `record-invalid: the fault of ${address} has another's proof`,
    )
    const alone = { ...record, rounds: [], assignments: [], faults: [fault] }
    for (const change of [{ public_url: 'https://other.test' }, { chain_id: 1 }]) {
      expect(await read(alone, change)).toBe(
        `record-invalid: the fault of ${address} has another's proof`,
      )
    }
  })
})
