import { openAccess } from '../../icl/rules/access.ts'
import { isHeld, listen } from '../../icl/start/listen.ts'
import { createMemoryStore } from '../../icl/store/memory/store.ts'
import type { Store } from '../../icl/store/store.ts'
import type { Address, ComparatorId, JobId } from '../../lib/codecs.ts'
import type { OwnAssignment } from '../../lib/schemas/assignments.ts'
import type { SignedList } from '../../lib/schemas/list.ts'
import type { NumbersStatement } from '../../lib/schemas/statements.ts'
import { systemClock } from '../../lib/system.ts'
import { createSoftwareTpm } from '../icl/attestation/software-tpm.ts'
import { type TpmNode, tpmNode, trustIn } from '../icl/attestation/tpm-node.ts'
import { createVendor } from '../icl/attestation/tpm-vendor.ts'
import { coordinator, createFakeChain } from '../icl/fake-chain.ts'
import type { claim } from '../icl/node-steps.ts'
import {
  createReplica,
  heartbeatOf,
  joinNode,
  modelId,
  origin,
  type TestNode,
  walletOf,
} from '../icl/test-icl.ts'
import { sampleNetwork } from '../sample-network.ts'
import { createDice } from '../simulation/dice.ts'
import { createVirtualClock, holdTime } from '../virtual-clock.ts'
import { readApiDocument } from './api-document.ts'
import { createPlanted } from './secrets.ts'

type Claim = Awaited<ReturnType<typeof claim>>
type Wallet = ReturnType<typeof walletOf>

/** A job as its client knows it. */
export type KnownJob = {
  readonly client: Wallet
  readonly jobId: JobId
  readonly readToken: string
  /** What was sent, to be sent again. */
  readonly body: unknown
}

/** An assignment that a node was offered. */
type Offer = { readonly node: TestNode; readonly jobId: JobId; readonly fence: number }
/** What a node has claimed, its answer, and what it was told to do next when it asked last. */
export type ClaimedAssignment = {
  readonly node: TestNode
  readonly claim: Claim
  readonly answer: string
  readonly told?: OwnAssignment
  readonly seen?: OwnAssignment['commitments']
  /** The CID of the sealed answer that it has uploaded to show. */
  readonly shown?: string
  /** The numbers that it has committed to. */
  readonly numbers?: NumbersStatement
}

/** What is known of the state of the ICL: what requests are made of. The newest stands last. */
type Model = {
  readonly previews: {
    readonly poolCid: string
    readonly comparator: ComparatorId
    readonly quorum: number
  }[]
  readonly lists: { readonly client: Wallet; readonly list: SignedList }[]
  readonly jobs: KnownJob[]
  readonly accepted: KnownJob[]
  readonly offers: Offer[]
  readonly working: ClaimedAssignment[]
  /** Those that have committed: the ICL tells them what to do. */
  readonly committed: ClaimedAssignment[]
  readonly revealing: ClaimedAssignment[]
  readonly delivering: ClaimedAssignment[]
  readonly checking: ClaimedAssignment[]
  readonly showing: ClaimedAssignment[]
  readonly weighing: ClaimedAssignment[]
  readonly opening: ClaimedAssignment[]
  readonly challenges: { readonly address: Address; readonly nonce: string }[]
  readonly enrollments: {
    readonly node: TpmNode
    readonly nonce: string
    readonly secret: Uint8Array
  }[]
  readonly cids: string[]
  /** Values of answers by the name of their field. */
  readonly named: Map<string, (string | number)[]>
  nextHandle: bigint
}

/** An ICL with everybody who deals with it, all made from one seed. */
export type FuzzWorld = Awaited<ReturnType<typeof createWorld>>

/** A sign of life of a node whose model also says how likely a text is. */
export const weighingHeartbeat = (...[address, clock]: Parameters<typeof heartbeatOf>) => ({
  ...heartbeatOf(address, clock),
  model_takes: [{ model_id: modelId, parts: ['teacher' as const] }],
})

/** Keeps a list short: what is old is of no use. */
export function remember<T>(list: T[], item: T, most = 60): void {
  list.push(item)
  if (list.length > most) list.shift()
}

const numbered = (name: string, count: number) =>
  Array.from({ length: count }, (_, index) => `${name} ${index}`)

const anyPort = { hostname: '127.0.0.1', port: 0 }
/** Seconds of the ICL's own time that any answer may take: more than it holds a request. */
const mostSteps = 70
/** A server also needs time of this machine: a minute of it, in the steps of held requests. */
const mostStepsOverHttp = 3_000
const heldStepMs = 20
/** What waits for the ICL's clock gets a second of it for a second of this machine. */
const tickMs = 1_000

