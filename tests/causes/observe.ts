import { privateKeyToAccount } from 'viem/accounts'
import { publicJobDetail } from '../../icl/console/public-job.ts'
import { viewJob } from '../../icl/operations/view-job.ts'
import { stuckJobError } from '../../lib/client/inference.ts'
import { type Clock, monotonicMs } from '../../lib/clock.ts'
import { systemClock } from '../../lib/system.ts'
import { createNodeChain } from '../../node/chain/contracts.ts'
import { createOpenAi } from '../../node/inference/openai.ts'
import { runJob } from '../../node/jobs/run-job.ts'
import { whyText } from '../../web/console/format.ts'
import { anAddress } from '../branded.ts'
import { sampleJob, take } from '../icl/rules/sample-job.ts'
import { startRpcStandIn } from '../lib/chain/rpc-stand-in.ts'
import { startServer } from '../local-server.ts'
import { jobId, modelId } from '../node/fakes.ts'
import { createJobWorld } from '../node/job-world.ts'
import { callFaults, observeCall } from './call-faults.ts'
import { type NodeFault, nodeFaults } from './node-faults.ts'
import { type ProviderFault, providerFaults } from './provider-faults.ts'

/** What everybody concerned reads of one fault: the code on the wire, and the lines of the node's log, the client and the console. */
export type Observed = {
  readonly fault: string
  readonly code: string | undefined
  readonly node: string
  readonly client: string
  readonly console: string
}

const steps = { onClaimed: () => {}, onSlotFree: () => {} }
const apiKey = 'sk-test-0123456789'
// Short where it has to end over the provider's silence, else as usual.
const leaseSecondsOf = ({ code }: ProviderFault): number => (code === 'provider-silent' ? 4 : 120)

/** Time that stands still until the provider is asked: a busy machine must not use up a short lease before. */
function standingClock() {
  const [epochMs, startMs] = [systemClock.now(), performance.now()]
  let startedMs: number | undefined
  const passedMs = () => (startedMs === undefined ? 0 : performance.now() - startedMs)
  const clock: Clock = {
    now: () => epochMs + passedMs(),
    monotonic: () => monotonicMs(startMs + passedMs()),
    sleep: systemClock.sleep,
  }
  const start = () => {
    startedMs ??= performance.now()
  }
  return { clock, start }
}

type World = Awaited<ReturnType<typeof createJobWorld>>

/** Has a real provider adapter ask a server that answers with the fault. */
async function observeProvider(row: ProviderFault): Promise<Observed> {
  const { fault, answer } = row
  const { clock, start } = standingClock()
  const server = await startServer((response, request) => {
    start()
    return answer(response, request)
  })
  try {
    const world = await createJobWorld('leader')
    const provider = createOpenAi({
      ...{ name: 'openai', keyVariable: 'OPENAI_API_KEY', apiKey, baseUrl: server.url },
      ...{ clock, log: world.log },
      firstBackoffMs: 1,
    })
    const claim = { ...world.claim, claimDeadline: world.claim.server_time + leaseSecondsOf(row) }
    world.api.claimAssignment.mockResolvedValue(claim)
    world.api.getAssignment.mockResolvedValue(world.view)
    world.deps = {
      ...{ ...world.deps, clock },
      models: new Map([[modelId, { provider, model: 'test-model' }]]),
    }
    await runJob(world.deps, world.assignment, new AbortController().signal, steps)
    return await told(fault, world, server.url)
  } finally {
    await server.close()
  }
}

async function observeNode({ fault, arrange, rpc }: NodeFault): Promise<Observed> {
  const world = await createJobWorld('leader')
  const stop = new AbortController()
  await arrange?.(world, stop)
  const run = () => runJob(world.deps, world.assignment, stop.signal, steps)
  if (rpc === undefined) await world.clock.until(run())
  else await withRpc(world, rpc, run)
  return await told(fault, world, '')
}

async function withRpc(
  world: World,
  answers: NonNullable<NodeFault['rpc']>,
  run: () => Promise<void>,
): Promise<void> {
  const server = await startRpcStandIn(answers)
  const address = anAddress(`0x${'0c'.repeat(20)}`)
  const { storeOutputKey } = createNodeChain({
    ...{ rpcUrl: server.url, chainId: 31_337, nodeRegistry: address, promptKeyStore: address },
    account: privateKeyToAccount(`0x${'17'.repeat(32)}`),
  })
  world.deps = { ...world.deps, clock: systemClock, chain: { ...world.chain, storeOutputKey } }
  await run()
  await server.close()
}

/** Takes the node's word for it to the ICL's rules, and from the job as it is then what its client and the console show. */
async function told(fault: string, world: World, url: string): Promise<Observed> {
  const { abortAssignment, abortTurn } = world.api
  const [given] = [...abortAssignment.mock.calls, ...abortTurn.mock.calls]
  const reason = given?.[0].body.reason
  const node = world.log.lines.findLast((line) => line.startsWith('ERROR')) ?? ''
  const line = node
    .replaceAll(jobId, 'ID')
    .replaceAll(url === '' ? '\u0000' : url, 'URL')
    .replace(/within \d+ s/, 'within N s')
  if (reason === undefined) return { fault, code: undefined, node: line, client: '', console: '' }
  let job = sampleJob({ modelId })
  for (const assignment of job.assignments) {
    job = take(job, { type: 'abort', node: assignment.node, fence: assignment.fence, reason }, 10)
  }
  const { message, hint } = stuckJobError(viewJob(job))
  const { assignments } = await publicJobDetail({ tag: async () => new Uint8Array(8) }, job)
  const [first] = assignments
  return {
    ...{ fault, code: reason, node: line, client: `${message} [${hint}]` },
    console: whyText(first?.reason ?? '', modelId),
  }
}

/** Puts in every fault. */
export const observeAll = async (): Promise<readonly Observed[]> => [
  ...(await Promise.all(providerFaults.map(observeProvider))),
  ...(await Promise.all(nodeFaults.map(observeNode))),
  ...(await Promise.all(callFaults.map(observeCall))),
]
