import { hexToBytes, keccak256, stringToHex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { createApp } from '../../icl/app.ts'
import { runPasses } from '../../icl/background/passes.ts'
import { createMemoryBlobs } from '../../icl/blobs/memory.ts'
import type { Dependencies } from '../../icl/dependencies.ts'
import { deriveKeys } from '../../icl/keys.ts'
import { defaultJobLimits } from '../../icl/rules/job.ts'
import { createMemoryStore } from '../../icl/store/memory.ts'
import { createWaiters } from '../../icl/waiters.ts'
import { type Api, createApi } from '../../lib/api.ts'
import { mockEvidence } from '../../lib/attestation.ts'
import type { Address } from '../../lib/codecs.ts'
import { comparators } from '../../lib/comparators/all.ts'
import { toBase64Url } from '../../lib/digest.ts'
import type { RequestSigner } from '../../lib/request-signature.ts'
import { sessionTypedData } from '../../lib/session-grant.ts'
import { type SigningKey, signingKeyFromSeed } from '../../lib/session-key.ts'
import {
  commitmentOf,
  leaderStatementOf,
  signResult,
  signVerdict,
  statementHash,
} from '../../lib/statements.ts'
import { systemRandom } from '../../lib/system.ts'
import { sampleNetwork } from '../sample-network.ts'
import { createVirtualClock, type VirtualClock } from '../virtual-clock.ts'
import { activeNode, coordinator, createFakeChain, type FakeChain } from './fake-chain.ts'

export const origin = 'https://icl.test'
const chainId = 31337
export const modelId = 'openai:test'
const mockKey = new Uint8Array(16).fill(7)

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
}

export async function createTestIcl(changes: Partial<Dependencies> = {}): Promise<TestIcl> {
  const clock = createVirtualClock()
  const chain = createFakeChain()
  const store = createMemoryStore(clock)
  const logged: string[] = []
  const note = (message: string, fields: object = {}) => {
    logged.push(`${message} ${JSON.stringify(fields)}`)
  }
  const deps: Dependencies = {
    clock,
    random: systemRandom,
    store,
    blobs: createMemoryBlobs(8 * 1024 * 1024, clock),
    chain,
    keys: await deriveKeys(new Uint8Array(32).fill(1)),
    waiters: createWaiters(clock),
    log: { debug: note, info: note, warn: note, error: note },
    network: sampleNetwork({ public_url: origin, chain_id: chainId, coordinator }),
    limits: defaultJobLimits,
    mockAttestationKey: mockKey,
    ...changes,
  }
  const app = createApp(deps)
  const stop = new AbortController()
  const passes = runPasses(deps, stop.signal)
  const fetch = async (request: Request) => app.fetch(request)
  return {
    clock,
    chain,
    deps,
    logged,
    dump: () => store.dump(),
    fetch,
    api: (signer) =>
      createApi({ baseUrl: origin, fetch, clock, random: systemRandom, ...(signer && { signer }) }),
    stop: async () => {
      stop.abort()
      await clock.advance(0)
      await passes
    },
  }
}

