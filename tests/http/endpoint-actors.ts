import { z } from 'zod'
import { comparators } from '../../lib/comparators/all.ts'
import { toBase64Url } from '../../lib/digest.ts'
import type { Endpoint } from '../../lib/endpoint.ts'
import { endpoints, type OperationId } from '../../lib/endpoints.ts'
import type { RequestSigner } from '../../lib/request-signature.ts'
import { LeaderResult, VerifierVerdict } from '../../lib/schemas/assignments.ts'
import { SubmitJob } from '../../lib/schemas/jobs.ts'
import { ListRequest } from '../../lib/schemas/list.ts'
import { signingKeyFromSeed } from '../../lib/session-key.ts'
import {
  commitmentOf,
  leaderStatementOf,
  signResult,
  signVerdict,
  statementHash,
} from '../../lib/statements.ts'
import {
  attestationOf,
  claim,
  commitTo,
  joinNode,
  modelId,
  storedKey,
  submit,
  type TestIcl,
  type TestNode,
  walletOf,
} from '../icl/test-icl.ts'

type Bytes = Uint8Array<ArrayBuffer>
type Other = { readonly path?: string; readonly body?: Bytes; readonly signer?: RequestSigner }

const bytes = (value: unknown): Bytes => new TextEncoder().encode(JSON.stringify(value)) as Bytes
const cid = `bafkrei${'a'.repeat(52)}`
const blob = new Uint8Array([1, 2, 3])

type Submitted = Awaited<ReturnType<typeof submit>>
type Cast = {
  readonly icl: TestIcl
  /** The job that everything is about, with its leader and one of its verifiers. */
  readonly job: Submitted
  readonly leader: TestNode
  readonly verifier: TestNode
  /** A job that is there to be given back by its leader. */
  readonly spareJob: Submitted
  readonly spareLeader: TestNode
  /** Another client's. */
  readonly otherJob: Submitted
  /** A node that has no part in `job`. */
  readonly outsider: TestNode
  /** A wallet that attests for the first time. */
  readonly newcomer: ReturnType<typeof walletOf>
}

/** Everybody who takes part: a job with its quorum, another client with its job, a node that has no part. */
export async function createActors(icl: TestIcl) {
  const nodes: TestNode[] = []
  for (const name of ['n1', 'n2', 'n3', 'n4', 'n5', 'n6', 'n7', 'n8'])
    nodes.push(await joinNode(icl, name))
  const nodeAt = (address: string) => nodes.find((node) => node.address === address)!
  const query = storedKey(icl, 'client')
  const client = icl.api(walletOf('client').signer)
  const { cid: promptCid } = await client.putBlob({ query, body: blob })
  const job = await submit(icl, { promptCid })
  const [verifier, second] = job.verifiers.map(nodeAt) as [TestNode, TestNode]
  await claim(verifier)
  await commitTo(second, await claim(second), 'yes')
  const spareJob = await submit(icl, { client: 'spare client' })
  const otherJob = await submit(icl, { client: 'other client' })
  const chosen = [job.leader, ...job.verifiers]
  const cast: Cast = {
    icl,
    job,
    leader: nodeAt(job.leader),
    verifier,
    spareJob,
    spareLeader: nodeAt(spareJob.leader),
    otherJob,
    outsider: nodes.find(({ address }) => !chosen.includes(address))!,
    newcomer: walletOf('newcomer'),
  }
  const answers = await answersOf(cast)
  return {
    ...cast,
    answers,
    signerOf: (id: OperationId) => signerOf(cast, id),
    anothers: (id: OperationId) => anothersOf(cast, answers, id),
    secrets: [job.readToken, otherJob.readToken, String(job.body.kpHighHandle)],
    // That of a job's life.
    order: [
      ...(Object.keys(endpoints) as OperationId[]).filter((id) => !taskOrder.includes(id)),
      ...taskOrder,
    ],
  }
}
export type Actors = Awaited<ReturnType<typeof createActors>>

