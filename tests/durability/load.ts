import type { Job } from '../../icl/rules/job.ts'
import { createApi } from '../../lib/api.ts'
import type { JobId } from '../../lib/codecs.ts'
import { ProblemError } from '../../lib/problem.ts'
import { systemClock, systemRandom } from '../../lib/system.ts'
import { createFakeChain } from '../icl/fake-chain.ts'
import {
  beat,
  commitTo,
  joinNode,
  type Outside,
  origin,
  resultBody,
  submit,
  type TestNode,
} from '../icl/test-icl.ts'

/** What an ICL acknowledged: a test of its job that must hold from then on. */
export type Told = {
  readonly kind: 'submit' | 'claim' | 'commit' | 'result' | 'verdict'
  readonly jobId: JobId
  readonly at: number
  readonly isKept: (job: Job) => boolean
}

/** Clients and nodes that work as fast as they are answered. */
export type Load = {
  /** Everything that was acknowledged. */
  readonly told: readonly Told[]
  readonly icl: Outside
  readonly nodes: readonly TestNode[]
  /** How requests ended, by status or the kind of failure. */
  readonly answers: Map<string, number>
  /** Jobs of which everything was acknowledged. */
  finished: number
  /** The first job that was taken in, and the token with which it is read. */
  firstJob: { readonly jobId: JobId; readonly readToken: string } | undefined
  stop(): Promise<void>
}

const pauseMs = 50
const beatMs = 20_000
const giveUpMs = 30_000

/** What those outside see of an ICL that may be away. */
export function createOutside(
  urlOf: () => string,
  note: (answer: string, response?: Response) => void,
): Outside {
  const chain = createFakeChain()
  const fetchHere = async (request: Request) => {
    const { pathname, search } = new URL(request.url)
    try {
      // The signature names the public origin, as behind a proxy.
      const response = await fetch(new Request(`${urlOf()}${pathname}${search}`, request))
      note(String(response.status), response)
      return response
    } catch (error) {
      note('no answer')
      throw error
    }
  }
  const sleepShort = (ms: number) => systemClock.sleep(Math.min(ms, pauseMs))
  return {
    chain,
    clock: {
      ...systemClock,
      advance: sleepShort,
      jump: sleepShort,
      leap: () => {},
      until: (work) => work,
    },
    api: (signer) =>
      createApi({
        baseUrl: origin,
        fetch: fetchHere,
        clock: systemClock,
        random: systemRandom,
        ...(signer && { signer }),
      }),
  }
}

/** How much there is to do. */
type LoadOptions = {
  /** Jobs at a time. */
  readonly workers: number
  readonly nodeCount: number
  /** How long everybody waits before each call, in milliseconds. */
  readonly thinkMs?: number
}

/** Starts the load. */
export async function startLoad(
  icl: Outside,
  answers: Map<string, number>,
  options: LoadOptions,
): Promise<Load> {
  const { workers, nodeCount, thinkMs = 0 } = options
  const nodes: TestNode[] = []
  for (let index = 0; index < nodeCount; index++) nodes.push(await joinNode(icl, `node ${index}`))
  const told: Told[] = []
  const stop = new AbortController()
  const load: Load = {
    told,
    icl,
    nodes,
    answers,
    finished: 0,
    firstJob: undefined,
    stop: async () => {},
  }
  const patient = <T>(call: () => Promise<T>) => patiently(stop.signal, thinkMs, call)
  const work = async (worker: number) => {
    for (let count = 0; !stop.signal.aborted; count++) {
      await runJob(load, told, `client ${worker} ${count}`, patient).catch(() =>
        systemClock.sleep(pauseMs),
      )
    }
  }
  const live = async () => {
    while (!stop.signal.aborted) {
      await systemClock.sleep(beatMs, stop.signal).catch(() => {})
      await Promise.all(nodes.map((node) => patient(() => showUp(icl, node)).catch(() => {})))
    }
  }
  const running = Promise.all([
    live(),
    ...Array.from({ length: workers }, (_, worker) => work(worker)),
  ])
  load.stop = async () => {
    stop.abort()
    await running
  }
  return load
}

/** A node's heartbeat and its look for work, which also a node that is not drawn for long keeps up; or it would leave the pool. */
async function showUp(icl: Outside, node: TestNode): Promise<void> {
  await beat(icl, node)
  await node.api.getAssignments({ params: { address: node.address }, query: { wait: 0 } })
}

/** Repeats a call that got no answer, or that the ICL could not take now, as clients and nodes do. */
async function patiently<T>(
  signal: AbortSignal,
  thinkMs: number,
  call: () => Promise<T>,
): Promise<T> {
  await systemClock.sleep(thinkMs)
  const end = systemClock.now() + giveUpMs
  for (;;) {
    try {
      return await call()
    } catch (error) {
      const isFinal = error instanceof ProblemError && error.code !== 'unavailable'
      if (isFinal || signal.aborted || systemClock.now() > end) throw error
      await systemClock.sleep(pauseMs)
    }
  }
}

async function runJob(
  load: Load,
  told: Told[],
  client: string,
  patient: <T>(call: () => Promise<T>) => Promise<T>,
): Promise<void> {
  const { icl, nodes } = load
  const job = await submit(icl, { client })
  const { jobId } = job
  load.firstJob ??= { jobId, readToken: job.readToken }
  const tell = (kind: Told['kind'], isKept: Told['isKept']) =>
    told.push({ kind, jobId, at: systemClock.now(), isKept })
  tell('submit', () => true)
  const nodeAt = (address: string) => nodes.find((node) => node.address === address)!
  const take = async (address: string) => {
    const node = nodeAt(address)
    const task = await patient(claimer(node, jobId))
    const { fence } = task
    tell('claim', ({ slots }) =>
      slots.some(
        (slot) => slot.fence === fence && !['awaiting-grant', 'offered'].includes(slot.status),
      ),
    )
    return { node, task, fence }
  }
  const leader = await take(job.preview.leader)
  const reveals = []
  for (const address of job.preview.verifiers) {
    const { node, task, fence } = await take(address)
    const reveal = await patient(() => commitTo(node, task, 'answer'))
    tell('commit', ({ slots }) =>
      slots.some((slot) => slot.fence === fence && slot.commitment !== undefined),
    )
    reveals.push({ node, fence, reveal })
  }
  const body = await resultBody(icl, leader.node, leader.task, 'answer')
  await patient(() => leader.node.api.postResult({ body }))
  tell('result', ({ result }) => result?.body.outHighHandle === body.outHighHandle)
  for (const { node, fence, reveal } of reveals) {
    const verdict = await patient(reveal)
    await patient(() => node.api.postVerdict({ body: verdict }))
    tell('verdict', ({ slots }) =>
      slots.some((slot) => slot.fence === fence && slot.verdict?.body.verdict === 'match'),
    )
  }
  load.finished++
}

/** Claims a node's offer of one job. A claim whose answer was lost is sent again: the offer is no longer listed then. */
function claimer(node: TestNode, jobId: JobId) {
  let fence: number | undefined
  return async () => {
    if (fence === undefined) {
      const { assignments } = await node.api.getAssignments({
        params: { address: node.address },
        query: { wait: 1 },
      })
      fence = assignments.find((assignment) => assignment.jobId === jobId)?.fence
    }
    if (fence === undefined) throw new Error('not offered yet')
    return node.api.claimTask({ body: { jobId, fence } })
  }
}
