import { hexToBytes, keccak256, stringToHex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { createApp } from '../../icl/app.ts'
import { createBatches } from '../../icl/async/batches.ts'
import { createKeyedMutex } from '../../icl/async/mutex.ts'
import { createNotifier } from '../../icl/async/notifier.ts'
import { runWorkers } from '../../icl/background/workers.ts'
import { createStoredBlobs } from '../../icl/blobs/stored.ts'
import { createClockWatch } from '../../icl/chain/clock-watch.ts'
import type { Dependencies } from '../../icl/dependencies.ts'
import { createPool } from '../../icl/pool/pool.ts'
import { deriveKeys } from '../../icl/records/icl-keys.ts'
import { createOutages } from '../../icl/records/outages.ts'
import { createRevocations } from '../../icl/records/revocations.ts'
import { openAccess } from '../../icl/rules/access.ts'
import { defaultJobLimits } from '../../icl/rules/job.ts'
import { createMemoryStore } from '../../icl/store/memory/store.ts'
import type { Store } from '../../icl/store/store.ts'
import { noMetrics } from '../../icl/telemetry/metrics.ts'
import { type Api, createApi } from '../../lib/api.ts'
import { attestationDigest, sessionProofBytes } from '../../lib/attestation.ts'
import { type Clock, unixSeconds } from '../../lib/clock.ts'
import type { Address, JobId } from '../../lib/codecs.ts'
import { hmacSha256, toBase64Url } from '../../lib/digest.ts'
import type { NodeSigner, RequestSigner } from '../../lib/request-signature.ts'
import type { AnswerPost } from '../../lib/schemas/statements.ts'
import { openRequestKey } from '../../lib/sealing/request-key.ts'
import { sessionTypedData } from '../../lib/session-grant.ts'
import { type SigningKey, signingKeyFromSeed } from '../../lib/session-key.ts'
import { systemRandom } from '../../lib/system.ts'
import { sampleNetwork } from '../sample-network.ts'
import { grantOf, privateKeyOf, readerOf } from '../sample-reading.ts'
import { createVirtualClock, type VirtualClock } from '../virtual-clock.ts'
import { activeNode, coordinator, createFakeChain, type FakeChain } from './fake-chain.ts'

export const origin = 'https://icl.test'
export const chainId = 31337
export const modelId = 'openai:test'
export const mockKey = new Uint8Array(16).fill(7)

/** What the replicas of an ICL have in common. */
export type Shared = {
  readonly clock: VirtualClock
  readonly chain: FakeChain
  readonly store: Store
}

/** What of an ICL those outside deal with. */
export type Outside = Pick<TestIcl, 'clock' | 'chain' | 'api'>

/** An ICL in this process: the real application on a virtual clock and a chain in memory. */
export type TestIcl = {
  readonly clock: VirtualClock
  readonly chain: FakeChain
  readonly deps: Dependencies
  readonly logged: string[]
  readonly fetch: (request: Request) => Promise<Response>
  api(signer?: RequestSigner): Api
  stop(): Promise<void>
  /** Stops it while the caller moves the clock. */
  drain(): Promise<void>
  /** Ends it as kill -9 does: nothing that it began continues, and nobody gets an answer. */
  kill(): void
  /** Stops it in its tracks until the function that this gives is called: whatever it waits for comes only then. */
  pause(): () => void
}

/** One store, chain and clock for several replicas. */
export const createShared = (): Shared => ({
  clock: createVirtualClock(),
  chain: createFakeChain(),
  store: { ...createMemoryStore(), shared: true },
})

/** An ICL that has its store for itself. */
export const createTestIcl = (changes: Partial<Dependencies> = {}): Promise<TestIcl> =>
  createReplica(
    { clock: createVirtualClock(), chain: createFakeChain(), store: createMemoryStore() },
    changes,
  )

const keySeed = new Uint8Array(32).fill(1)

/** One of the replicas of an ICL. */
export async function createReplica(
  { clock, chain, store }: Shared,
  changes: Partial<Dependencies> = {},
): Promise<TestIcl> {
  const life = createLife()
  const logged: string[] = []
  const note = (message: string, fields: object = {}) => {
    logged.push(`${message} ${JSON.stringify(fields)}`)
  }
  const log = { debug: note, info: note, warn: note, error: note }
  const own = { store: life.of(store), chain: life.of(chain), clock, ...changes }
  const deps: Dependencies = {
    random: systemRandom,
    replicaId: 'one',
    blobs: createStoredBlobs(own.store, 8 * 1024 * 1024, clock),
    pool: createPool(own),
    outages: createOutages({ ...own, log }),
    clockWatch: createClockWatch({ ...own, log, aheadMs: () => 0 }),
    keys: await deriveKeys(keySeed),
    notifier: createNotifier(own.clock),
    turns: createKeyedMutex(),
    changes: createBatches(),
    log,
    metrics: noMetrics,
    network: sampleNetwork({ public_url: origin, chain_id: chainId, coordinator }),
    limits: defaultJobLimits,
    access: openAccess,
    readDocsScript: () => 'export {}',
    mockAttestationKey: mockKey,
    revocations: createRevocations(own, new Set()),
    ...own,
  }
  const app = createApp(deps)
  const stop = new AbortController()
  const workers = runWorkers(deps, stop.signal)
  const fetch = (request: Request) => life.answer(async () => app.fetch(request))
  return {
    clock,
    chain,
    deps,
    logged,
    fetch,
    api: (signer) =>
      createApi({ baseUrl: origin, fetch, clock, random: systemRandom, ...(signer && { signer }) }),
    drain: () => {
      stop.abort()
      return workers
    },
    stop: async () => {
      stop.abort()
      await clock.until(workers)
    },
    kill: life.end,
    pause: life.pause,
  }
}

/** What a process does while it lives: after its end no call it made comes back, and no request is answered. */
export function createLife() {
  const ended = Promise.withResolvers<never>()
  ended.promise.catch(() => {})
  let isOver = false
  const never = new Promise<never>(() => {})
  let awake: Promise<void> = Promise.resolve()
  return {
    pause: () => {
      const pause = Promise.withResolvers<void>()
      awake = pause.promise
      return pause.resolve
    },
    end: () => {
      isOver = true
      ended.reject(new TypeError('fetch failed: the connection was closed'))
    },
    answer: async <T>(work: () => Promise<T>): Promise<T> =>
      isOver ? ended.promise : Promise.race([work(), ended.promise]),
    of: <T extends object>(port: T): T =>
      new Proxy(port, {
        get: (target, name) => {
          const value: unknown = Reflect.get(target, name)
          if (name === 'status' || name === 'scan' || typeof value !== 'function') return value
          return async (...args: unknown[]) => {
            await awake
            if (isOver) return never
            try {
              return await value.apply(target, args)
            } finally {
              await awake
              // biome-ignore lint/correctness/noUnsafeFinally: a dead process hears neither answer nor error
              if (isOver) return never
            }
          }
        },
      }),
  }
}

const wallets = new Map<string, ReturnType<typeof makeWallet>>()

function makeWallet(name: string) {
  const account = privateKeyToAccount(privateKeyOf(name))
  const signer: RequestSigner = {
    kind: 'wallet',
    address: account.address.toLowerCase() as Address,
    chainId,
    signMessage: ({ raw }) => account.signMessage({ message: { raw } }),
  }
  return { account, address: signer.address, signer }
}

/** A wallet made from a name: the same one each time. */
export function walletOf(name: string) {
  const wallet = wallets.get(name) ?? makeWallet(name)
  wallets.set(name, wallet)
  return wallet
}

/** The session key of a name. */
export const sessionKeyOf = (name: string): Promise<SigningKey> =>
  signingKeyFromSeed(hexToBytes(keccak256(stringToHex(`session ${name}`))))

/** What a node sends to be attested. */
export async function attestationOf(
  name: string,
  nonce: string,
  key: SigningKey,
  notAfter: number,
  hmacKey = mockKey,
) {
  const { account, address } = walletOf(name)
  const session = { address, key: key.publicKey, iclOrigin: origin, chainId, notAfter }
  const digest = await attestationDigest({
    ...{ origin, chainId, backend: 'mock', address, nonce, sessionPublicKey: key.publicKey },
    activationSecret: new Uint8Array(),
  })
  const hmac = await hmacSha256(hmacKey, digest)
  return {
    operator_address: address,
    nonce,
    session_public_key: key.publicKey,
    session: {
      not_after: notAfter,
      signature: await account.signTypedData(sessionTypedData(session)),
    },
    reading: await grantOf(privateKeyOf(name)),
    session_signature: await key.sign(sessionProofBytes(digest)),
    evidence: { backend: 'mock' as const, hmac: toBase64Url(hmac) },
  }
}

/** The request key of a session, as its node opens it. */
export const openedKey = async (
  name: string,
  sealed: string,
  { address, key: { thumbprint } }: NodeSigner,
) =>
  openRequestKey(sealed, await readerOf(privateKeyOf(name)), {
    origin,
    chainId,
    address,
    thumbprint,
  })

/** An attested node that a test drives by hand. */
export type TestNode = {
  readonly name: string
  readonly address: Address
  readonly key: SigningKey
  readonly api: Api
  readonly signer: NodeSigner
  /** What it has committed to, by job, as a daemon has it in its journal. */
  readonly given: Map<JobId, Given>
}

/** An answer of a node: the work that it claimed, and the statement that opens its commitment. */
export type Given = { readonly claimed: Claimed; readonly answer: AnswerPost }

export type Claimed = Awaited<ReturnType<Api['claimAssignment']>>

/** Attests a node and lets it beat and poll once, so that it is in the pool. */
export async function joinNode(icl: Outside, name: string, sessionSeed = name): Promise<TestNode> {
  const wallet = walletOf(name)
  icl.chain.nodes.set(wallet.address, activeNode)
  const key = await sessionKeyOf(sessionSeed)
  const walletApi = icl.api(wallet.signer)
  const { nonce } = await walletApi.getChallenge({ params: { address: wallet.address } })
  const notAfter = unixSeconds(icl.clock) + 86_400
  const body = await attestationOf(name, nonce, key, notAfter)
  const { request_key: sealed } = await walletApi.verifyAttestation({ body })
  const signer: NodeSigner = { kind: 'node', address: wallet.address, key }
  signer.requestKey = await openedKey(name, sealed, signer)
  const node = {
    ...{ name, address: wallet.address, key, api: icl.api(signer), signer },
    given: new Map<JobId, Given>(),
  }
  await beat(icl, node)
  await node.api.getAssignments({ params: { address: node.address }, query: { wait: 0 } })
  return node
}

/** Joins the nodes n1, n2 and so on; `from` is the first of them. */
export async function joinNodes(icl: Outside, count: number, from = 1): Promise<TestNode[]> {
  const nodes: TestNode[] = []
  for (let index = from; index < from + count; index++) nodes.push(await joinNode(icl, `n${index}`))
  return nodes
}

/** What a node says of itself from time to time. */
export const heartbeatOf = (address: Address, clock: Pick<Clock, 'now'>, freeSlots = 2) => ({
  operator_address: address,
  timestamp: unixSeconds(clock),
  version: '0.0.0',
  free_slots: freeSlots,
  supported_model_ids: [modelId],
})

export const beat = (icl: Outside, node: TestNode, freeSlots?: number) =>
  node.api.postHeartbeat({ body: heartbeatOf(node.address, icl.clock, freeSlots) })

/** Nodes that were silent are heard again. */
export async function beThere(icl: Outside, nodes: readonly TestNode[]) {
  for (const node of nodes) {
    await beat(icl, node)
    await node.api.getAssignments({ params: { address: node.address }, query: { wait: 0 } })
  }
}
