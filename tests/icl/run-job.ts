import type { JobId } from '../../lib/codecs.ts'
import { check, claim, commitTo, deliver, offersOf, ownAssignment, reveal } from './node-steps.ts'
import { submit } from './test-client.ts'
import type { Outside, TestNode } from './test-icl.ts'

type SubmitOptions = Parameters<typeof submit>[1]

/** How to run a job: who is its client, under which terms, and what to do just before the verdicts. */
type RunOptions = SubmitOptions & { readonly beforeVerdicts?: () => void }

/** Submits a job and has its nodes give the answers by seat, batch by batch; ends when the last answer is revealed. */
export async function answerJob(
  icl: Outside,
  nodes: readonly TestNode[],
  answers: readonly string[],
  options: SubmitOptions = {},
) {
  const job = await submit(icl, options)
  const { jobId } = job
  const seated: TestNode[] = []
  while (seated.length < answers.length) {
    const batch = await offeredNodes(nodes, job.list.body.list, jobId)
    if (batch.length === 0) throw new Error(`nobody is offered answer ${seated.length + 1}`)
    for (const node of batch) {
      const answer = answers[seated.push(node) - 1]
      if (answer === undefined) throw new Error(`no answer is given for ${seated.length} seats`)
      await commitTo(node, await claim(node, jobId), answer)
    }
    for (const node of batch) await reveal(node, jobId)
    if (seated.length < answers.length) await icl.clock.advance(2_000)
  }
  const path = { params: { jobId } }
  const token = { readToken: job.readToken }
  return { job, jobId, seated, view: () => job.api.getJob(path, token) }
}

/** Runs a job whose nodes give these answers: the one whose turn it is delivers, and all others say what they make of it. */
export async function runJob(
  icl: Outside,
  nodes: readonly TestNode[],
  answers: readonly string[],
  { beforeVerdicts, ...options }: RunOptions = {},
) {
  const answered = await answerJob(icl, nodes, answers, options)
  const { jobId, seated } = answered
  const deliverer = await delivererOf(seated, jobId)
  if (deliverer) {
    await deliver(icl, deliverer, jobId)
    beforeVerdicts?.()
    await checkAll(seated, jobId)
  }
  return { ...answered, deliverer }
}

/** Has all nodes say what they make of the current delivery: those that differ first, because the last check settles the job. */
export async function checkAll(nodes: readonly TestNode[], jobId: JobId): Promise<void> {
  for (const wanted of ['differ', 'check'] as const) {
    for (const node of nodes) {
      if ((await ownAssignment(node, jobId)).step === wanted) await check(node, jobId)
    }
  }
}

/** The nodes that have an offer in the job, in the list's order. */
async function offeredNodes(
  nodes: readonly TestNode[],
  list: readonly string[],
  jobId: string,
): Promise<TestNode[]> {
  const offered: TestNode[] = []
  for (const node of nodes.filter(({ address }) => list.includes(address))) {
    const offers = await offersOf(node)
    if (offers.some((offer) => offer.jobId === jobId)) offered.push(node)
  }
  return offered.toSorted((a, b) => list.indexOf(a.address) - list.indexOf(b.address))
}

/** Lets the job's time pass, with what an outage adds to it. */
export async function expire({ clock }: Pick<Outside, 'clock'>): Promise<void> {
  await clock.jump(1_000_000)
  await clock.advance(1_500)
}

/** The node whose turn it is to deliver. */
export async function delivererOf(
  nodes: readonly TestNode[],
  jobId: JobId,
): Promise<TestNode | undefined> {
  for (const node of nodes) {
    if ((await ownAssignment(node, jobId)).step === 'deliver') return node
  }
  return undefined
}
