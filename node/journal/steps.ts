import { z } from 'zod'
import { Hash32, JobId, UnixSeconds } from '../../lib/codecs.ts'
import { Ended, Usage } from '../../lib/schemas/answer.ts'
import { AssignmentOffer, ClaimResult, CommitRequest } from '../../lib/schemas/assignments.ts'
import { Evidence } from '../../lib/schemas/evidence.ts'
import { AnswerPost, DeliveryPost, NumbersPost, VerdictPost } from '../../lib/schemas/statements.ts'

const id = { jobId: JobId, fence: CommitRequest.shape.fence }

const step = <const Name extends string, Fields extends z.ZodRawShape>(
  name: Name,
  fields: Fields,
) => z.object({ step: z.literal(name), ...id, ...fields })

/** One step of a job, on disk before its message is sent. Never holds plaintext, keys or halves of keys. */
export const JournalStep = z.discriminatedUnion('step', [
  /** The assignment is about to be claimed. */
  step('started', { at: UnixSeconds, assignment: AssignmentOffer }),
  step('claimed', { claim: ClaimResult }),
  /** The provider is about to be asked. */
  step('asked', {}),
  /** How often the provider was asked for the job in steps that were dropped. The fence is always 1. */
  step('asked-before', { times: z.int().min(1) }),
  /** The node is about to commit to its answer. */
  step('committed', {
    evidence: Evidence,
    ended: Ended,
    usage: Usage.optional(),
    salt: z.string(),
    commitment: Hash32,
    /** The answer, sealed under the job's secret in base64url, where other nodes weigh it. */
    sealed: z.string().optional(),
  }),
  /** The node is about to reveal this answer. */
  step('answer', { answer: AnswerPost }),
  /** The node is about to post this delivery. */
  step('delivery', { delivery: DeliveryPost }),
  /** The node is about to commit to these numbers. */
  step('numbers', { numbers: NumbersPost }),
  /** The node is about to post this verdict. */
  step('verdict', { verdict: VerdictPost }),
  step('ended', {}),
  /** All that is kept of an ended job: anything may have been signed for this assignment. */
  step('signed', {}),
])
export type JournalStep = z.output<typeof JournalStep>

/** A step with a signed statement. */
export type SignedStep = Extract<JournalStep, { step: 'answer' | 'delivery' | 'verdict' }>

/** Names the statement that a step shows to be signed for its assignment. A second one of the same name would contradict it. */
export function signedIn(step: JournalStep): string | undefined {
  switch (step.step) {
    case 'answer':
    case 'delivery':
    case 'signed':
      return step.step
    case 'verdict':
      return `verdict on ${step.verdict.delivery}`
    default:
      return undefined
  }
}

/** A node's own evidence, how its answer ended and what it took, the salt, and the commitment to evidence and salt. */
export type Commitment = Omit<Extract<JournalStep, { step: 'committed' }>, 'step' | keyof typeof id>

/** A job that has started and not ended, as far as the journal knows it. */
export type JournalEntry = {
  readonly assignment: AssignmentOffer
  /** Unix seconds. */
  readonly startedAt: number
  readonly claim?: ClaimResult
  /** How often the provider was asked under this fence. */
  readonly asked: number
  readonly committed?: Commitment
  readonly answer?: AnswerPost
  readonly delivery?: DeliveryPost
  readonly numbers?: NumbersPost
  /** One for each delivery. */
  readonly verdicts: readonly VerdictPost[]
}

/** Folds the steps of one job into an entry. Undefined when it has ended or its start is missing. */
export function entryOf(steps: readonly JournalStep[]): JournalEntry | undefined {
  let entry: JournalEntry | undefined
  for (const step of steps) {
    if (step.step === 'started') {
      entry = { assignment: step.assignment, startedAt: step.at, asked: 0, verdicts: [] }
    } else if (entry !== undefined) {
      entry = withStep(entry, step)
    }
  }
  return entry
}

function withStep(
  entry: JournalEntry,
  step: Exclude<JournalStep, { step: 'started' }>,
): JournalEntry | undefined {
  switch (step.step) {
    case 'claimed':
      return { ...entry, claim: step.claim }
    case 'asked':
      return { ...entry, asked: entry.asked + 1 }
    case 'committed': {
      const { step: _, jobId: __, fence: ___, ...committed } = step
      return { ...entry, committed }
    }
    case 'answer':
      return { ...entry, answer: step.answer }
    case 'delivery':
      return { ...entry, delivery: step.delivery }
    case 'numbers':
      return { ...entry, numbers: step.numbers }
    case 'verdict':
      return { ...entry, verdicts: [...entry.verdicts, step.verdict] }
    case 'ended':
    case 'signed':
    case 'asked-before':
      return undefined
  }
}
