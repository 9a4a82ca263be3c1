import { claim, commitTo, resultBody, submit, type TestIcl, type TestNode } from './test-icl.ts'

/** How to run a job: who is its client, may the coordinator grant, and what to do just before the verdicts. */
type RunOptions = Parameters<typeof submit>[1] & { readonly beforeVerdicts?: () => void }

/** Submits a job and has its quorum give the answers, by seat; ends when the last verdict is taken. */
export async function runJob(
  icl: TestIcl,
  nodes: readonly TestNode[],
  answers: readonly [string, string, string],
  options: RunOptions = {},
) {
  const nodeAt = (address: string) => nodes.find((node) => node.address === address)!
  const job = await submit(icl, options)
  const leader = nodeAt(job.leader)
  const verifiers = job.verifiers.map(nodeAt)
  const leaderClaim = await claim(leader)
  const reveals: Awaited<ReturnType<typeof commitTo>>[] = []
  for (const [index, verifier] of verifiers.entries()) {
    reveals.push(await commitTo(verifier, await claim(verifier), answers[index + 1]!))
  }
  await leader.api.postResult({ body: await resultBody(icl, leader, leaderClaim, answers[0]) })
  options.beforeVerdicts?.()
  for (const [index, verifier] of verifiers.entries()) {
    await verifier.api.postVerdict({ body: await reveals[index]!() })
  }
  const path = { params: { jobId: job.jobId } }
  const token = { readToken: job.readToken }
  return { job, leader, verifiers, view: () => job.api.getJob(path, token) }
}
