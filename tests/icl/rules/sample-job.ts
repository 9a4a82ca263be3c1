import type { Command } from '../../../icl/rules/commands.ts'
import {
  assignmentOf,
  defaultJobLimits,
  type Job,
  type JobLimits,
  type SignedResult,
  type SignedVerdict,
} from '../../../icl/rules/job.ts'
import { newJob, type Submission } from '../../../icl/rules/new-job.ts'
import { transition } from '../../../icl/rules/transition.ts'
import type { Address, ComparatorId, Hash32 } from '../../../lib/codecs.ts'
import type { Evidence } from '../../../lib/schemas/evidence.ts'
import type { VerdictReason } from '../../../lib/schemas/jobs.ts'
import { aHash, aJobId, anAddress } from '../../branded.ts'

export const nodeAddress = (digit: string): Address => anAddress(`0x${digit.repeat(40)}`)
export const [nodeA, nodeB, nodeC, nodeD, nodeE] = ['a', 'b', 'c', 'd', 'e'].map(nodeAddress) as [
  Address,
  Address,
  Address,
  Address,
  Address,
]
const client = nodeAddress('9')

const session = { key: 'k', not_after: 1, signature: '0x' as const }

/** Evidence of an answer that is one word. */
const evidenceOf = (answer: string): Evidence => ({
  comparator: 'exact',
  digest: answer,
  tokens: 1,
})

/** The list of the sample job: its first three are seated. */
const sampleMembers: readonly Address[] = [...'abcdef12345678'].map(nodeAddress)

type SampleChanges = Partial<Omit<Submission, 'list'>> & {
  readonly members?: readonly Address[]
  readonly modelId?: string
  readonly comparator?: ComparatorId
  readonly quorum?: number
}

/** A job of A (leader), B and C with a deadline of 600 s, made at time 0. */
export const sampleJob = ({
  members = sampleMembers,
  modelId = 'openai:m',
  comparator = 'exact',
  quorum = 3,
  ...changes
}: SampleChanges = {}): Job =>
  newJob({
    id: aJobId(`0x${'1'.repeat(64)}`),
    client,
    clientNonce: 1n,
    promptCid: 'bafkrei',
    kpHighHandle: 1n,
    kpLowHandle: 2n,
    parameters: {},
    submissionHash: aHash(`0x${'2'.repeat(64)}`),
    createdAt: 0,
    deadline: 600_000,
    list: {
      terms: {
        icl_origin: 'https://icl.test',
        pool_cid: `bafkrei${'p'.repeat(52)}`,
        model_id: modelId,
        min_tier: 0,
        comparator,
        quorum,
        min_matches: 1,
        list_length: 16,
        salt: 'A'.repeat(43),
      },
      block: { number: 7n, hash: aHash(`0x${'b'.repeat(64)}`) },
      members,
      activator: nodeAddress('0'),
      until: 1_200,
      commitment: aHash(`0x${'3'.repeat(64)}`),
    },
    passed: [],
    ...changes,
  })

export const resultOf = (node: Address, fence: number, answer: string): SignedResult => ({
  body: {
    statement: 'svc-leader-v1',
    address: node,
    jobId: aJobId(`0x${'1'.repeat(64)}`),
    fence,
    model_id: 'openai:m',
    max_output_tokens: 1_024,
    output_cid: `cid-${answer}`,
    outHighHandle: 3n,
    outLowHandle: 4n,
    evidence: evidenceOf(answer),
  },
  hash: hashOf(`result:${node}:${fence}:${answer}`),
  signature: 's',
  session,
})

export const verdictOf = (
  node: Address,
  fence: number,
  answer: string,
  leaderHash: Hash32,
  vote: 'match' | (typeof VerdictReason)['options'][number],
): SignedVerdict => ({
  body: {
    statement: 'svc-verifier-v1',
    address: node,
    jobId: aJobId(`0x${'1'.repeat(64)}`),
    fence,
    model_id: 'openai:m',
    max_output_tokens: 1_024,
    verdict: vote === 'match' ? 'match' : 'no-match',
    ...(vote !== 'match' && { reason: vote }),
    evidence: evidenceOf(answer),
    salt: 'salt',
    leader_statement: leaderHash,
  },
  hash: hashOf(`verdict:${node}:${fence}:${answer}:${vote}`),
  signature: 's',
  session,
})

const hashes = new Map<string, Hash32>()
const hashOf = (text: string): Hash32 => {
  const known = hashes.get(text)
  if (known) return known
  const hash: Hash32 = aHash(`0x${(hashes.size + 1).toString(16).padStart(64, '0')}`)
  hashes.set(text, hash)
  return hash
}

export const commitmentTo = (node: Address, fence: number, answer: string): Hash32 =>
  hashOf(`commitment:${node}:${fence}:${answer}`)

/** A tick of the sample job at which these members of its list are fit, these busy, and all others silent. */
export const tickWith = (
  fit: readonly Address[],
  busy: readonly Address[] = [],
): Extract<Command, { type: 'tick' }> => ({
  type: 'tick',
  members: sampleMembers.map((node) => {
    if (fit.includes(node)) return 'fit'
    return busy.includes(node) ? 'busy' : 'no-heartbeat'
  }),
})

/** Applies a command and expects it to be taken. */
export function take(
  job: Job,
  command: Command,
  now: number,
  limits: JobLimits = defaultJobLimits,
): Job {
  const next = transition(job, command, now, limits)
  if ('refused' in next) throw new Error(`refused: ${next.refused}: ${next.detail}`)
  return next.job
}

/** The code with which a command is refused, undefined when it is taken. */
export function refusalOf(job: Job, command: Command, now: number): string | undefined {
  const next = transition(job, command, now, defaultJobLimits)
  return 'refused' in next ? next.refused : undefined
}

export const fenceOf = (job: Job, node: Address): number => assignmentOf(job, node)!.fence

/** Takes a node's assignment through access and claim. */
export function claimed(job: Job, node: Address, now: number): Job {
  const fence = fenceOf(job, node)
  const offered = take(job, { type: 'see-access', node, fence }, now)
  return take(offered, { type: 'claim', node, fence }, now)
}

/** The leader answers. */
export const answered = (job: Job, node: Address, answer: string, now: number): Job => {
  const fence = fenceOf(job, node)
  const result = resultOf(node, fence, answer)
  return take(job, { type: 'post-result', node, fence, result }, now)
}

/** A verifier commits to an answer. */
export const committed = (job: Job, node: Address, answer: string, now: number): Job => {
  const fence = fenceOf(job, node)
  const commitment = commitmentTo(node, fence, answer)
  return take(job, { type: 'commit', node, fence, commitment }, now)
}

/** The command with which a verifier reveals the answer that it committed to. */
export function reveal(job: Job, node: Address, answer: string): Command {
  const fence = fenceOf(job, node)
  const result = job.result!
  const vote = result.body.evidence.digest === answer ? 'match' : 'different-answer'
  return {
    type: 'post-verdict',
    node,
    fence,
    verdict: verdictOf(node, fence, answer, result.hash, vote),
    commitment: commitmentTo(node, fence, answer),
  }
}