/** A wallet made from a name. */
export function walletOf(name: string) {
  const account = privateKeyToAccount(keccak256(stringToHex(name)))
  const signer: RequestSigner = {
    kind: 'wallet',
    address: account.address.toLowerCase() as Address,
    chainId,
    signMessage: ({ raw }) => account.signMessage({ message: { raw } }),
  }
  return { account, address: signer.address, signer }
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
  const hmac = await mockEvidence(
    {
      origin,
      chainId,
      backend: 'mock',
      address,
      nonce,
      activationSecret: new Uint8Array(),
      sessionPublicKey: key.publicKey,
    },
    hmacKey,
  )
  return {
    operator_address: address,
    nonce,
    session_public_key: key.publicKey,
    session: {
      not_after: notAfter,
      signature: await account.signTypedData(sessionTypedData(session)),
    },
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
}

/** Attests a node and lets it beat and poll once, so that it is in the pool. */
export async function joinNode(icl: TestIcl, name: string, sessionSeed = name): Promise<TestNode> {
  const wallet = walletOf(name)
  icl.chain.nodes.set(wallet.address, activeNode)
  const key = await signingKeyFromSeed(hexToBytes(keccak256(stringToHex(`session ${sessionSeed}`))))
  const walletApi = icl.api(wallet.signer)
  const { nonce } = await walletApi.getChallenge({ params: { address: wallet.address } })
  const notAfter = Math.floor(icl.clock.now() / 1000) + 86_400
  await walletApi.verifyAttestation({ body: await attestationOf(name, nonce, key, notAfter) })
  const signer: RequestSigner = { kind: 'node', address: wallet.address, key }
  const node = { name, address: wallet.address, key, api: icl.api(signer), signer }
  await beat(icl, node)
  await node.api.getAssignments({ params: { address: node.address }, query: { wait: 0 } })
  return node
}

export const beat = (icl: TestIcl, node: TestNode, freeSlots = 2) =>
  node.api.postHeartbeat({
    body: {
      operator_address: node.address,
      timestamp: Math.floor(icl.clock.now() / 1000),
      version: '0.0.0',
      free_slots: freeSlots,
      supported_model_ids: [modelId],
    },
  })

let nextHandle = 1_000n

/** Submits a job of a client whose prompt key the quorum may read. */
export async function submit(
  icl: TestIcl,
  options: { client?: string; grant?: boolean; delegate?: boolean; verifiers?: number } = {},
) {
  const client = walletOf(options.client ?? 'client')
  const api = icl.api(client.signer)
  const preview = await api.previewQuorum({
    query: {
      client: client.address,
      model_id: modelId,
      min_tier: 0,
      verifier_count: options.verifiers ?? 2,
    },
  })
  const [high, low] = [nextHandle++, nextHandle++]
  const readers = options.grant === false ? [] : [preview.leader, ...preview.verifiers]
  icl.chain.store(high, low, client.address, readers, options.delegate ? coordinator : undefined)
  const body = {
    model_id: modelId,
    prompt_cid: `bafkrei${'a'.repeat(52)}`,
    kpHighHandle: high,
    kpLowHandle: low,
    preview: preview.preview,
    client_nonce: high,
  }
  const submitted = await api.submitJob({ body })
  await icl.clock.advance(300)
  return { client, api, preview, body, ...submitted, readToken: submitted.read_token }
}

const evidenceKey = new Uint8Array(32).fill(3)

/** Evidence of an answer under a fixed key. */
const evidenceOf = (answer: string) => comparators.exact.evidenceOf(answer, evidenceKey)

/** What a node is offered now. */
export async function offersOf(node: TestNode) {
  const answer = await node.api.getAssignments({
    params: { address: node.address },
    query: { wait: 0 },
  })
  return answer.assignments
}

/** Claims the first offer of a node. */
export async function claim(node: TestNode) {
  const [offer] = await offersOf(node)
  if (!offer) throw new Error(`${node.name} is offered nothing`)
  return node.api.claimTask({ body: { jobId: offer.jobId, fence: offer.fence } })
}

/** A leader's signed result, its output key stored for the client and the verifiers. */
export async function resultBody(
  icl: TestIcl,
  node: TestNode,
  task: Awaited<ReturnType<typeof claim>>,
  answer: string,
) {
  const [high, low] = [nextHandle++, nextHandle++]
  icl.chain.store(high, low, node.address, task.output_readers, coordinator)
  return signResult(
    node.address,
    {
      jobId: task.jobId,
      fence: task.fence,
      model_id: task.model_id,
      max_output_tokens: task.parameters.max_output_tokens,
      output_cid: `bafkrei${'b'.repeat(52)}`,
      outHighHandle: high,
      outLowHandle: low,
      evidence: await evidenceOf(answer),
    },
    node.key,
  )
}

/** A verifier's commitment to an answer, and the verdict that opens it later. */
export async function commitTo(
  node: TestNode,
  task: Awaited<ReturnType<typeof claim>>,
  answer: string,
) {
  const { jobId, fence } = task
  const salt = toBase64Url(new Uint8Array(32).fill(9))
  const evidence = await evidenceOf(answer)
  const { address } = node
  const commitment = await commitmentOf({ jobId, address, fence, evidence, salt })
  await node.api.commitTask({ body: { jobId, fence, commitment } })
  return async () => {
    const { leader_statement: leader } = await node.api.getTask({
      params: { jobId },
      query: { wait: 0 },
    })
    if (!leader) throw new Error('There is no leader statement to compare with')
    const { address: leaderAddress, ...body } = leader
    const matches = comparators.exact.compare(leader.evidence, evidence) === 'match'
    return signVerdict(
      address,
      {
        jobId,
        fence,
        model_id: task.model_id,
        max_output_tokens: task.parameters.max_output_tokens,
        verdict: matches ? 'match' : 'no-match',
        ...(!matches && { reason: 'different-answer' as const }),
        evidence,
        salt,
        leader_statement: await statementHash(leaderStatementOf(leaderAddress, body)),
      },
      node.key,
    )
  }
}
