import { vi } from 'vitest'
import type { Address, ComparatorId } from '../../lib/codecs.ts'
import { comparators } from '../../lib/comparators/all.ts'
import { evidenceKey } from '../../lib/evidence.ts'
import { listCommitment } from '../../lib/list-commitment.ts'
import type { AssignmentOffer, ClaimResult, LeaderResult } from '../../lib/schemas/assignments.ts'
import { seal, splitKey } from '../../lib/sealing.ts'
import { signingKeyFromSeed } from '../../lib/session-key.ts'
import { signResult } from '../../lib/statements.ts'
import type { InferenceProvider } from '../../node/inference/provider.ts'
import type { JobDeps } from '../../node/jobs/job-deps.ts'
import { createVirtualClock } from '../virtual-clock.ts'
import {
  bytesOf,
  clientAddress,
  coordinatorAddress,
  countingRandom,
  fakeBlobs,
  fakeChain,
  fakeCoprocessor,
  jobId,
  leaderAddress,
  memoryHistory,
  memoryJournal,
  modelId,
  nodeAddress,
  recordingLog,
  spareAddress,
  verifierAddresses,
} from './fakes.ts'

/** What the answers of a job are compared by. */
type ComparingBy = { readonly comparator?: ComparatorId }

type Secrets = {
  readonly prompt: string
  readonly promptKey: Uint8Array<ArrayBuffer>
}

/** One job, its client's sealed prompt, and a node with fakes behind every port. */
export async function createJobWorld(
  role: 'leader' | 'verifier',
  answer = 'Four.',
  { comparator = 'exact' }: ComparingBy = {},
) {
  const clock = createVirtualClock()
  const random = countingRandom()
  const log = recordingLog()
  const coprocessor = fakeCoprocessor()
  const chain = fakeChain(coprocessor)
  const blobs = fakeBlobs()
  const journal = memoryJournal()
  const history = memoryHistory()
  const promptKey = await bytesOf('prompt key')
  const halves = splitKey(promptKey)
  const prompt = 'What is two and two?'
  const promptCid = await blobs.put(
    await seal(prompt, promptKey, { kind: 'prompt', client: clientAddress }, random),
  )
  const now = Math.floor(clock.now() / 1000)
  const [verifier, otherVerifier] = verifierAddresses
  const verifiers = [role === 'leader' ? verifier : nodeAddress, otherVerifier]
  const claim: ClaimResult = {
    jobId,
    fence: 1,
    role,
    kpHighHandle: coprocessor.store(halves.high),
    kpLowHandle: coprocessor.store(halves.low),
    claimDeadline: now + 120,
    server_time: now,
    client: clientAddress,
    model_id: modelId,
    prompt_cid: promptCid,
    comparator,
    parameters: { max_output_tokens: 1_024 },
    // The leader is in front, then the verifiers in the order of their seats, and one in reserve.
    list: [role === 'leader' ? nodeAddress : leaderAddress, ...verifiers, spareAddress],
    position: role === 'leader' ? 0 : 1,
    activator: coordinatorAddress,
    until: now + 1_200,
    output_readers: [clientAddress, ...verifiers],
    output_delegate: coordinatorAddress,
  }
  coprocessor.granted.add(claim.kpHighHandle).add(claim.kpLowHandle)
  chain.commitments.set(claim.kpHighHandle, listCommitment(claim))
  const complete = vi.fn<InferenceProvider['complete']>(async () => answer)
  const answered = { jobId, status: 'done', phase: 'running' } as const
  const leader = await leaderOf(claim, { prompt, promptKey }, coprocessor, blobs, random)
  const view: Awaited<ReturnType<JobDeps['api']['getAssignment']>> = {
    jobId,
    status: 'committed',
    phase: 'running',
    role,
    fence: 1,
    server_time: now,
  }
  const api = {
    claimAssignment: vi.fn<JobDeps['api']['claimAssignment']>(async () => claim),
    commitAssignment: vi.fn<JobDeps['api']['commitAssignment']>(async () => answered),
    getAssignment: vi.fn<JobDeps['api']['getAssignment']>(async () => view),
    postResult: vi.fn<JobDeps['api']['postResult']>(async () => answered),
    postVerdict: vi.fn<JobDeps['api']['postVerdict']>(async () => answered),
    abortAssignment: vi.fn<JobDeps['api']['abortAssignment']>(async () => answered),
    putBlob: vi.fn<JobDeps['api']['putBlob']>(async ({ body }) => ({ cid: await blobs.put(body) })),
  }
  const deps: JobDeps = {
    address: nodeAddress,
    sessionKey: await signingKeyFromSeed(await bytesOf('node session')),
    api,
    coprocessor,
    blobs,
    chain,
    models: new Map([[modelId, { provider: { complete }, model: 'test-model' }]]),
    journal,
    history,
    clock,
    random,
    log,
  }
  const assignment: AssignmentOffer = {
    jobId,
    role,
    model_id: modelId,
    prompt_cid: promptCid,
    client: clientAddress,
    deadline: now + 600,
    fence: 1,
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
    complete,
    prompt,
    promptKey,
    leader,
    view,
  }
}

export type JobWorld = Awaited<ReturnType<typeof createJobWorld>>

/** Makes the results that another node could post as this job's leader. */
async function leaderOf(
  claim: ClaimResult,
  { prompt, promptKey }: Secrets,
  coprocessor: ReturnType<typeof fakeCoprocessor>,
  blobs: ReturnType<typeof fakeBlobs>,
  random: ReturnType<typeof countingRandom>,
) {
  const sessionKey = await signingKeyFromSeed(await bytesOf('leader session'))
  return async (text: string, shown = text): Promise<LeaderResult & { address: Address }> => {
    const outputKey = await bytesOf('output key')
    const halves = splitKey(outputKey)
    const outputCid = await blobs.put(
      await seal(shown, outputKey, { kind: 'output', jobId: claim.jobId }, random),
    )
    const outHighHandle = coprocessor.store(halves.high)
    const outLowHandle = coprocessor.store(halves.low)
    coprocessor.granted.add(outHighHandle).add(outLowHandle)
    const body = {
      jobId: claim.jobId,
      fence: 2,
      model_id: claim.model_id,
      max_output_tokens: claim.parameters.max_output_tokens,
      output_cid: outputCid,
      outHighHandle,
      outLowHandle,
      evidence: await comparators[claim.comparator].evidenceOf({
        text,
        prompt,
        key: await evidenceKey(promptKey, claim.jobId),
      }),
    }
    return { ...(await signResult(leaderAddress, body, sessionKey)), address: leaderAddress }
  }
}
