import type { IclProcess } from '../../demo/icl-process.ts'
import type { DemoRuntime } from '../../demo/runtime-programs.ts'
import { systemClock } from '../../lib/system.ts'
import { createSoftwareTpm } from '../icl/attestation/software-tpm.ts'
import { tpmNode } from '../icl/attestation/tpm-node.ts'
import { joinNode, type Outside, origin, type TestNode } from '../icl/test-icl.ts'
import { once } from './inside/case.ts'
import { submitJob, workOn } from './job.ts'
import { nodeNames, outsideOf, type RuntimesWorld, tpmNodeName } from './world.ts'

/** An ICL in a process of its own, and those who deal with it; everything is made when it is first asked for. */
export type RunningIcl = ReturnType<typeof dealWith>

/** Makes those who deal with an ICL. */
export function dealWith(world: RuntimesWorld, runtime: DemoRuntime, process: IclProcess) {
  const outside = outsideOf(() => process.url)
  const nodes = once(async () => {
    const joined: TestNode[] = []
    for (const name of nodeNames) joined.push(await joinNode(outside, name))
    return joined
  })
  const awaitedJob = once(async () => submitAwaited(world, outside, await nodes()))
  const network = { public_url: origin, chain_id: world.chain.chainId }
  return {
    world,
    runtime,
    process,
    outside,
    /** A path of it, asked as it is. */
    ask: (path: string, init?: RequestInit) => fetch(process.url + path, init),
    nodes,
    tpmNode: once(async () => {
      const tpm = await createSoftwareTpm(world.vendor, Date.now())
      return tpmNode({ ...outside, deps: { network } } as never, tpmNodeName, tpm)
    }),
    /** A job that is offered to its quorum, which waited for it with long-polls: how long each was answered after it was submitted, in ms. */
    awaitedJob,
    /** Does the job's work, once. */
    work: once(async () => workOn(world, await awaitedJob())),
  }
}

async function submitAwaited(world: RuntimesWorld, outside: Outside, nodes: readonly TestNode[]) {
  let answered = 0
  let submittedAt = Number.POSITIVE_INFINITY
  const polls = nodes.map(async ({ api, address }) => {
    const answer = await api.getAssignments(
      { params: { address }, query: { wait: 30 } },
      { timeoutMs: 60_000 },
    )
    answered += 1
    return { answer, waitedMs: performance.now() - submittedAt }
  })
  // An ICL that does not hold them would have answered by then.
  await systemClock.sleep(1_000)
  if (answered > 0) throw new Error(`${answered} long-polls were answered before there was a job`)
  const job = await submitJob(world, outside, nodes)
  submittedAt = performance.now()
  const answers = await Promise.all(polls)
  const offered = answers.filter(({ answer }) =>
    answer.assignments.some(({ jobId }) => jobId === job.jobId),
  )
  if (offered.length < nodes.length) {
    throw new Error(`Only ${offered.length} of ${nodes.length} long-polls brought the job`)
  }
  return { ...job, waits: answers.map(({ waitedMs }) => Math.round(waitedMs)) }
}
