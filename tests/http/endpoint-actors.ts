import { z } from 'zod'
import { refOf } from '../../icl/console/public-job.ts'
import { toBase64Url } from '../../lib/digest.ts'
import type { Endpoint } from '../../lib/endpoint.ts'
import { endpoints, type OperationId } from '../../lib/endpoints.ts'
import type { RequestSigner } from '../../lib/request-signature.ts'
import { SubmitJob } from '../../lib/schemas/jobs.ts'
import { ListRequest } from '../../lib/schemas/list.ts'
import {
  AnswerPost,
  DeliveryPost,
  TurnAbortPost,
  VerdictPost,
} from '../../lib/schemas/statements.ts'
import { signingKeyFromSeed } from '../../lib/session-key.ts'
import { commitmentOf, type NodeStatement, signed } from '../../lib/statements.ts'
import { aHash } from '../branded.ts'
import {
  answerOf,
  claim,
  commitTo,
  deliveryOf,
  openingOf,
  reveal,
  turnAbortOf,
  verdictOf,
} from '../icl/node-steps.ts'
import { delivererOf } from '../icl/run-job.ts'
import { storedKey, submit } from '../icl/test-client.ts'
import {
  attestationOf,
  heartbeatOf,
  joinNode,
  modelId,
  type TestIcl,
  type TestNode,
  walletOf,
} from '../icl/test-icl.ts'
import { sampleScore } from '../lib/attested.ts'
import { once } from '../runtimes/inside/case.ts'

type Bytes = Uint8Array<ArrayBuffer>
type Other = { readonly path?: string; readonly body?: Bytes; readonly signer?: RequestSigner }

const bytes = (value: unknown): Bytes => new TextEncoder().encode(JSON.stringify(value)) as Bytes
const blob = new Uint8Array(32).fill(1)
const anAnswer = aHash(`0x${'ab'.repeat(32)}`)