async function arrivalOverHttp(work: Promise<void>, request: Request): Promise<void> {
  const wait = new AbortController()
  const ms = isHeld(request) ? heldStepMs : tickMs
  await Promise.race([work, systemClock.sleep(ms, wait.signal).catch(() => {})])
  wait.abort()
}

/** The same request at another place; the signature stays the one for where the ICL is in public. */
function moved(request: Request, to: URL): Request {
  const { method, headers, body, url } = request
  const target = url.slice(new URL(url).origin.length)
  return new Request(to.origin + target, {
    method,
    headers,
    ...(body && { body }),
    redirect: 'error',
    // A connection that a server ends while the next request is under way would look like a fault.
    keepalive: false,
  })
}

/** Time stands still while a store works outside this thread. */
function holding(store: Store): Store {
  return new Proxy(store, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function' || ['status', 'scan'].includes(String(name))) return value
      return async (...args: unknown[]) => {
        const goOn = holdTime()
        try {
          return await value.apply(target, args)
        } finally {
          goOn()
        }
      }
    },
  })
}

/** Starts an ICL on a virtual clock, with nodes, and reads what it serves from its own document. */
export async function createWorld(
  seed: number,
  {
    openStore = async () => createMemoryStore(),
    overHttp = false,
  }: { openStore?: (() => Promise<Store>) | undefined; overHttp?: boolean | undefined } = {},
) {
  const dice = createDice(seed)
  const clock = createVirtualClock()
  const chain = createFakeChain()
  const vendor = await createVendor(clock.now())
  const planted = createPlanted(dice)
  const store = holding(await openStore())
  const network = sampleNetwork({
    public_url: origin,
    chain_id: 31_337,
    coordinator,
    attestation_backends: ['mock', 'tpm'],
    comparators: ['exact', 'similar/2'],
  })
  const icl = await createReplica(
    { clock, chain, store },
    {
      random: dice,
      network,
      tpm: trustIn(vendor),
      webhooks: {
        allowPrivate: false,
        send: async () =>
          dice.pick([{ status: 204 }, { status: 500 }, { status: 410 }, { error: 'timeout' }]),
      },
      access: {
        ...openAccess,
        metricsToken: planted.metricsToken,
        console: 'token',
        trustedProxies: 1,
        rates: {
          node: { requests: 1_000_000, seconds: 60 },
          wallet: { requests: 1_000_000, seconds: 60 },
        },
      },
    },
  )
  const nodes: TestNode[] = []
  for (const name of numbered('node', 9)) nodes.push(await clock.until(joinNode(icl, name)))
  // A sign of life counts when it is newer by a second.
  await clock.advance(1_000)
  for (const node of nodes)
    await clock.until(node.api.postHeartbeat({ body: weighingHeartbeat(node.address, clock) }))
  const tpmNodes: TpmNode[] = []
  for (const name of numbered('tpm node', 2)) {
    tpmNodes.push(tpmNode(icl, name, await createSoftwareTpm(vendor, clock.now())))
  }
  const server = overHttp ? listen({ fetch: icl.fetch }, anyPort) : undefined
  const served = await clock.until(icl.fetch(new Request(`${origin}/openapi.json`)))
  return {
    icl,
    dice,
    /** Sends a request to the ICL: to its application, or to a server that it has. */
    ask: server ? (request: Request) => fetch(moved(request, server.url)) : icl.fetch,
    /** Gives the answer of a server the time that it really takes; whatever is held needs that the clock continues. */
    arrival: server ? arrivalOverHttp : async () => {},
    /** How many seconds of the ICL's clock to wait for an answer. */
    mostSteps: server ? mostStepsOverHttp : mostSteps,
    document: readApiDocument(await served.json()),
    clients: numbered('client', 8).map(walletOf),
    nodes,
    tpmNodes,
    newcomers: numbered('newcomer', 4),
    model: {
      previews: [],
      lists: [],
      jobs: [],
      accepted: [],
      offers: [],
      working: [],
      committed: [],
      revealing: [],
      delivering: [],
      checking: [],
      showing: [],
      weighing: [],
      opening: [],
      challenges: [],
      enrollments: [],
      cids: [],
      named: new Map(),
      nextHandle: 1_000_000n,
    } as Model,
    planted,
    metricsToken: planted.metricsToken,
    stop: async () => {
      await server?.stop(true)
      await icl.stop()
      await store.close()
    },
  }
}
