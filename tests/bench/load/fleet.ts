import type { JobId } from '../../../lib/codecs.ts'
import type { NodeSigner } from '../../../lib/request-signature.ts'
import { OwnAssignment } from '../../../lib/schemas/assignments.ts'
import { SignedList } from '../../../lib/schemas/list.ts'
import { walletOf } from '../../icl/test-icl.ts'
import { type Answer, type Connection, connectMany, connectTo } from './connection.ts'
import { type Call, requestBytes } from './signed-request.ts'
import {
  claim,
  commitment,
  delivery,
  givenTo,
  list,
  type Offer,
  opened,
  poll,
  preview,
  reveal,
  storedKey,
  submission,
  task,
  verdict,
} from './wire-calls.ts'

/** When something happened to a job, in milliseconds of this process; of what happens three times, each. */
export type JobTimes = {
  readonly previewed: number
  readonly submitted: number
  taken: number
  readonly claimed: number[]
  readonly committed: number[]
  /** When the deliverer knew that all had revealed. */
  revealed: number
  delivered: number
  settled: number
}

/** Offers, as polls and the answers to steps bring them. */
type Brought = { readonly assignments?: readonly Offer[] }

/** A node, and how it starts what is offered to it. */
type Worker = { readonly node: NodeSigner; readonly start: (offer: Offer) => void }

const atWorkPeriodMs = 2_000
/** How long a client keeps a preview. */
const freshMs = 30_000

type OpenJob = {
  readonly times: JobTimes
  readonly claimedByAll: ReturnType<typeof Promise.withResolvers<void>>
  readonly settled: ReturnType<typeof Promise.withResolvers<void>>
}

/** Nodes that wait for work by long-poll, and clients that submit it. */
export type Fleet = {
  /** Submits one job; resolves once all three nodes have claimed it, or once it has settled, as `until` says. */
  readonly runJob: (client: string, until: 'claimed' | 'settled') => Promise<JobTimes>
  readonly stop: () => void
}

/** How a fleet works. */
export type FleetOptions = {
  /** Of the replicas that it talks to, in turn. */
  readonly ports: readonly number[]
  readonly nodes: readonly NodeSigner[]
  /** Whether nodes do the work that they claim, at once, as an instant provider would let them. */
  readonly works: boolean
}

async function ask<T>(
  connection: Connection,
  call: Call,
  signer?: Parameters<typeof requestBytes>[1],
): Promise<T> {
  return parsed<T>(await connection.send(await requestBytes(call, signer)), call)
}

function parsed<T>({ status, body }: Answer, { method, path }: Call): T {
  if (status !== 200) throw new Error(`${method} ${path} was answered ${status}: ${body}`)
  return JSON.parse(body) as T
}

/** A pool of connections. */
function createConnections(ports: readonly number[]) {
  const free: Connection[] = []
  const all: Connection[] = []
  const open = async () => {
    const connection = await connectTo(ports, all.length)
    all.push(connection)
    return connection
  }
  return {
    use: async <T>(work: (connection: Connection) => Promise<T>): Promise<T> => {
      let connection = free.pop()
      // Whatever nobody has used for 10 s, the server has closed.
      while (connection && !connection.isOpen()) connection = free.pop()
      const known = connection
      connection ??= await open()
      try {
        const answer = await work(connection)
        free.push(connection)
        return answer
      } catch (error) {
        // It may have closed it just as the request was sent; every request may be repeated.
        if (known === undefined || known.isOpen()) throw error
        return work(await open())
      }
    },
    close: () => {
      for (const connection of all) connection.close()
    },
  }
}

