import { currentTurn } from '../../../icl/rules/agreed.ts'
import type { Command, NodeCommand } from '../../../icl/rules/commands.ts'
import { assignmentOf, defaultJobLimits, type Job, type JobLimits } from '../../../icl/rules/job.ts'
import { newJob, type Submission } from '../../../icl/rules/new-job.ts'
import type {
  PostedAnswer,
  PostedDelivery,
  PostedTurnAbort,
  PostedVerdict,
} from '../../../icl/rules/posted.ts'
import { transition } from '../../../icl/rules/transition.ts'
import { toWeigh } from '../../../icl/rules/weighed.ts'
import type { Address, ComparatorId, Hash32 } from '../../../lib/codecs.ts'
import { toBase64Url, utf8 } from '../../../lib/digest.ts'
import type { Evidence } from '../../../lib/schemas/evidence.ts'
import type { VerdictReason } from '../../../lib/schemas/jobs.ts'
import type { TeacherScore } from '../../../lib/schemas/teacher.ts'
import type { Terms } from '../../../lib/schemas/terms.ts'
import { placesOf } from '../../../lib/teacher.ts'
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

const jobId = aJobId(`0x${'1'.repeat(64)}`)
/** The session key that a node signs with. */
export const keyOfNode = (node: Address): string => `key of ${node}`

const signedBy = (node: Address) => ({
  signature: 's',
  session: { key: keyOfNode(node), not_after: 1, signature: '0x' as const },
})

/** Evidence of an answer that is one word. */
const oneWord = (answer: string): Evidence => ({
  comparator: 'exact',
  digest: answer,
  tokens: 1,
  units: 1,
})

/** The list of the sample job: its first three are seated. */
const sampleMembers: readonly Address[] = [...'abcdef12345678'].map(nodeAddress)

type SampleChanges = Partial<Omit<Submission, 'list'>> & {
  readonly members?: readonly Address[]
  readonly modelId?: string
  readonly comparator?: ComparatorId
  readonly terms?: Partial<Terms>
}

/** The job without its undefined fields, as a store returns it: Bun's `toEqual` does not always ignore them. */
const asStored = (job: Job): Job =>
  Object.fromEntries(
    Object.entries(job).filter(([, value]) => value !== undefined),
  ) as unknown as Job

/** A job of A, B and C with a deadline of 600 s, made at time 0. */
export const sampleJob = ({
  members = sampleMembers,
  modelId = 'openai:m',
  comparator = 'exact',
  terms = {},
  ...changes
}: SampleChanges = {}): Job =>
  asStored(
    newJob({
      id: jobId,
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
          pool_cid: `bafkreia${'p'.repeat(50)}a`,
          model_id: modelId,
          min_tier: 0,
          comparator,
          rule: 'three',
          quorum: 3,
          max_answers: 7,
          min_matches: 1,
          list_length: 16,
          salt: 'A'.repeat(43),
          ...terms,
        },
        block: { number: 7n, hash: aHash(`0x${'b'.repeat(64)}`) },
        members,
        activator: nodeAddress('0'),
        until: 1_200,
        commitment: aHash(`0x${'3'.repeat(64)}`),
      },
      passed: [],
      ...changes,
    }),
  )

/** A node's answer: one word, or evidence. */
export function answerOf(node: Address, fence: number, answer: string | Evidence): PostedAnswer {
  const evidence = typeof answer === 'string' ? oneWord(answer) : answer
  return {
    body: {
      statement: 'svc-answer-v3',
      jobId,
      address: node,
      fence,
      position: 0,
      list: aHash(`0x${'3'.repeat(64)}`),
      model_id: 'openai:m',
      max_output_tokens: 1_024,
      evidence,
      ended: 'stop',
      salt: toBase64Url(utf8(node.slice(2, 34))),
      seen: aHash(`0x${'4'.repeat(64)}`),
    },
    hash: hashOf(`answer:${node}:${fence}:${evidence.digest}`),
    ...signedBy(node),
  }
}

export const deliveryOf = (job: Job, node: Address, output = 'cid'): PostedDelivery => {
  const { fence, answer } = assignmentOf(job, node)!
  return {
    body: {
      statement: 'svc-delivery-v2',
      jobId,
      address: node,
      fence,
      answer: answer?.hash ?? hashOf('no answer'),
      output_cid: output,
      outHighHandle: 3n,
      outLowHandle: 4n,
    },
    hash: hashOf(`delivery:${node}:${fence}:${output}`),
    ...signedBy(node),
  }
}

