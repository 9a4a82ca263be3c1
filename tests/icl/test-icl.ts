import { hexToBytes, keccak256, stringToHex, zeroHash } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { openAccess } from '../../icl/access.ts'
import { createApp } from '../../icl/app.ts'
import { runWorkers } from '../../icl/background/workers.ts'
import { createStoredBlobs } from '../../icl/blobs/stored.ts'
import { createClockWatch } from '../../icl/clock-watch.ts'
import type { Dependencies } from '../../icl/dependencies.ts'
import { deriveKeys } from '../../icl/keys.ts'
import { noMetrics } from '../../icl/metrics/metrics.ts'
import { createNotifier } from '../../icl/notifier.ts'
import { createOutages } from '../../icl/outages.ts'
import { createPool } from '../../icl/pool.ts'
import { createRevocations } from '../../icl/revocations.ts'
import { defaultJobLimits } from '../../icl/rules/job.ts'
import { createMemoryStore, type MemoryStore } from '../../icl/store/memory.ts'
import type { Store } from '../../icl/store/store.ts'
import { type Api, createApi } from '../../lib/api.ts'
import { attestationDigest, sessionProofBytes } from '../../lib/attestation.ts'
import { unixSeconds } from '../../lib/clock.ts'
import type { Address, Hash32, JobId } from '../../lib/codecs.ts'
import { comparators } from '../../lib/comparators/all.ts'
import { hmacSha256, toBase64Url } from '../../lib/digest.ts'
import { jobIdOf } from '../../lib/job-id.ts'
import { listCommitment } from '../../lib/list-commitment.ts'
import type { RequestSigner } from '../../lib/request-signature.ts'
import type { ListRequest } from '../../lib/schemas/list.ts'
import type {
  AnswerPost,
  DeliveryPost,
  VerdictPost,
  VerdictStatement,
} from '../../lib/schemas/statements.ts'
import { sessionTypedData } from '../../lib/session-grant.ts'
import { type SigningKey, signingKeyFromSeed } from '../../lib/session-key.ts'
import { commitmentOf, signed, statementHash } from '../../lib/statements.ts'
import { systemRandom } from '../../lib/system.ts'
import { listKey, type TermsChoice } from '../listed-key.ts'
import { sampleNetwork } from '../sample-network.ts'
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
  readonly store: Store & Pick<MemoryStore, 'dump'>
}

/** What of an ICL those outside deal with. */
export type Outside = Pick<TestIcl, 'clock' | 'chain' | 'api'>

/** An ICL in this process: the real application on a virtual clock and a chain in memory. */
export type TestIcl = {
  readonly clock: VirtualClock
  readonly chain: FakeChain
  readonly deps: Dependencies
  readonly logged: string[]
  readonly dump: () => unknown
  readonly fetch: (request: Request) => Promise<Response>
  api(signer?: RequestSigner): Api
  stop(): Promise<void>
  /** Stops it while somebody else moves the clock. */
  drain(): Promise<void>
  /** Ends it as kill -9 does: nothing that it began goes on, and nobody gets an answer. */
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
    log,
    metrics: noMetrics,
    network: sampleNetwork({ public_url: origin, chain_id: chainId, coordinator }),
    limits: defaultJobLimits,
    access: openAccess,
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
    dump: () => store.dump(),
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
              // biome-ignore lint/correctness/noUnsafeFinally: whoever is dead hears neither answer nor error
              if (isOver) return never
            }
          }
        },
      }),
  }
}

const wallets = new Map<string, ReturnType<typeof makeWallet>>()

function makeWallet(name: string) {
  const account = privateKeyToAccount(keccak256(stringToHex(name)))
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
    session_signature: await key.sign(sessionProofBytes(digest)),
    evidence: { backend: 'mock' as const, hmac: toBase64Url(hmac) },
  }
}

/** An attested node that a test drives by hand. */
export type TestNode = {
  readonly name: string
  readonly address: Address
  readonly key: SigningKey
  readonly api: Api
  readonly signer: RequestSigner
  /** What it has committed to, by job, as a daemon has it in its journal. */
  readonly given: Map<JobId, Given>
}

/** An answer of a node: the work that it claimed, and the statement that opens its commitment. */
type Given = { readonly claimed: Claimed; readonly answer: AnswerPost }

type Claimed = Awaited<ReturnType<typeof claim>>

/** Attests a node and lets it beat and poll once, so that it is in the pool. */
export async function joinNode(icl: Outside, name: string, sessionSeed = name): Promise<TestNode> {
  const wallet = walletOf(name)
  icl.chain.nodes.set(wallet.address, activeNode)
  const key = await signingKeyFromSeed(hexToBytes(keccak256(stringToHex(`session ${sessionSeed}`))))
  const walletApi = icl.api(wallet.signer)
  const { nonce } = await walletApi.getChallenge({ params: { address: wallet.address } })
  const notAfter = Math.floor(icl.clock.now() / 1000) + 86_400
  await walletApi.verifyAttestation({ body: await attestationOf(name, nonce, key, notAfter) })
  const signer: RequestSigner = { kind: 'node', address: wallet.address, key }
  const node = {
    ...{ name, address: wallet.address, key, api: icl.api(signer), signer },
    given: new Map<JobId, Given>(),
  }
  await beat(icl, node)
  await node.api.getAssignments({ params: { address: node.address }, query: { wait: 0 } })
  return node
}

