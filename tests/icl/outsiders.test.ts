import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { codeOf } from '../code-of.ts'
import {
  claim,
  commitTo,
  createTestIcl,
  evidenceOf,
  joinNode,
  offersOf,
  resultBody,
  submit,
  type TestIcl,
  type TestNode,
} from './test-icl.ts'

let icl: TestIcl
let nodes: TestNode[]

beforeEach(async () => {
  icl = await createTestIcl()
  nodes = []
  for (const name of ['n1', 'n2', 'n3', 'n4']) nodes.push(await joinNode(icl, name))
})
afterEach(() => icl.stop())

const nodeAt = (address: string) => nodes.find((node) => node.address === address)!

describe('a node without a part in a job', () => {
  it('gets neither its handles nor its statements, whatever fence it names', async () => {
    const { jobId, leader, verifiers } = await submit(icl)
    const quorum: readonly string[] = [leader, ...verifiers]
    const stranger = nodes.find(({ address }) => !quorum.includes(address))!
    await resultBody(icl, nodeAt(leader), await claim(nodeAt(leader)), 'yes')
    for (const fence of [1, 2, 3, 4]) {
      const body = { jobId, fence }
      expect(await codeOf(stranger.api.claimAssignment({ body }))).toBe('not-assigned')
    }
    const look = stranger.api.getAssignment({ params: { jobId }, query: { wait: 0 } })
    expect(await codeOf(look)).toBe('not-assigned')
  })
})

describe('work', () => {
  it('is offered to nobody who may read only one half of its key', async () => {
    const { jobId, body, commit, ...job } = await submit(icl, { commit: false })
    const leader = nodeAt(job.leader)
    icl.chain.activate = async () => 'granted'
    commit()
    icl.chain.readers.delete(`${body.kpLowHandle}:${leader.address}`)
    await icl.clock.advance(15_000)
    expect(await offersOf(leader)).toEqual([])
    icl.chain.readers.add(`${body.kpLowHandle}:${leader.address}`)
    await icl.clock.advance(15_000)
    expect((await offersOf(leader)).map((offer) => offer.jobId)).toEqual([jobId])
  })
})

describe('a statement', () => {
  it('counts only when the session key of its own node signed it', async () => {
    const job = await submit(icl)
    const [leader, verifier] = [nodeAt(job.leader), nodeAt(job.verifiers[0]!)]
    const claimed = await claim(leader)
    const forged = await resultBody(icl, { ...leader, key: verifier.key }, claimed, 'yes')
    const post = (body: typeof forged) => codeOf(leader.api.postResult({ body }))
    expect(await post(forged)).toBe('statement-signature-invalid')
    const result = await resultBody(icl, leader, claimed, 'yes')
    const changed = { ...result, evidence: await evidenceOf('no') }
    expect(await post(changed)).toBe('statement-signature-invalid')

    const reveal = await commitTo(verifier, await claim(verifier), 'yes')
    await leader.api.postResult({ body: result })
    const verdict = await reveal()
    const vote = (body: typeof verdict) => codeOf(verifier.api.postVerdict({ body }))
    const turned = { ...verdict, verdict: 'no-match' as const, reason: 'output-mismatch' as const }
    expect(await vote(turned)).toBe('statement-signature-invalid')
    await verifier.api.postVerdict({ body: verdict })
  })
})

describe('the read token of a job', () => {
  it('opens no other', async () => {
    const first = await submit(icl, { client: 'c1' })
    const second = await submit(icl, { client: 'c2' })
    const read = (jobId: typeof first.jobId, readToken: string) =>
      icl.api().getJob({ params: { jobId } }, { readToken })
    expect((await read(first.jobId, first.readToken)).jobId).toBe(first.jobId)
    expect(await codeOf(read(first.jobId, second.readToken))).toBe('token-invalid')
    expect(await codeOf(read(second.jobId, first.readToken))).toBe('token-invalid')
  })
})
