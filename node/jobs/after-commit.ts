/*
 * Problem: what a node does after its commitment depends on the other nodes. It reveals when all have committed. Then it delivers, checks,
 * or reports how its answer differs, and may repeat steps when another node's delivery fails.
 *
 * Idea: the ICL names the next step, in its response to the last one or when the node asks. The node takes it, until the job is over.
 *
 * Invariants: A statement is on disk before the node sends it, and the node sends the same bytes each time. A turn or a check that it cannot
 * do it gives back once, without a retry, because storing an output key costs gas. The node opens its commitment as long as the ICL takes
 * the answer, but only if the ICL shows that its batch has committed.
 *
 * Failure cases: the ICL is away or another node was faster (the node asks for the next step); the node cannot reveal (it gives the
 * assignment back); an acknowledgement was lost (fetch-acks.ts); the job does not end (job-time.ts gives the assignment back).
 */

import { errorText } from '../../lib/host/explain-error.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { ClaimResult, OwnAssignment } from '../../lib/schemas/assignments.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { messages } from '../log-messages.ts'
import { isGone, isIclAway } from './abort-reason.ts'
import { awaitStep, type Step } from './await-step.ts'
import { sendCommitment } from './commit.ts'
import { makeDelivery, postDelivery } from './deliver.ts'
import { fetchAcks } from './fetch-acks.ts'
import type { JobDeps } from './job-deps.ts'
import { type Ending, giveBackTurn, leave } from './job-end.ts'
import { judge } from './judge.ts'
import { leaseOf } from './lease.ts'
import { endingOf, type Part, type Taken } from './own.ts'
import { reveal } from './reveal.ts'
import { openNumbers, showAnswer, weighAnswers } from './weigh.ts'

const pauseMs = 2_000

/** Takes a node's steps after its commitment until its part in the job is over. `told` is the next step if the ICL has named it already. */
export async function afterCommit(part: Part, told: OwnAssignment | undefined): Promise<Ending> {
  const { deps, claim, own, signal } = part
  const refused = new Set<string>()
  let last: string | undefined
  for (let known = told; ; ) {
    const next = await awaitStep(deps, claim, { known, last, refused }, signal)
    await fetchAcks(part, 'over' in next ? 'over' : next.step)
    if ('over' in next) return whenOver(deps, claim, own.taken, next.over)
    last = next.key
    known = await take(part, next, refused)
  }
}

/** Logs and returns the outcome of a job in which the node has nothing left to do. */
export function whenOver(
  deps: JobDeps,
  id: Pick<ClaimResult, 'jobId'>,
  taken: Readonly<Taken>,
  why: string,
): Ending {
  const ending = endingOf(taken, why)
  if (ending.outcome === 'given-up') return leave(deps, id, why)
  deps.log.info(`Job ${id.jobId}: over: ${why}`)
  return ending
}

async function take(
  part: Part,
  next: Step,
  refused: Set<string>,
): Promise<OwnAssignment | undefined> {
  const { deps, claim, own, signal } = part
  try {
    return await act(part, next)
  } catch (error) {
    if (signal.aborted) {
      // The other nodes must not wait for a node that stops.
      await giveBackPart(part, next, signal.reason)
      throw signal.reason
    }
    const isOwed = next.step === 'work' || next.step === 'reveal'
    if (!isIclAway(error) && next.step === 'deliver') own.acknowledged.add('result')
    // An answer that is not shown counts against its node.
    const isTriedAgain = next.step === 'show' && !isPast(error)
    if (isTriedAgain) await deps.clock.sleep(pauseMs, signal)
    if (isIclAway(error) || isTriedAgain || (!isOwed && isPast(error))) {
      deps.log.warning(messages.stepFailed(claim.jobId, next.step, errorText(error)))
      return undefined
    }
    if (isOwed) throw error
    refused.add(next.key)
    await giveBackPart(part, next, error)
    // A hostile ICL can make up any number of deliveries. The pause limits the rate.
    const isMadeUp = error instanceof SvcError && error.code === 'delivery-untrusted'
    if (isMadeUp) await deps.clock.sleep(pauseMs, signal)
    return undefined
  }
}

async function giveBackPart(
  { deps, claim: { jobId, fence }, signal }: Part,
  { view: { turn } }: Step,
  error: unknown,
): Promise<void> {
  if (turn !== undefined) await giveBackTurn(deps, { jobId, fence, turn }, error, signal)
}

async function act(part: Part, next: Step): Promise<OwnAssignment | undefined> {
  const { deps, claim, own, signal } = part
  switch (next.step) {
    // The ICL has lost the commitment.
    case 'work':
      return await sendCommitment(part)
    case 'reveal':
      return await reveal(part, next.view.commitments)
    case 'deliver': {
      const { checkers = [] } = next.view
      const withinLease = leaseOf(deps, claim, next.secondsLeft, 'deliver')
      own.delivery ??= await withinLease(signal, (leased) =>
        makeDelivery({ ...part, signal: leased }, checkers),
      )
      const told = await postDelivery(part, own.delivery)
      own.taken.deliverer = deps.address
      return told
    }
    case 'show':
      return await showAnswer(part)
    case 'weigh':
      return await weighAnswers(part, next)
    case 'check':
    case 'differ':
      return await judge(part, next)
    case 'open':
      return await openNumbers(part)
  }
}

// The ICL refuses with these when the turn has passed in the meantime.
const past: readonly string[] = ['not-your-turn', 'already-answered', 'statement-mismatch']

const isPast = (error: unknown): boolean =>
  isGone(error) || (error instanceof ProblemError && past.includes(error.code))