export const beat = (icl: Outside, node: TestNode, freeSlots = 2) =>
  node.api.postHeartbeat({
    body: {
      operator_address: node.address,
      timestamp: Math.floor(icl.clock.now() / 1000),
      version: '0.0.0',
      free_slots: freeSlots,
      supported_model_ids: [modelId],
    },
  })

// As long as real ones: a few digits may stand in any hash by chance, where a test looks for them.
let nextHandle = 0x5ca1_ab1e_0ddb_a11_c0de_f00d_babe_cafe_1234_5678n

/** Stores a prompt key of a client; names it as its upload does. */
export function storedKey(icl: Pick<Outside, 'chain' | 'clock'>, client: string) {
  const [kpHighHandle, kpLowHandle] = [nextHandle++, nextHandle++]
  const { address } = walletOf(client)
  const terms = zeroHash as Hash32
  const at = unixSeconds(icl.clock)
  const block_number = icl.chain.storeKey(kpHighHandle, kpLowHandle, address, terms, at)
  return { kpHighHandle, kpLowHandle, block_number }
}

type KeyOptions = TermsChoice & {
  readonly client?: string
  readonly calls?: { readonly attempts?: number; readonly timeoutMs?: number }
}

/** Stores a prompt key of a client under terms and asks for its list, as a client does before it submits. */
export async function listedKey(icl: Outside, options: KeyOptions = {}) {
  const client = walletOf(options.client ?? 'client')
  const api = icl.api(client.signer)
  const [high, low] = [nextHandle++, nextHandle++]
  const listed = await listKey(api, {
    ...options,
    origin,
    modelId,
    storeKey: async (terms) => {
      const at = unixSeconds(icl.clock)
      const blockNumber = icl.chain.storeKey(high, low, client.address, terms, at)
      return { highHandle: high, lowHandle: low, blockNumber }
    },
  })
  const [leader, ...verifiers] = listed.first
  if (!leader) throw new Error('nobody is seated first')
  const request: ListRequest = {
    kpHighHandle: high,
    kpLowHandle: low,
    block_number: listed.list.body.block.number,
    terms: listed.terms,
  }
  return { client, api, leader, verifiers, request, ...listed }
}

/** The submission of a listed key, and its commitment on chain. */
export function submissionOf(
  icl: Outside,
  { client, list, first, highHandle, lowHandle }: Awaited<ReturnType<typeof listedKey>>,
  options: { readonly promptCid?: string; readonly webhook?: string } = {},
) {
  const body = {
    model_id: modelId,
    prompt_cid: options.promptCid ?? `bafkrei${'a'.repeat(52)}`,
    kpHighHandle: highHandle,
    kpLowHandle: lowHandle,
    list,
    until: unixSeconds(icl.clock) + 1_200,
    client_nonce: highHandle,
    ...(options.webhook !== undefined && { webhook: { url: options.webhook } }),
  }
  const jobId = jobIdOf({
    chainId,
    client: client.address,
    promptCid: body.prompt_cid,
    kpHighHandle: highHandle,
    kpLowHandle: lowHandle,
    clientNonce: body.client_nonce,
  })
  const { list: members, coordinator: activator } = list.body
  const commitment = listCommitment({ jobId, activator, until: body.until, list: members })
  return {
    body,
    /** Commits to the list on chain, as the client does beside its submission; the nodes seated first may read. */
    commit: () => icl.chain.commitList(highHandle, lowHandle, commitment, first),
  }
}

/** Submits a job of a client that has committed to its list, unless `commit` is false. */
export async function submit(
  icl: Outside,
  options: KeyOptions & {
    readonly commit?: boolean
    readonly promptCid?: string
    readonly webhook?: string
  } = {},
) {
  const key = await listedKey(icl, options)
  const { body, commit } = submissionOf(icl, key, options)
  if (options.commit !== false) commit()
  const submitted = await key.api.submitJob({ body })
  await icl.clock.advance(300)
  return { ...key, body, commit, ...submitted, readToken: submitted.read_token }
}

const evidenceKey = new Uint8Array(32).fill(3)

/** Evidence of an answer under a fixed key. */
export const evidenceOf = (answer: string) =>
  comparators.exact.evidenceOf({ text: answer, prompt: '', key: evidenceKey })

/** What a node is offered now. */
export async function offersOf(node: TestNode) {
  const answer = await node.api.getAssignments({
    params: { address: node.address },
    query: { wait: 0 },
  })
  return answer.assignments
}