export type Said = 'match' | (typeof VerdictReason)['options'][number]

/** A node's verdict on the current delivery, or on another. */
const verdictOf = (
  job: Job,
  node: Address,
  said: Said,
  delivery: Hash32 = currentTurn(job)?.delivery?.hash ?? hashOf('no delivery'),
): PostedVerdict => {
  const { fence, answer } = assignmentOf(job, node)!
  return {
    body: {
      statement: 'svc-verdict-v2',
      jobId,
      address: node,
      fence,
      answer: answer?.hash ?? hashOf('no answer'),
      delivery,
      verdict: said === 'match' ? 'match' : 'no-match',
      ...(said !== 'match' && { reason: said }),
    },
    hash: hashOf(`verdict:${node}:${fence}:${delivery}:${said}`),
    ...signedBy(node),
  }
}

const hashes = new Map<string, Hash32>()
const hashOf = (text: string): Hash32 => {
  const known = hashes.get(text)
  if (known) return known
  const hash: Hash32 = aHash(`0x${(hashes.size + 1).toString(16).padStart(64, '0')}`)
  hashes.set(text, hash)
  return hash
}

export const commitmentTo = (node: Address, fence: number, answer: string | Evidence): Hash32 =>
  hashOf(`commitment:${node}:${fence}:${typeof answer === 'string' ? answer : answer.digest}`)

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

/** Takes a node's assignment through access and claim. Its node is so fast that it gets the shortest lease. */
export function claimed(job: Job, node: Address, now: number): Job {
  const fence = fenceOf(job, node)
  const offered = take(job, { type: 'see-access', node, fence }, now)
  return take(offered, { type: 'claim', node, fence, msPerToken: 1 }, now)
}

/** The command with which a node commits to an answer. */
export const commitBy = (job: Job, node: Address, answer: string | Evidence): NodeCommand => {
  const fence = fenceOf(job, node)
  return { type: 'commit', node, fence, commitment: commitmentTo(node, fence, answer) }
}

/** The command with which a node reveals the answer that it committed to. */
export const revealBy = (job: Job, node: Address, answer: string | Evidence): NodeCommand => {
  const fence = fenceOf(job, node)
  return {
    type: 'reveal',
    node,
    fence,
    answer: answerOf(node, fence, answer),
    commitment: commitmentTo(node, fence, answer),
  }
}

export const deliverBy = (job: Job, node: Address, output?: string): NodeCommand => ({
  type: 'deliver',
  node,
  fence: fenceOf(job, node),
  delivery: deliveryOf(job, node, output),
})

export const verdictBy = (job: Job, node: Address, said: Said, delivery?: Hash32): NodeCommand => ({
  type: 'post-verdict',
  node,
  fence: fenceOf(job, node),
  verdict: verdictOf(job, node, said, delivery),
})

/** The command with which a node shows its answer; without a CID it has lost the text. */
export const showBy = (job: Job, node: Address, cid?: string): NodeCommand => ({
  ...{ type: 'show', node, fence: fenceOf(job, node), cid },
})

/** The command with which a node commits to its numbers, or says that it has none. */
export const weighBy = (job: Job, node: Address, isAble = true): NodeCommand => {
  const commitment = isAble ? hashOf(`numbers:${node}`) : undefined
  return { type: 'weigh', node, fence: fenceOf(job, node), commitment }
}

/** Numbers of a text of `n` tokens with this mean gap, in thousandths of a nat; `shift` moves the likeliest tokens. */
export function scoreWith(answer: Hash32, mean: number, n = 40, shift = 0): TeacherScore {
  const each = [0, 1, 2, 3].map((at) => Math.floor(((at + 1) * n) / 4) - Math.floor((at * n) / 4))
  const quarters = each.map((tokens) => tokens * mean)
  const top = placesOf(answer, n).map(() =>
    [0, 1, 2, 3, 4].map((at): [number, number] => [at, 100 + shift + 300 * at]),
  )
  return {
    ...{ check: 'teacher/1', n, agree: 0, far: 0, gap: n * mean, trimmed: n * mean, quarters },
    ...{ transcript: hashOf('transcript'), top },
  }
}

