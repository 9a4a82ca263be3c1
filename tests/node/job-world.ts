import { vi } from 'vitest'
import type { Address, ComparatorId } from '../../lib/codecs.ts'
import { comparators } from '../../lib/comparators/all.ts'
import { toBase64Url } from '../../lib/digest.ts'
import { listCommitment } from '../../lib/list-commitment.ts'
import { promptOfText, writePrompt } from '../../lib/prompt.ts'
import type {
  AssignmentOffer,
  ClaimResult,
  DeliveryToCheck,
  OwnAssignment,
} from '../../lib/schemas/assignments.ts'
import type { PromptDocument } from '../../lib/schemas/prompt.ts'
import type { StatementSession } from '../../lib/schemas/statements.ts'
import { sealPromptText } from '../../lib/sealing/envelope.ts'
import { evidenceKeyOf } from '../../lib/sealing/job-secret.ts'
import { sealOutput } from '../../lib/sealing/output.ts'
import { splitKey } from '../../lib/sealing.ts'
import { sessionTypedData } from '../../lib/session-grant.ts'
import { signingKeyFromSeed } from '../../lib/session-key.ts'
import { signed, statementHash } from '../../lib/statements.ts'
import type { Completion, InferenceProvider } from '../../node/inference/provider.ts'
import { createSpeeds } from '../../node/inference/speed.ts'
import { createBudget } from '../../node/jobs/budget.ts'
import type { JobDeps } from '../../node/jobs/job-deps.ts'
import { createOutputKeys } from '../../node/jobs/output-keys.ts'
import { anAddress } from '../branded.ts'
import { grantOf, readerOf } from '../sample-reading.ts'
import { createVirtualClock } from '../virtual-clock.ts'
import {
  bytesOf,
  clientAddress,
  coordinatorAddress,
  countingRandom,
  fakeBlobs,
  fakeChain,
  fakeCoprocessor,
  icl as iclOrigin,
  jobId,
  leaderAccount,
  leaderAddress,
  memoryAcks,
  memoryHistory,
  memoryJournal,
  modelId,
  nodeAddress,
  nodeKeys,
  recordingLog,
  spareAddress,
  verifierAddresses,
} from './fakes.ts'
import { createSeat } from './seat.ts'

/** What a job asks in place of the usual, and what its answers are compared by. */
type Asked = {
  readonly comparator?: ComparatorId
  /** The sealed prompt; a text is sealed as it is, whatever it is. */
  readonly document?: PromptDocument | string
}

const chainId = 31_337

const keyOf = (node: Address): `0x${string}` => nodeKeys.get(node) ?? '0x'

type Secrets = {
  readonly prompt: string
  readonly secret: Uint8Array<ArrayBuffer>
}

/**
 * One job, its client's sealed prompt, and a node with fakes behind every port. After the reveal the node has its `turns` and then the job is
 * accepted; a leader's first turn is to deliver.
 */