/** Claims the first offer of a node, or its offer in a job. */
export async function claim(node: TestNode, jobId?: JobId) {
  const offers = await offersOf(node)
  const offer = offers.find((each) => jobId === undefined || each.jobId === jobId)
  if (!offer) throw new Error(`${node.name} is offered nothing`)
  return node.api.claimAssignment({ body: { jobId: offer.jobId, fence: offer.fence } })
}

/** The answer of a node to the work that it claimed, signed. */
export async function answerOf(
  { address, key }: Pick<TestNode, 'address' | 'key'>,
  claimed: Claimed,
  answer: string,
): Promise<AnswerPost> {
  const { jobId, fence, list, activator, until } = claimed
  return signed(
    {
      statement: 'svc-answer-v2',
      ...{ jobId, address, fence, position: claimed.position },
      list: listCommitment({ jobId, activator, until, list }),
      model_id: claimed.model_id,
      max_output_tokens: claimed.parameters.max_output_tokens,
      evidence: await evidenceOf(answer),
      salt: toBase64Url(new Uint8Array(32).fill(9)),
    },
    key,
  )
}

/** Commits a node to an answer; gives the statement that opens the commitment later. */
export async function commitTo(
  node: TestNode,
  claimed: Claimed,
  answer: string,
): Promise<AnswerPost> {
  const post = await answerOf(node, claimed, answer)
  const { jobId, fence } = claimed
  await node.api.commitAssignment({ body: { jobId, fence, commitment: await commitmentOf(post) } })
  node.given.set(jobId, { claimed, answer: post })
  return post
}

/** What a node has committed to in a job. */
export const givenIn = (node: TestNode, jobId: JobId): Given => {
  const given = node.given.get(jobId)
  if (!given) throw new Error(`${node.name} has committed to nothing in ${jobId}`)
  return given
}

/** Opens what a node has committed to. */
export const reveal = (node: TestNode, jobId: JobId) =>
  node.api.revealAnswer({ body: givenIn(node, jobId).answer })

/** A node's own assignment: its step, and what it needs for it. */
export const ownAssignment = (node: TestNode, jobId: JobId) =>
  node.api.getAssignment({ params: { jobId }, query: { wait: 0 } })

/** A node's delivery, signed, its output key stored for the client and the checkers that the ICL names, or for other `readers`. */
export async function deliveryOf(
  icl: Pick<Outside, 'chain'>,
  node: TestNode,
  jobId: JobId,
  readers?: readonly Address[],
): Promise<DeliveryPost> {
  const { claimed, answer } = givenIn(node, jobId)
  const { signature: _, ...statement } = answer
  const { checkers = [] } = await ownAssignment(node, jobId)
  const members = checkers.flatMap((position) => claimed.list[position] ?? [])
  const [outHighHandle, outLowHandle] = [nextHandle++, nextHandle++]
  const allowed = readers ?? [claimed.client, ...members]
  icl.chain.storeOutput(outHighHandle, outLowHandle, node.address, {
    promptHighHandle: claimed.kpHighHandle,
    self: claimed.position,
    readers: allowed,
  })
  return signed(
    {
      statement: 'svc-delivery-v2',
      ...{ jobId, address: node.address, fence: claimed.fence },
      answer: await statementHash(statement),
      output_cid: `bafkrei${'b'.repeat(52)}`,
      ...{ outHighHandle, outLowHandle },
    },
    node.key,
  )
}

/** Delivers a node's answer. */
export const deliver = async (...of: Parameters<typeof deliveryOf>) =>
  of[1].api.postResult({ body: await deliveryOf(...of) })

type Said = Pick<VerdictStatement, 'verdict' | 'reason'>

/** What a node says of the current delivery, signed: the truth, as far as the evidence shows it, unless `said` is given. */
export async function verdictOf(node: TestNode, jobId: JobId, said?: Said): Promise<VerdictPost> {
  const { claimed, answer } = givenIn(node, jobId)
  const { to_check: seen } = await ownAssignment(node, jobId)
  if (!seen) throw new Error(`${node.name} has nothing to check`)
  const { signature: _, ...own } = answer
  const { signature: __, ...delivery } = seen.delivery
  const { compare } = comparators[claimed.comparator]
  const outcome = compare(seen.answer.evidence, own.evidence)
  const truth: Said =
    outcome === 'match'
      ? { verdict: 'match' }
      : {
          verdict: 'no-match',
          reason: outcome === 'no-match' ? 'different-answer' : 'inconclusive',
        }
  return signed(
    {
      statement: 'svc-verdict-v2',
      ...{ jobId, address: node.address, fence: claimed.fence },
      answer: await statementHash(own),
      delivery: await statementHash(delivery),
      ...(said ?? truth),
    },
    node.key,
  )
}

/** Checks the current delivery, or says how the own answer differs from it. */
export const check = async (...of: Parameters<typeof verdictOf>) =>
  of[0].api.postVerdict({ body: await verdictOf(...of) })