type Submitted = Awaited<ReturnType<typeof submit>>
type Cast = {
  readonly icl: TestIcl
  /** The job that everything is about. Its leader has still to claim it; the others have committed. */
  readonly job: Submitted
  readonly leader: TestNode
  readonly others: readonly TestNode[]
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
  const others = job.verifiers.map(nodeAt)
  for (const node of others) await commitTo(node, await claim(node), 'yes')
  const spareJob = await submit(icl, { client: 'spare client' })
  const otherJob = await submit(icl, { client: 'other client' })
  const chosen = [job.leader, ...job.verifiers]
  const cast: Cast = {
    icl,
    job,
    leader: nodeAt(job.leader),
    others,
    spareJob,
    spareLeader: nodeAt(spareJob.leader),
    otherJob,
    outsider: nodes.find(({ address }) => !chosen.includes(address))!,
    newcomer: walletOf('newcomer'),
  }
  const answers = answersOf(cast)
  return {
    ...cast,
    answers,
    ref: await refOf(icl.deps.keys, job.jobId),
    signerOf: (id: OperationId) => signerOf(cast, answers, id),
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

async function signerOf(
  { leader, spareLeader, job, newcomer }: Cast,
  answers: ReturnType<typeof answersOf>,
  id: OperationId,
): Promise<RequestSigner | undefined> {
  const { auth }: Endpoint = endpoints[id]
  if (id === 'enrollTpm' || id === 'verifyAttestation' || id === 'releaseTpm') {
    return newcomer.signer
  }
  if (id === 'postResult') return (await answers.deliverer()).signer
  if (id === 'postVerdict' || id === 'abortTurn') return (await answers.checker()).signer
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
  'revealAnswer',
  'postResult',
  'postVerdict',
  'showAnswer',
  'weighAnswers',
  'openNumbers',
  'abortTurn',
  'abortAssignment',
  'cancelJob',
]

/** The bodies of a job's life; each is made when it is its turn. */
function answersOf({ icl, job, leader, others, spareJob, spareLeader, outsider }: Cast) {
  const { jobId } = job
  const nodes = [leader, ...others]
  const fenceOf = async ({ api, jobId, readToken }: Submitted, { address }: TestNode) => {
    const { quorum } = await api.getJob({ params: { jobId } }, { readToken })
    return quorum.find(({ node }) => node === address)?.fence ?? 1
  }
  const claim = async () => ({ jobId, fence: await fenceOf(job, leader) })
  const claimed = once(async () => leader.api.claimAssignment({ body: await claim() }))
  const answer = once(async () => {
    const post = await answerOf(leader, await claimed(), 'yes')
    leader.given.set(jobId, { claimed: await claimed(), answer: post })
    return post
  })
  const opening = once(async () => {
    await answer()
    return await openingOf(leader, jobId)
  })
  const deliverer = once(async () => {
    for (const node of others) await reveal(node, jobId)
    const found = await delivererOf(nodes, jobId)
    if (!found) throw new Error('nobody has to deliver')
    return found
  })
  const checker = async () => {
    const delivers = await deliverer()
    return nodes.find((node) => node !== delivers)!
  }
  const result = once(async () => deliveryOf(icl, await deliverer(), jobId))
  const verdict = once(async () => verdictOf(await checker(), jobId))
  const abortTurn = once(async () => turnAbortOf(await checker(), jobId, 'node-failed', 0))
  const byOutsider = <S extends NodeStatement>(post: S) =>
    signed({ ...post, address: outsider.address }, outsider.key)
  return {
    deliverer,
    checker,
    claim,
    answer,
    opening,
    result,
    verdict,
    byOutsider,
    abortTurn,
    numbers: once(async () =>
      signed(
        {
          ...{ statement: 'svc-numbers-v1', address: leader.address, ...(await claim()) },
          weighed: [{ answer: anAnswer, score: await sampleScore(anAnswer) }],
          salt: toBase64Url(new Uint8Array(32)),
        },
        leader.key,
      ),
    ),
    abort: async () => ({
      jobId: spareJob.jobId,
      fence: await fenceOf(spareJob, spareLeader),
      reason: 'node-failed',
    }),
    commit: async () => {
      const { fence } = await claimed()
      return { jobId, fence, commitment: await commitmentOf(await answer()) }
    },
  }
}

/** The same request by a caller whom it does not concern; undefined where it concerns everybody. */
async function anothersOf(
  { job, otherJob, outsider }: Cast,
  answers: ReturnType<typeof answersOf>,
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
    case 'showAnswer':
    case 'weighAnswers':
      return { signer, body: bytes(await answers.claim()) }
    case 'openNumbers':
      return { signer, body: bytes(await answers.byOutsider(await answers.numbers())) }
    case 'abortAssignment':
      return { signer, body: bytes({ ...(await answers.claim()), reason: 'node-failed' }) }
    case 'abortTurn': {
      const post = await answers.byOutsider(await answers.abortTurn())
      return { signer, body: bytes(z.encode(TurnAbortPost, post)) }
    }
    case 'commitAssignment':
      return { signer, body: bytes(await answers.commit()) }
    case 'revealAnswer': {
      const post = await answers.byOutsider(await answers.opening())
      return { signer, body: bytes(z.encode(AnswerPost, post)) }
    }
    case 'postResult': {
      const post = await answers.byOutsider(await answers.result())
      return { signer, body: bytes(z.encode(DeliveryPost, post)) }
    }
    case 'postVerdict': {
      const post = await answers.byOutsider(await answers.verdict())
      return { signer, body: bytes(z.encode(VerdictPost, post)) }
    }
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
    const fill = (address: string, jobId: string, blobId: string, ref = jobId) =>
      endpoint.path
        .replace('{address}', address)
        .replace('{jobId}', jobId)
        .replace('{job}', ref)
        .replace('{cid}', blobId)
    const good = fill(leader.address, job.jobId, actors.job.body.prompt_cid, actors.ref)
    const query = queries[id] ?? ''
    const malformed =
      endpoint.params && !endpoint.body ? fill('0x12', '0x12', 'bafy') : `${good}?x=%zz`
    return [id, { good: good + query, malformed: endpoint.body ? good + query : malformed }]
  })
  return Object.fromEntries(entries)
}

/** The body of each endpoint that has one, good and malformed. */
export function bodiesOf(actors: Actors) {
  const { icl, job, leader, newcomer, answers } = actors
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
  const bodies: Partial<Record<OperationId, { good: () => Promise<Bytes>; malformed: Bytes }>> = {
    drawList: of(async () => z.encode(ListRequest, job.request)),
    submitJob: of(async () => z.encode(SubmitJob, job.body)),
    putBlob: { good: async () => blob, malformed: new Uint8Array(32) },
    enrollTpm: of(enrollment),
    verifyAttestation: of(attestation),
    releaseTpm: of(async () => ({ operator_address: newcomer.address })),
    postHeartbeat: of(async () => heartbeatOf(leader.address, icl.clock)),
    claimAssignment: of(answers.claim),
    commitAssignment: of(answers.commit),
    revealAnswer: of(async () => z.encode(AnswerPost, await answers.opening())),
    postResult: of(async () => z.encode(DeliveryPost, await answers.result())),
    postVerdict: of(async () => z.encode(VerdictPost, await answers.verdict())),
    showAnswer: of(answers.claim),
    weighAnswers: of(answers.claim),
    openNumbers: of(answers.numbers),
    abortAssignment: of(answers.abort),
    abortTurn: of(async () => z.encode(TurnAbortPost, await answers.abortTurn())),
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
