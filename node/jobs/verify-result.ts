/*
 * Problem: a verifier has to say whether the leader's answer agrees with its own. The leader may lie in its
 * evidence, or deliver another text than its evidence shows. The verifier may also simply fail to read the output,
 * and must not blame the leader for its own trouble.
 *
 * Idea: two checks. First the output: download it, open it with the output key, make evidence of it, and see that
 * it reproduces the evidence that the leader signed. Then the comparator compares the leader's evidence with this
 * node's own. A match needs both.
 *
 * Invariants:
 * - match is said only when the output was opened and reproduces the leader's evidence.
 * - output-unavailable and output-mismatch blame the leader. output-unavailable is said only when this node had
 *   its own key, and either 10 s to get at the output or a failure that more time would not change.
 * - Some seconds before the deadline are kept for posting the verdict.
 *
 * Failure cases:
 * - This node cannot have its own evidence key again, is late, cannot make evidence of the output, or cannot reach
 *   the coprocessor or the chain: not-seen. Where the two pieces of evidence contradict each other, they decide
 *   alone; where they agree, deadline-too-close is thrown, and the assignment is given back.
 * - The output cannot be had although there was time: no-match, output-unavailable. It does not open, or shows
 *   other evidence: no-match, output-mismatch.
 * - Failures that may pass are tried again every 2 s until the time is over.
 */

import { type Clock, elapsedSince, type MonotonicMs } from '../../lib/clock.ts'
import { comparators } from '../../lib/comparators/all.ts'
import type { Comparator } from '../../lib/comparators/comparator.ts'
import { withDeadline } from '../../lib/deadline.ts'
import { errorText } from '../../lib/host/explain-error.ts'
import type { ClaimResult, LeaderResult } from '../../lib/schemas/assignments.ts'
import type { Evidence } from '../../lib/schemas/evidence.ts'
import type { Verdict, VerdictReason } from '../../lib/schemas/jobs.ts'
import { unseal } from '../../lib/sealing.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { messages } from '../log-messages.ts'
import type { EvidenceSecrets } from './answer.ts'
import { decryptKey } from './decrypt-key.ts'
import type { JobDeps } from './job-deps.ts'

const grantPatienceMs = 20_000
// Left for posting the verdict, when there is that much.
const reserveSeconds = 10
// An output that cannot be had in this time is the leader's fault, in less it may be lack of time.
const fairTryMs = 10_000
const againMs = 2_000

/** This node's own evidence, and how to get what makes evidence of the leader's output. */
export type Own = {
  readonly evidence: Evidence
  readonly secrets: (signal: AbortSignal) => Promise<EvidenceSecrets>
}

/** What a verifier found. */
export type Verification = { readonly verdict: Verdict; readonly reason?: VerdictReason }

type Leader = Pick<LeaderResult, 'output_cid' | 'outHighHandle' | 'outLowHandle' | 'evidence'>

/**
 * Compares the leader's answer with this node's own: a match needs an output that can be read and shows the leader's own
 * evidence (spec 2.4). When this node cannot look at the output for want of time or of its key, it says what the two
 * pieces of evidence show alone; if they agree, that is no match and no fault of the leader's, so that it throws SvcError
 * `deadline-too-close` rather than vote.
 */
export async function verifyResult(
  deps: JobDeps,
  claim: ClaimResult,
  own: Own,
  leader: Leader,
  secondsLeft: number,
  signal: AbortSignal,
): Promise<Verification> {
  const comparator = comparators[claim.comparator]
  const output = await lookAtOutput(deps, claim, own, leader, secondsLeft, signal)
  if (output !== 'fits' && output !== 'not-seen') return { verdict: 'no-match', reason: output }
  const verification = compare(comparator, leader.evidence, own.evidence)
  if (verification.verdict === 'match' && output === 'not-seen') throw notChecked()
  return verification
}