/** Connects every node and has it wait for work. */
export async function startFleet({ ports, nodes, works }: FleetOptions): Promise<Fleet> {
  const spare = createConnections(ports)
  const jobs = new Map<JobId, OpenJob>()
  const early = new Map<JobId, ((job: OpenJob) => void)[]>()
  const polling = await connectMany(ports, nodes.length)
  let isOver = false
  let failure: unknown
  let poolCid = ''
  let freshUntil = 0

  const fail = (error: unknown) => {
    if (isOver) return
    failure ??= error
    for (const { settled, claimedByAll } of jobs.values()) {
      settled.reject(error)
      claimedByAll.reject(error)
    }
  }
  // A node may have its offer before the client has its answer.
  const jobOf = (id: JobId): Promise<OpenJob> => {
    const known = jobs.get(id)
    if (known) return Promise.resolve(known)
    return new Promise((resolve) => early.set(id, [...(early.get(id) ?? []), resolve]))
  }
  const workOn = async ({ node, start }: Worker, offer: Offer): Promise<void> => {
    const send = async <T>(call: Call) => {
      const told = await spare.use((connection) => ask<T & Brought>(connection, call, node))
      for (const brought of told.assignments ?? []) start(brought)
      return told
    }
    const claimed = await send(claim(offer))
    const claimedAt = performance.now()
    const { times, claimedByAll, settled } = await jobOf(offer.jobId)
    if (times.claimed.push(claimedAt) === 3) claimedByAll.resolve()
    if (!works) return
    let answer = await givenTo(node, claimed)
    // The answer to each step waits for the next one, which is asked for only when that took too long.
    let told = await send<{ next?: unknown }>(await commitment(answer))
    times.committed.push(performance.now())
    for (;;) {
      const next = told.next ?? (await send(task(offer)))
      const own = OwnAssignment.parse(next)
      const { step, to_check: seen, checkers = [] } = own
      told = {}
      if (step === 'reveal') {
        answer = await opened(node, answer, own)
        told = await send(reveal(answer))
      } else if (step === 'deliver') {
        times.revealed = performance.now()
        const call = await delivery(node, answer, claimed, checkers)
        await send(call)
        times.delivered = performance.now()
        return
      } else if (seen) {
        const call = await verdict(node, answer, seen)
        const { phase } = await send<{ phase: string }>(call)
        if (phase === 'running') return
        times.settled = performance.now()
        if (phase === 'accepted') settled.resolve()
        else settled.reject(new Error(`A job ended ${phase}`))
        return
      } else if (step !== 'wait') throw new Error(`A node has to ${step}`)
    }
  }
  /** A node polls as the daemon does: once in 2 s at most while it works, since the answers to its steps bring offers, too. */
  const live = async (node: NodeSigner, first: Connection): Promise<void> => {
    let connection = first
    const taken = new Set<string>()
    let working = 0
    let idle = () => {}
    const start = (offer: Offer) => {
      const name = `${offer.jobId} ${offer.fence}`
      if (taken.has(name)) return
      taken.add(name)
      working += 1
      const ended = () => {
        working -= 1
        if (working === 0) idle()
      }
      void workOn({ node, start }, offer).catch(fail).finally(ended)
    }
    while (!isOver) {
      if (!connection.isOpen()) {
        // A busy machine may take longer to come to a connection than the server keeps it.
        connection = await connectTo(ports, polling.length)
        polling.push(connection)
      }
      const asked = poll(node.address, 5)
      const found = await ask<Brought>(connection, asked, node).catch((error: unknown) => {
        if (connection.isOpen()) throw error
      })
      for (const offer of found?.assignments ?? []) start(offer)
      if (working === 0) continue
      await new Promise<void>((resolve) => {
        idle = resolve
        setTimeout(resolve, atWorkPeriodMs)
      })
    }
  }
  for (const [index, node] of nodes.entries()) {
    const connection = polling[index]
    if (connection) void live(node, connection).catch(fail)
  }

  return {
    runJob: async (name, until) => {
      if (failure) throw failure
      const { address, signer } = walletOf(name)
      return spare.use(async (connection) => {
        const previewed = performance.now()
        if (previewed >= freshUntil) {
          poolCid = (await ask<{ pool_cid: string }>(connection, preview)).pool_cid
          freshUntil = previewed + freshMs
        }
        const key = await storedKey(address, poolCid)
        const listCall = list(key)
        const listed = await connection.send(await requestBytes(listCall, signer))
        const call = submission(address, key, SignedList.parse(parsed<unknown>(listed, listCall)))
        const request = await requestBytes(call, signer)
        const submitted = performance.now()
        const { jobId } = parsed<{ jobId: JobId }>(await connection.send(request), call)
        const times: JobTimes = {
          previewed,
          submitted,
          taken: performance.now(),
          claimed: [],
          committed: [],
          revealed: 0,
          delivered: 0,
          settled: 0,
        }
        const job = {
          times,
          claimedByAll: Promise.withResolvers<void>(),
          settled: Promise.withResolvers<void>(),
        }
        job.claimedByAll.promise.catch(() => {})
        job.settled.promise.catch(() => {})
        jobs.set(jobId, job)
        for (const tell of early.get(jobId) ?? []) tell(job)
        early.delete(jobId)
        if (failure) throw failure
        await (until === 'claimed' ? job.claimedByAll : job.settled).promise
        jobs.delete(jobId)
        return times
      })
    },
    stop: () => {
      isOver = true
      for (const connection of polling) connection.close()
      spare.close()
    },
  }
}
