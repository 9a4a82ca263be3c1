import { describe, expect, it } from 'vitest'
import { receiptHash, verifyReceipt } from '../../lib/receipt.ts'
import { codeOf } from '../code-of.ts'
import { icl, startIcl } from './fresh-icl.ts'
import { claim, commitTo, offersOf, ownAssignment, reveal } from './node-steps.ts'
import { answerJob, runJob } from './run-job.ts'
import { joinNodes, type TestNode } from './test-icl.ts'

async function join(count: number): Promise<TestNode[]> {
  await startIcl()
  const nodes = await joinNodes(icl, count)
  return nodes
}

const addressesOf = (nodes: readonly TestNode[]) => nodes.map(({ address }) => address)

const receiptOf = async ({ job }: Awaited<ReturnType<typeof runJob>>) =>
  job.api.getReceipt({ params: { jobId: job.jobId } }, { readToken: job.readToken })

/** What a receipt says, once it holds. */
async function checkedReceipt(run: Awaited<ReturnType<typeof runJob>>) {
  const receipt = await receiptOf(run)
  const { keys } = await icl.api().getJwks()
  await verifyReceipt(receipt, { iclKeys: keys.map(({ x }) => x) })
  expect((await run.view()).receipt_hash).toBe(await receiptHash(receipt))
  return receipt
}

/** Jobs that are accepted: the answers by seat, the seats that agree, and under which terms. */
const accepted: readonly {
  readonly name: string
  readonly pool: number
  readonly answers: readonly string[]
  readonly group: readonly number[]
  readonly terms?: Parameters<typeof runJob>[3]
}[] = [
  {
    name: 'the first seat is the odd one out, and two of a pool of three agree',
    pool: 3,
    answers: ['no', 'yes', 'yes'],
    group: [1, 2],
  },
  {
    name: 'two of three match: a fourth makes it three of four',
    pool: 5,
    answers: ['yes', 'no', 'yes', 'yes'],
    group: [0, 2, 3],
  },
  {
    name: 'two joiners disagree, too: three of seven',
    pool: 7,
    answers: ['a', 'b', 'c', 'd', 'c', 'c'],
    group: [2, 4, 5],
  },
  {
    name: 'a majority of five',
    pool: 6,
    answers: ['a', 'b', 'a', 'a'],
    group: [0, 2, 3],
    terms: { rule: 'majority' },
  },
  {
    name: 'the client wants three matches for each answer',
    pool: 6,
    answers: ['a', 'a', 'a', 'a'],
    group: [0, 1, 2, 3],
    terms: { minMatches: 3 },
  },
]

describe('a job is accepted', () => {
  for (const { name, pool, answers, group, terms } of accepted) {
    it(`when ${name}`, async () => {
      const nodes = await join(pool)
      const run = await runJob(icl, nodes, answers, terms)
      await icl.clock.advance(1_500)
      const { seated, deliverer, view } = run
      const members = group.map((seat) => seated[seat]!)
      const { status, reason, agreement, quorum, commit_tx } = await view()
      expect([status, reason]).toEqual(['accepted', 'quorum-agreed'])
      expect(agreement).toMatchObject({
        answers: answers.length,
        group: addressesOf(members),
        deliverer: deliverer!.address,
      })
      expect(members).toContain(deliverer)
      expect(quorum.map(({ node, verdict }) => [node, verdict])).toEqual(
        seated.map((node) => [
          node.address,
          node === deliverer ? undefined : members.includes(node) ? 'match' : 'no-match',
        ]),
      )
      const { answers: signed, verdicts } = await checkedReceipt(run)
      expect([signed.length, verdicts.length]).toEqual([answers.length, answers.length - 1])
      expect(commit_tx).toMatch(/^0x/)
      expect(icl.chain.committed).toHaveLength(1)
    })
  }
})

it('a job is disputed when a pool of four cannot bring three to agree any more', async () => {
  const nodes = await join(4)
  const answers = ['a', 'b', 'c']
  const { job, jobId, seated, view } = await answerJob(icl, nodes, answers)
  await icl.clock.advance(2_000)
  const { status, reason, agreement } = await view()
  expect([status, reason]).toEqual(['disputed', 'quorum-disagreed'])
  expect(agreement).toMatchObject({ needed: 3, answers: answers.length, group: [] })
  expect(icl.chain.committed).toEqual([])
  expect(seated).toHaveLength(answers.length)
  for (const node of nodes) expect(await offersOf(node)).toEqual([])
  const receipt = job.api.getReceipt({ params: { jobId } }, { readToken: job.readToken })
  expect(await codeOf(receipt)).toBe('receipt-not-ready')
  for (const { address } of nodes) {
    const { events } = await icl.api().getNodeEvents({ params: { address }, query: {} })
    const codes = events.map(({ body }) => body.code)
    const hasAnswered = seated.some((node) => node.address === address)
    expect(codes).toEqual(hasAnswered ? ['answer-undecided'] : [])
  }
})

it('a node that joins later commits and reveals as the first ones do, while these wait', async () => {
  const nodes = await join(5)
  const { jobId, seated } = await answerJob(icl, nodes, ['a', 'b', 'a'])
  await icl.clock.advance(2_000)
  const late = (
    await Promise.all(nodes.map(async (node) => ({ node, offers: await offersOf(node) })))
  )
    .filter(({ offers }) => offers.length > 0)
    .map(({ node }) => node)
  expect(late).toHaveLength(1)
  const [fourth] = late
  expect(await ownAssignment(seated[0]!, jobId)).toMatchObject({ step: 'wait' })
  const claimed = await claim(fourth!)
  expect(claimed).toMatchObject({ role: 'verifier', position: 3 })
  await commitTo(fourth!, claimed, 'a')
  expect(await ownAssignment(fourth!, jobId)).toMatchObject({ step: 'reveal' })
  await reveal(fourth!, jobId)
  const steps = await Promise.all(
    [...seated, fourth!].map(async (node) => (await ownAssignment(node, jobId)).step),
  )
  expect(steps.toSorted()).toEqual(['deliver', 'wait', 'wait', 'wait'])
  expect(steps[1]).toBe('wait')
})
