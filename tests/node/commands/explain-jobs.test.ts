import { afterAll, describe, expect, it } from 'vitest'
import { ProblemError } from '../../../lib/problem.ts'
import { explainJobs } from '../../../node/commands/explain-jobs.ts'
import { explainScore } from '../../../node/commands/explain-score.ts'
import { aJobId } from '../../branded.ts'
import { runJob } from '../../icl/run-job.ts'
import { createTestIcl, joinNodes, origin } from '../../icl/test-icl.ts'
import { offTopic, onTopic } from '../../scenarios/texts.ts'
import { quietContext } from './context.ts'

const [right, wrong] = [onTopic('right'), offTopic('wrong')]

const icl = await createTestIcl()
const nodes = await joinNodes(icl, 4)
const ran = await runJob(icl, nodes, [right, wrong, right, right], { comparator: 'similar/2' })
await icl.clock.advance(2_000)
afterAll(() => icl.stop())

describe('svc-node jobs --explain tells of a job', () => {
  it('its list, who joined, who differed and who delivered', async () => {
    const [, odd, , joiner] = ran.seated
    const context = { ...quietContext({}), fetch: icl.fetch, clock: icl.clock }
    expect(await icl.clock.until(explainScore(joiner!.address, origin, {}, context))).toBe(0)
    const line = context.printed.find((text) => text.includes('list of'))
    const deliverer = ran.deliverer === joiner ? 'this node' : ran.deliverer!.address
    expect(line).toBe(
      `${ran.jobId}  accepted, 3 of 4 answers match; list of 4 (three); joined: this node; differed: ${odd!.address}; deliveries: settled by ${deliverer}`,
    )
  })

  it('whom it passed over and whose turn to deliver failed', async () => {
    const { address } = nodes[0]!
    const job = ran.jobId
    const found = await icl.api().getConsoleJob({ params: { job } })
    const list = { ...found.list, passed: { busy: 2 } }
    const deliveries = [
      { node: address, outcome: 'failed' as const, reason: 'answer-lost' as const },
      ...found.deliveries,
    ]
    const [line] = await explainJobs(
      { getConsoleJob: async () => ({ ...found, list, deliveries }) },
      address,
      [job],
    )
    expect(line).toContain('passed over: 2 busy')
    expect(line).toContain('deliveries: failed by this node (answer-lost), settled by ')
  })

  it('what checkers say of the text', async () => {
    const { address } = nodes[0]!
    const job = ran.jobId
    const found = await icl.api().getConsoleJob({ params: { job } })
    const attested = { n: 160, agree: 153, gap: 320, far: 1, worst: 4, apart: 1_201 }
    const assignments = found.assignments.map((assignment) =>
      assignment.node === address ? { ...assignment, attested } : assignment,
    )
    const [line] = await explainJobs(
      { getConsoleJob: async () => ({ ...found, assignments }) },
      address,
      [job],
    )
    expect(line).toContain(
      "attested: this node 153 of 160 tokens the likeliest, gap 2 (worst quarter 4), 1 far, 1201 from another's",
    )
  })

  it('nothing that the ICL does not show: a job that is gone, or a console that is closed', async () => {
    const { address } = nodes[0]!
    const gone = aJobId(`0x${'1'.repeat(64)}`)
    const lines = await explainJobs(icl.api(), address, [gone, ran.jobId])
    expect(lines).toEqual([
      `${gone}  has not settled, or is not kept any more`,
      expect.stringContaining('accepted'),
    ])
    const getConsoleJob = async () => {
      throw new ProblemError('not-found', 'There is no console here')
    }
    const closed = await explainJobs({ getConsoleJob }, address, [gone, ran.jobId])
    expect(closed).toEqual([expect.stringMatching(/the console does not tell: .*no console here/)])
  })
})