function compare(comparator: Comparator, leader: Evidence, own: Evidence): Verification {
  switch (comparator.compare(leader, own)) {
    case 'match':
      return { verdict: 'match' }
    case 'no-match':
      return { verdict: 'no-match', reason: 'different-answer' }
    case 'inconclusive':
      return { verdict: 'no-match', reason: 'inconclusive' }
  }
}

/** Whether the leader's output can be had and makes the leader's evidence; `not-seen` when that is this node's failing. */
async function lookAtOutput(
  deps: JobDeps,
  claim: ClaimResult,
  own: Own,
  leader: Leader,
  secondsLeft: number,
  signal: AbortSignal,
): Promise<'fits' | 'not-seen' | 'output-mismatch' | 'output-unavailable'> {
  const { clock, log } = deps
  const comparator = comparators[claim.comparator]
  const seconds = secondsLeft - Math.min(reserveSeconds, Math.floor(secondsLeft / 2))
  // The leader answers only for what comes in between: that its output can be had and opened.
  let triedFrom: MonotonicMs | undefined
  let hasOutput = false
  let trouble: SvcError | undefined
  const onTrouble = (error: SvcError) => {
    trouble = error
  }
  try {
    return await withDeadline(clock, Math.max(seconds, 0) * 1000, signal, late, async (ended) => {
      const secrets = await own.secrets(ended)
      triedFrom = clock.monotonic()
      const output = await readOutput(deps, claim, leader, onTrouble, ended)
      hasOutput = true
      const shown = await comparator.evidenceOf({ text: output, ...secrets })
      return comparator.reproduces(shown, leader.evidence) ? 'fits' : 'output-mismatch'
    })
  } catch (error) {
    signal.throwIfAborted()
    const code = error instanceof SvcError ? error.code : undefined
    const why = code === lateCode && trouble !== undefined ? trouble : error
    log.error(messages.outputNotRead(claim.jobId, errorText(why)))
    if (triedFrom === undefined || hasOutput) return 'not-seen'
    if (code === 'blob-unreadable') return 'output-mismatch'
    // Had the leader not let this node in, the coprocessor would refuse: that it cannot be reached is no fault of the leader's.
    const wasShort = elapsedSince(clock, triedFrom) < fairTryMs
    const isOurs = code === lateCode && (wasShort || isUnreachable(trouble))
    return isOurs ? 'not-seen' : 'output-unavailable'
  }
}

const isUnreachable = (trouble: SvcError | undefined): boolean =>
  trouble !== undefined && /^(coprocessor|chain)-/.test(trouble.code)

async function readOutput(
  deps: JobDeps,
  { jobId }: ClaimResult,
  leader: Leader,
  onTrouble: (error: SvcError) => void,
  signal: AbortSignal,
): Promise<string> {
  const handles = { high: leader.outHighHandle, low: leader.outLowHandle }
  const retried = <T>(work: () => Promise<T>) => retryUntil(deps.clock, signal, onTrouble, work)
  const [blob, key] = await Promise.all([
    retried(() => deps.blobs.download(leader.output_cid, signal)),
    retried(() => decryptKey(deps, jobId, handles, grantPatienceMs, signal)),
  ])
  return await unseal(blob, key, { kind: 'output', jobId })
}

/** Tries again while a failure may pass and `signal` leaves time: a short outage must not cost the leader its answer. */
async function retryUntil<T>(
  clock: Clock,
  signal: AbortSignal,
  onTrouble: (error: SvcError) => void,
  work: () => Promise<T>,
): Promise<T> {
  for (;;) {
    try {
      return await work()
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof SvcError && error.retryable)) throw error
      onTrouble(error)
      await clock.sleep(againMs, signal)
    }
  }
}

const lateCode = 'output-late'

const late = (): SvcError =>
  new SvcError(lateCode, 'the output could not be read in time', {
    hint: 'The gateway or the coprocessor may be slow.',
  })

const notChecked = (): SvcError =>
  new SvcError('deadline-too-close', "the leader's output could not be checked in time", {
    hint: 'See why this node was late: the gateway or the coprocessor may be slow.',
  })