/** The command with which a node opens its numbers of the answers that it weighs: all the same, or as `scored` says. */
export const numbersBy = (
  job: Job,
  node: Address,
  scored: (of: Address, answer: Hash32) => TeacherScore | undefined = (_, answer) =>
    scoreWith(answer, 5),
): NodeCommand => {
  const fence = fenceOf(job, node)
  const weighed = toWeigh(job, fence).map(({ answered: { node: of, answer } }) => {
    const score = scored(of, answer.hash)
    return { answer: answer.hash, ...(score && { score }) }
  })
  const body = {
    statement: 'svc-numbers-v1',
    ...{ jobId, address: node, fence, weighed },
    salt: 'A'.repeat(43),
  } as const
  const numbers = { body, hash: hashOf(`numbers:${node}`), ...signedBy(node) }
  return { type: 'open-numbers', node, fence, numbers }
}

export const abortBy = (
  job: Job,
  node: Address,
  reason: Extract<NodeCommand, { type: 'abort' }>['reason'] = 'node-failed',
): NodeCommand => ({ type: 'abort', node, fence: fenceOf(job, node), reason })

/** The command with which a node gives back its part in the current turn, or in another. */
export const abortTurnBy = (
  job: Job,
  node: Address,
  reason: PostedTurnAbort['body']['reason'] = 'node-failed',
  turn = (job.agreement?.turns.length ?? 0) - 1,
): NodeCommand => {
  const fence = fenceOf(job, node)
  const body = { statement: 'svc-abort-v2', jobId, address: node, fence, turn, reason } as const
  const abort = { body, hash: hashOf(`abort:${node}:${fence}:${turn}`), ...signedBy(node) }
  return { type: 'abort-turn', node, fence, abort }
}

/** The command with its statement signed by another session key. */
export const signedWith = <C extends NodeCommand>(command: C, key: string): C => {
  const session = { key, not_after: 1, signature: '0x' } as const
  const entries = Object.entries(command).map(([name, value]) => [
    name,
    typeof value === 'object' ? { ...value, session } : value,
  ])
  return Object.fromEntries(entries) as C
}

type Answers = readonly (readonly [Address, string | Evidence])[]

/** Nodes claim, and commit to their answers. */
export function committed(job: Job, answers: Answers, now: number): Job {
  let next = job
  for (const [node] of answers) next = claimed(next, node, now)
  for (const [node, answer] of answers) next = take(next, commitBy(next, node, answer), now)
  return next
}

/** Nodes reveal what they committed to. */
export const revealed = (job: Job, answers: Answers, now: number): Job =>
  answers.reduce((next, [node, answer]) => take(next, revealBy(next, node, answer), now), job)

/** Nodes answer: all of them have claimed, committed and revealed. */
export const answered = (job: Job, answers: Answers, now: number): Job =>
  revealed(committed(job, answers, now), answers, now)

/** The sample job once A, B and C have given these answers, 10 ms after it came. */
export const decidedJob = (
  a: string | Evidence,
  b: string | Evidence,
  c: string | Evidence,
  changes: SampleChanges = {},
): Job =>
  answered(
    sampleJob(changes),
    [
      [nodeA, a],
      [nodeB, b],
      [nodeC, c],
    ],
    10,
  )

/** The nodes of the agreement in the order in which they deliver. */
export const inTurn = ({ agreement, assignments }: Job): readonly Address[] =>
  agreement?.order.map(
    (fence) => assignments.find((assignment) => assignment.fence === fence)!.node,
  ) ?? []

/** Whose turn it is delivers. */
export function delivered(job: Job, now: number): Job {
  const node = job.assignments.find(({ fence }) => fence === currentTurn(job)?.fence)!.node
  return take(job, deliverBy(job, node), now)
}

/** What each node was scored for, by the last digit of its address. */
export const scoresOf = (job: Job): Readonly<Record<string, string>> =>
  Object.fromEntries(
    job.assignments.flatMap(({ node, scores }) =>
      scores?.length ? [[node.at(-1)!, scores.join(' ')]] : [],
    ),
  )

/** Whose turn it is delivers, and all others of the agreement find that it matches: the job is accepted. */
export function accepted(job: Job, now: number): Job {
  const open = delivered(job, now)
  const fence = currentTurn(open)?.fence
  const checkers = inTurn(open).filter((node) => fenceOf(open, node) !== fence)
  return checkers.reduce((next, node) => take(next, verdictBy(next, node, 'match'), now), open)
}
