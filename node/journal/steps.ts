import { z } from 'zod'
import { Hash32, JobId, UnixSeconds } from '../../lib/codecs.ts'
import {
  AssignmentOffer,
  ClaimResult,
  CommitRequest,
  LeaderResult,
  VerifierVerdict,
} from '../../lib/schemas/assignments.ts'
import { Evidence } from '../../lib/schemas/evidence.ts'

const id = { jobId: JobId, fence: CommitRequest.shape.fence }

/** One step of a job, written down before its message is sent; never plaintext, keys or halves of keys. */
export const JournalStep = z.discriminatedUnion('step', [
  /** The assignment is about to be claimed. */
  z.object({ step: z.literal('started'), ...id, at: UnixSeconds, assignment: AssignmentOffer }),
  z.object({ step: z.literal('claimed'), ...id, claim: ClaimResult }),
  /** The provider is about to be asked. */
  z.object({ step: z.literal('asked'), ...id }),
  /** A verifier is about to commit. */
  z.object({
    step: z.literal('committed'),
    ...id,
    evidence: Evidence,
    salt: z.string(),
    commitment: Hash32,
  }),
  /** A leader is about to post this result. */
  z.object({ step: z.literal('result'), ...id, result: LeaderResult }),
  /** A verifier is about to post this verdict. */
  z.object({ step: z.literal('verdict'), ...id, verdict: VerifierVerdict }),
  z.object({ step: z.literal('ended'), ...id }),
  /** What is kept of an ended job: that an answer to it was signed. */
  z.object({ step: z.literal('signed'), ...id }),
])
export type JournalStep = z.output<typeof JournalStep>

/** A verifier's own evidence and the salt that hides it: what its commitment binds. */
export type Commitment = {
  readonly evidence: Evidence
  readonly salt: string
  readonly commitment: Hash32
}

/** A job that has started and not ended, as far as it got. */
export type JournalEntry = {
  readonly assignment: AssignmentOffer
  /** Unix seconds. */
  readonly startedAt: number
  readonly claim?: ClaimResult
  /** How often the provider was asked. */
  readonly asked: number
  readonly committed?: Commitment
  readonly result?: LeaderResult
  readonly verdict?: VerifierVerdict
}

/** What the steps of one job add up to; undefined when it has ended or its start is missing. */
export function entryOf(steps: readonly JournalStep[]): JournalEntry | undefined {
  let entry: JournalEntry | undefined
  for (const step of steps) {
    if (step.step === 'started') {
      entry = { assignment: step.assignment, startedAt: step.at, asked: 0 }
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
      const { evidence, salt, commitment } = step
      return { ...entry, committed: { evidence, salt, commitment } }
    }
    case 'result':
      return { ...entry, result: step.result }
    case 'verdict':
      return { ...entry, verdict: step.verdict }
    case 'ended':
    case 'signed':
      return undefined
  }
}
