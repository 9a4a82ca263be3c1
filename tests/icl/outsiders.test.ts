import { expect, it } from 'vitest'
import { codeOf } from '../code-of.ts'
import { freshIcl, icl, nodeAt, nodes } from './fresh-icl.ts'
import { claim, offersOf } from './node-steps.ts'
import { submit } from './test-client.ts'

freshIcl(4)

it('a node without a part in a job gets neither its handles nor its statements, whatever fence it names', async () => {
  const { jobId, leader, verifiers } = await submit(icl)
  const quorum: readonly string[] = [leader, ...verifiers]
  const stranger = nodes.find(({ address }) => !quorum.includes(address))!
  await claim(nodeAt(leader))
  for (const fence of [1, 2, 3, 4]) {
    const body = { jobId, fence }
    expect(await codeOf(stranger.api.claimAssignment({ body }))).toBe('not-assigned')
  }
  const look = stranger.api.getAssignment({ params: { jobId }, query: { wait: 0 } })
  expect(await codeOf(look)).toBe('not-assigned')
})

it('work is offered to nobody who may read only one half of its key', async () => {
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

it('the read token of a job opens no other', async () => {
  const first = await submit(icl, { client: 'c1' })
  const second = await submit(icl, { client: 'c2' })
  const read = (jobId: typeof first.jobId, readToken: string) =>
    icl.api().getJob({ params: { jobId } }, { readToken })
  expect((await read(first.jobId, first.readToken)).jobId).toBe(first.jobId)
  expect(await codeOf(read(first.jobId, second.readToken))).toBe('token-invalid')
  expect(await codeOf(read(second.jobId, first.readToken))).toBe('token-invalid')
})