function signerOf({ leader, verifier, spareLeader, job, newcomer }: Cast, id: OperationId) {
  const { auth }: Endpoint = endpoints[id]
  if (id === 'enrollTpm' || id === 'verifyAttestation' || id === 'releaseTpm') {
    return newcomer.signer
  }
  if (id === 'commitAssignment' || id === 'postVerdict' || id === 'getAssignment')
    return verifier.signer
  if (id === 'abortAssignment') return spareLeader.signer
  if (auth === 'node') return leader.signer
  return auth === 'none' || auth === 'metrics-token' || auth === 'console'
    ? undefined
    : job.client.signer
}

const taskOrder: readonly OperationId[] = [
  'claimAssignment',
  'commitAssignment',
  'getAssignment',
  'postResult',
  'postVerdict',
  'abortAssignment',
  'cancelJob',
]

/** The bodies of a job's life; each is made when it is its turn. */
async function answersOf({ icl, job, leader, verifier, spareJob, spareLeader }: Cast) {
  const { jobId } = job
  const evidence = await comparators.exact.evidenceOf({
    text: 'yes',
    prompt: '',
    key: new Uint8Array(32).fill(3),
  })
  const salt = toBase64Url(new Uint8Array(32).fill(9))
  const fenceOf = async (node: TestNode) => {
    const view = await job.api.getJob({ params: { jobId } }, { readToken: job.readToken })
    return view.quorum.find((assignment) => assignment.node === node.address)?.fence ?? 1
  }
  const common = { jobId, model_id: modelId, max_output_tokens: 1_024, evidence }
  const resultOf = async (node: TestNode) => {
    const [high, low] = [77_001n, 77_002n]
    icl.chain.store(high, low, node.address, [job.client.address])
    const fence = await fenceOf(leader)
    const output = { output_cid: cid, outHighHandle: high, outLowHandle: low }
    return signResult(node.address, { ...common, ...output, fence }, node.key)
  }
  return {
    claim: async (node: TestNode) => ({ jobId, fence: await fenceOf(node) }),
    abort: async () => {
      const view = await spareJob.api.getJob(
        { params: { jobId: spareJob.jobId } },
        { readToken: spareJob.readToken },
      )
      const assignment = view.quorum.find(({ node }) => node === spareLeader.address)
      return { jobId: spareJob.jobId, fence: assignment?.fence ?? 1, reason: 'node-failed' }
    },
    commit: async (node: TestNode) => {
      const fence = await fenceOf(node)
      const { address } = node
      return {
        jobId,
        fence,
        commitment: await commitmentOf({ jobId, address, fence, evidence, salt }),
      }
    },
    result: resultOf,
    verdict: async (node: TestNode) => {
      const leaders = await resultOf(leader)
      const body = {
        ...common,
        fence: await fenceOf(verifier),
        verdict: 'match' as const,
        salt,
        leader_statement: await statementHash(leaderStatementOf(leader.address, leaders)),
      }
      return signVerdict(node.address, body, node.key)
    },
  }
}

/** The same request by somebody whom it does not concern; undefined where it concerns everybody. */
async function anothersOf(
  { job, otherJob, leader, outsider }: Cast,
  answers: Awaited<ReturnType<typeof answersOf>>,
  id: OperationId,
): Promise<Other | undefined> {
  const signer = outsider.signer
  switch (id) {
    case 'getJob':
    case 'followJob':
    case 'getReceipt':
    case 'getRecord':
    case 'cancelJob':
    case 'listJobs':
    case 'putBlob':
      return { signer: otherJob.client.signer }
    case 'drawList':
      return { signer: otherJob.client.signer, body: bytes(z.encode(ListRequest, job.request)) }
    case 'submitJob':
      return { signer: otherJob.client.signer, body: bytes(z.encode(SubmitJob, job.body)) }
    case 'enrollTpm':
    case 'verifyAttestation':
    case 'releaseTpm':
      return { signer: otherJob.client.signer }
    case 'postHeartbeat':
    case 'getAssignments':
    case 'getAssignment':
      return { signer }
    case 'claimAssignment':
      return { signer, body: bytes(await answers.claim(leader)) }
    case 'abortAssignment':
      return { signer, body: bytes({ ...(await answers.claim(leader)), reason: 'node-failed' }) }
    case 'commitAssignment':
      return { signer, body: bytes(await answers.commit(leader)) }
    case 'postResult':
      return { signer, body: bytes(z.encode(LeaderResult, await answers.result(outsider))) }
    case 'postVerdict':
      return { signer, body: bytes(z.encode(VerifierVerdict, await answers.verdict(outsider))) }
    default:
      return undefined
  }
}

