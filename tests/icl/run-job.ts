import type { JobId } from '../../lib/codecs.ts'
import {
  check,
  claim,
  commitTo,
  deliver,
  type Outside,
  offersOf,
  ownAssignment,
  reveal,
  submit,
  type TestNode,
} from './test-icl.ts'

/** How to run a job: who is its client, under which terms, and what to do just before the verdicts. */
type RunOptions = Parameters<typeof submit>[1] & { readonly beforeVerdicts?: () => void }

/**
 * Submits a job and has its nodes give the answers by seat, batch by batch; then the one whose turn it is delivers, and all others say what they make of
 * it. Ends when the last verdict is taken, or the last answer if nobody delivers.
 */
export async function runJob(
  icl: Outside,
  nodes: readonly TestNode[],
  answers: readonly string[],
  options: RunOptions = {},
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
      await commitTo(node, await claim(node), answer)
    }
    for (const node of batch) await reveal(node, jobId)
    if (seated.length < answers.length) await icl.clock.advance(2_000)
  }
  const deliverer = await delivererOf(seated, jobId)
  if (deliverer) {
    await deliver(icl, deliverer, jobId)
    options.beforeVerdicts?.()
    for (const node of seated) {
      const { step } = await ownAssignment(node, jobId)
      if (step === 'check' || step === 'differ') await check(node, jobId)
    }
  }
  const path = { params: { jobId } }
  const token = { readToken: job.readToken }
  return { job, jobId, seated, deliverer, view: () => job.api.getJob(path, token) }
}

/** The nodes that have an offer in the job, in the list's order. */
async function offeredNodes(
  nodes: readonly TestNode[],
  list: readonly string[],
  jobId: string,
): Promise<TestNode[]> {
  const offered: TestNode[] = []
  for (const node of nodes) {
    const offers = await offersOf(node)
    if (offers.some((offer) => offer.jobId === jobId)) offered.push(node)
  }
  return offered.toSorted((a, b) => list.indexOf(a.address) - list.indexOf(b.address))
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