export async function createJobWorld(
  role: 'leader' | 'verifier',
  answer = 'Four.',
  { comparator = 'exact', document }: Asked = {},
) {
  const clock = createVirtualClock()
  const random = countingRandom()
  const log = recordingLog()
  const coprocessor = fakeCoprocessor()
  const chain = fakeChain(coprocessor)
  const blobs = fakeBlobs()
  const journal = memoryJournal()
  const history = memoryHistory()
  const acks = memoryAcks()
  const promptKey = await bytesOf('prompt key')
  const prompt = 'What is two and two?'
  const sealed =
    typeof document === 'string' ? document : writePrompt(document ?? promptOfText(prompt))
  const now = Math.floor(clock.now() / 1000)
  const [verifier, otherVerifier] = verifierAddresses
  const secret = await bytesOf('job secret')
  const promptKeyStore = anAddress(`0x${'5a'.repeat(20)}`)
  // The leader is in front, then the verifiers in the order of their seats, and one more.
  const list =
    role === 'leader'
      ? [nodeAddress, verifier, otherVerifier, leaderAddress]
      : [leaderAddress, nodeAddress, otherVerifier, spareAddress]
  const grants = await Promise.all(list.map((node) => grantOf(keyOf(node), chainId)))
  /** Seals the prompt under a stored key of its own, which this node may read. */
  const sealPrompt = async () => {
    const { high, low } = splitKey(promptKey)
    const [highHandle, lowHandle] = [coprocessor.store(high), coprocessor.store(low)]
    const of = {
      chainId,
      store: promptKeyStore,
      client: clientAddress,
      list,
      highHandle,
      lowHandle,
    }
    const blob = await sealPromptText({ text: sealed, key: promptKey, secret, of, grants }, random)
    coprocessor.granted.add(highHandle).add(lowHandle)
    return {
      kpHighHandle: highHandle,
      kpLowHandle: lowHandle,
      prompt_cid: await blobs.put(blob),
    }
  }
  const claim: ClaimResult = {
    jobId,
    fence: 1,
    role,
    ...(await sealPrompt()),
    block_number: 100n,
    claimDeadline: now + 120,
    server_time: now,
    client: clientAddress,
    model_id: modelId,
    comparator,
    parameters: { max_output_tokens: 1_024 },
    list,
    position: role === 'leader' ? 0 : 1,
    activator: coordinatorAddress,
    until: now + 1_200,
  }
  chain.commitments.set(claim.kpHighHandle, listCommitment(claim))
  const complete = vi.fn<(completion: Completion) => Promise<string>>(async () => answer)
  const usage = { input_tokens: 11, output_tokens: 2 }
  const provider: InferenceProvider = {
    complete: async (completion) => ({ text: await complete(completion), ended: 'stop', usage }),
  }
  const iclKey = await signingKeyFromSeed(await bytesOf('icl'))
  const delivered = await delivererOf(claim, { prompt, secret }, coprocessor, blobs, random)
  const turns: Turn[] = role === 'leader' ? [{ step: 'deliver', checkers: [1, 2] }] : []
  const seat = createSeat({ clock, iclKey, role, turns })
  const api = {
    ...seat.api,
    claimAssignment: vi.fn<JobDeps['api']['claimAssignment']>(async () => claim),
    putBlob: vi.fn<JobDeps['api']['putBlob']>(async ({ body }) => ({ cid: await blobs.put(body) })),
  }
  const deps: JobDeps = {
    address: nodeAddress,
    sessionKey: await signingKeyFromSeed(await bytesOf('node session')),
    readingKey: await readerOf(keyOf(nodeAddress)),
    api,
    iclOrigin,
    chainId,
    promptKeyStore,
    iclKeys: { has: async (key) => key === iclKey.publicKey },
    coprocessor,
    outputKeys: createOutputKeys({ coprocessor, random, clock, log }),
    blobs,
    chain,
    models: new Map([[modelId, { provider, model: 'test-model' }]]),
    budget: createBudget(journal),
    speeds: createSpeeds(),
    journal,
    history,
    acks,
    clock,
    random,
    log,
  }
  const { kpHighHandle, kpLowHandle, block_number, claimDeadline, server_time, ...work } = claim
  const assignment: AssignmentOffer = { ...work, deadline: now + 600 }
  const view: OwnAssignment = {
    jobId,
    status: 'claimed',
    phase: 'running',
    role,
    fence: 1,
    step: 'work',
    server_time: now,
  }
  return {
    deps,
    api,
    assignment,
    claim,
    clock,
    log,
    coprocessor,
    chain,
    blobs,
    journal,
    history,
    acks,
    complete,
    prompt,
    promptKey,
    secret,
    sealPrompt,
    iclKey,
    delivered,
    turns,
    view,
    /** What the ICL says when it is asked. */
    look: () => seat.view(jobId),
  }
}

export type JobWorld = Awaited<ReturnType<typeof createJobWorld>>

/** What a node may do after it has revealed. */
export type Turn = Pick<OwnAssignment, 'step'> &
  Partial<
    Pick<OwnAssignment, 'deadline' | 'server_time' | 'turn' | 'checkers' | 'to_check' | 'to_weigh'>
  >

/** Makes the statements of another node that delivers: it answered `text`, and the output that it put there holds `shown`. */
async function delivererOf(
  claim: ClaimResult,
  { prompt, secret }: Secrets,
  coprocessor: ReturnType<typeof fakeCoprocessor>,
  blobs: ReturnType<typeof fakeBlobs>,
  random: ReturnType<typeof countingRandom>,
) {
  const key = await signingKeyFromSeed(await bytesOf('leader session'))
  const notAfter = claim.server_time + 86_400
  const about = { jobId: claim.jobId, address: leaderAddress, fence: 2 }
  return async (text: string, shown = text): Promise<DeliveryToCheck> => {
    const outputKey = await bytesOf('output key')
    const halves = splitKey(outputKey)
    const outputCid = await blobs.put(
      await sealOutput(shown, { ...about, key: outputKey, secret }, random),
    )
    const outHighHandle = coprocessor.store(halves.high)
    const outLowHandle = coprocessor.store(halves.low)
    coprocessor.granted.add(outHighHandle).add(outLowHandle)
    const answer = await signed(
      {
        statement: 'svc-answer-v3',
        ...about,
        position: claim.list.indexOf(leaderAddress),
        list: listCommitment(claim),
        model_id: claim.model_id,
        max_output_tokens: claim.parameters.max_output_tokens,
        evidence: await comparators[claim.comparator].evidenceOf({
          text,
          prompt,
          key: await evidenceKeyOf(secret, claim.jobId),
        }),
        ended: 'stop',
        salt: toBase64Url(random.bytes(32)),
        seen: listCommitment(claim),
      },
      key,
    )
    const delivery = await signed(
      {
        statement: 'svc-delivery-v2',
        ...about,
        answer: await statementHash(answer),
        output_cid: outputCid,
        outHighHandle,
        outLowHandle,
      },
      key,
    )
    const grant = { address: leaderAddress, key: key.publicKey, iclOrigin, chainId, notAfter }
    const session = {
      key: key.publicKey,
      not_after: notAfter,
      signature: await leaderAccount.signTypedData(sessionTypedData(grant)),
    }
    return { delivery: parted(delivery, session), answer: parted(answer, session) }
  }
}

const parted = <Post extends { readonly signature: string }>(
  { signature, ...body }: Post,
  session: StatementSession,
) => ({ body, signature, session })