/** The address of each endpoint, and one that is malformed. */
export function pathsOf(actors: Actors): Record<OperationId, { good: string; malformed: string }> {
  const { job, leader } = actors
  const { kpHighHandle, kpLowHandle, block_number } = job.request
  const queries: Readonly<Record<string, string>> = {
    previewQuorum: `?model_id=${modelId}`,
    putBlob: `?kpHighHandle=${kpHighHandle}&kpLowHandle=${kpLowHandle}&block_number=${block_number}`,
  } satisfies Partial<Record<OperationId, string>>
  const entries = Object.entries(endpoints).map(([id, endpoint]: [string, Endpoint]) => {
    const fill = (address: string, jobId: string, blobId: string) =>
      endpoint.path
        .replace('{address}', address)
        .replace(/\{job(Id)?\}/, jobId)
        .replace('{cid}', blobId)
    const good = fill(leader.address, job.jobId, actors.job.body.prompt_cid)
    const query = queries[id] ?? ''
    const malformed =
      endpoint.params && !endpoint.body ? fill('0x12', '0x12', 'bafy') : `${good}?x=%zz`
    return [id, { good: good + query, malformed: endpoint.body ? good + query : malformed }]
  })
  return Object.fromEntries(entries)
}

/** The body of each endpoint that has one, good and malformed. */
export function bodiesOf(actors: Actors) {
  const { icl, job, leader, verifier, newcomer, answers } = actors
  const now = () => Math.floor(icl.clock.now() / 1000)
  const malformed = bytes({ jobId: 1 })
  const of = (good: () => Promise<unknown>) => ({
    good: async () => bytes(await good()),
    malformed,
  })
  const attestation = async () => {
    const { nonce } = await icl.api().getChallenge({ params: { address: newcomer.address } })
    const key = await signingKeyFromSeed(new Uint8Array(32).fill(4))
    return attestationOf('newcomer', nonce, key, now() + 3_600)
  }
  const enrollment = async () => {
    const { nonce } = await icl.api().getChallenge({ params: { address: newcomer.address } })
    return {
      operator_address: newcomer.address,
      nonce,
      ek_certificate: 'AAAA',
      ak_public: 'AAAA',
    }
  }
  const beat = async () => ({
    operator_address: leader.address,
    timestamp: now(),
    version: '0.0.0',
    free_slots: 2,
    supported_model_ids: [modelId],
  })
  const bodies: Partial<Record<OperationId, { good: () => Promise<Bytes>; malformed: Bytes }>> = {
    drawList: of(async () => z.encode(ListRequest, job.request)),
    submitJob: of(async () => z.encode(SubmitJob, job.body)),
    putBlob: { good: async () => blob, malformed: new Uint8Array() },
    enrollTpm: of(enrollment),
    verifyAttestation: of(attestation),
    releaseTpm: of(async () => ({ operator_address: newcomer.address })),
    postHeartbeat: of(beat),
    claimAssignment: of(() => answers.claim(leader)),
    commitAssignment: of(() => answers.commit(verifier)),
    postResult: of(async () => z.encode(LeaderResult, await answers.result(leader))),
    postVerdict: of(async () => z.encode(VerifierVerdict, await answers.verdict(verifier))),
    abortAssignment: of(answers.abort),
  }
  return bodies
}

/** The same caller by name, with a key that is not its own. */
export async function wrongKeyOf(signer: RequestSigner): Promise<RequestSigner> {
  if (signer.kind === 'node') {
    return { ...signer, key: await signingKeyFromSeed(new Uint8Array(32).fill(77)) }
  }
  const { account } = walletOf('stranger')
  return { ...signer, signMessage: ({ raw }) => account.signMessage({ message: { raw } }) }
}
