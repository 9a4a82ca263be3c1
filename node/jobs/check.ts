/*
 * Problem: a deliverer may deliver another text than its evidence shows, or one that no other node can read. The checker itself may fail to
 * read the output, and must not blame the deliverer for that.
 *
 * Idea: the ICL asks for a check only when the answers match. So the checker opens the output, makes evidence of it, and compares that with
 * the evidence that the deliverer signed.
 *
 * Invariants: The verdict is match only when the output was opened and reproduces that evidence. output-unavailable blames the deliverer, so
 * this node must have had its own secrets, and 10 s to get the output or a failure that more time would not change. Some seconds before the
 * deadline are kept for posting the verdict.
 *
 * Failure cases: this node cannot recover its secrets, has too little time, cannot make evidence, or cannot reach the coprocessor or the
 * chain (deadline-too-close, and the check is given back); the output cannot be had (output-unavailable); it does not open or shows other
 * evidence (output-mismatch). Transient failures are retried every 2 s until the time is over.
 */

import { elapsedSince, type MonotonicMs } from '../../lib/clock.ts'
import { comparators } from '../../lib/comparators/all.ts'
import { withDeadline } from '../../lib/deadline.ts'
import { errorText } from '../../lib/host/explain-error.ts'
import type { ClaimResult } from '../../lib/schemas/assignments.ts'
import type { Verdict, VerdictReason } from '../../lib/schemas/jobs.ts'
import type { AnswerPost, DeliveryPost } from '../../lib/schemas/statements.ts'
import { openOutput } from '../../lib/sealing/output.ts'
import { SvcError } from '../../lib/svc-error.ts'
import type { JobSecrets } from './answer.ts'
import { decryptKey } from './decrypt-key.ts'
import type { JobDeps } from './job-deps.ts'
import { repeatPassing } from './wait-out.ts'

const grantPatienceMs = 20_000
// Kept for posting the verdict, if the deadline allows it.
const reserveSeconds = 10
// If an output cannot be read in this time, the deliverer is at fault. In less, the checker may have lacked time.
const fairTryMs = 10_000

/** This node's verdict on a delivery. */
export type Verification = {
  readonly verdict: Verdict
  readonly reason?: VerdictReason
}

/** Returns the secrets for evidence of any text of the job. */
type Secrets = (signal: AbortSignal) => Promise<JobSecrets>

/** The location of an output, and the evidence that its node revealed. */
type Delivered = Pick<DeliveryPost, 'fence' | 'output_cid' | 'outHighHandle' | 'outLowHandle'> &
  Pick<AnswerPost, 'evidence'>

/** Checks that the output of a node is its answer (spec 2.4). Throws SvcError `deadline-too-close` when this node is unable to check. */
export async function check(
  deps: JobDeps,
  claim: ClaimResult,
  secrets: Secrets,
  delivered: Delivered,
  secondsLeft: number,
  signal: AbortSignal,
): Promise<Verification> {
  const { clock, log } = deps
  const comparator = comparators[claim.comparator]
  const seconds = secondsLeft - Math.min(reserveSeconds, Math.floor(secondsLeft / 2))
  // The deliverer answers only for what happens from here on: that its output can be downloaded and opened.
  let triedFrom: MonotonicMs | undefined
  let hasOutput = false
  let trouble: SvcError | undefined
  const onTrouble = (error: SvcError) => {
    trouble = error
  }
  try {
    return await withDeadline(clock, Math.max(seconds, 0) * 1000, signal, late, async (ended) => {
      const known = await secrets(ended)
      triedFrom = clock.monotonic()
      const output = await readOutput(deps, claim, delivered, known, onTrouble, ended)
      hasOutput = true
      const shown = await comparator.evidenceOf({ text: output, ...known })
      const isSame = comparator.reproduces(shown, delivered.evidence)
      return isSame ? { verdict: 'match' } : mismatch
    })
  } catch (error) {
    signal.throwIfAborted()
    const code = error instanceof SvcError ? error.code : undefined
    const why = code === lateCode && trouble !== undefined ? trouble : error
    log.error(`Job ${claim.jobId}: the delivered output could not be read: ${errorText(why)}`)
    if (triedFrom === undefined || hasOutput) throw notChecked()
    if (code === 'blob-unreadable') return mismatch
    // Without a grant the coprocessor would refuse. That it cannot be reached is not the deliverer's fault.
    const wasShort = elapsedSince(clock, triedFrom) < fairTryMs
    const isTheirs =
      code === lateCode
        ? !wasShort && !isUnreachable(trouble)
        : code !== undefined && refusals.has(code)
    if (!isTheirs) throw notChecked()
    return { verdict: 'no-match', reason: 'output-unavailable' }
  }
}

/** Errors that the deliverer causes: its output is nowhere, or this node may not read its key. Any other error is this node's own. */
const refusals: ReadonlySet<string> = new Set([
  'blob-unavailable',
  'coprocessor-access-denied',
  'coprocessor-ciphertext-unknown',
])

const mismatch: Verification = { verdict: 'no-match', reason: 'output-mismatch' }

const isUnreachable = (trouble: SvcError | undefined): boolean =>
  trouble !== undefined && /^(coprocessor|chain)-/.test(trouble.code)

async function readOutput(
  deps: JobDeps,
  { jobId }: ClaimResult,
  { fence, output_cid, outHighHandle, outLowHandle }: Delivered,
  { secret }: JobSecrets,
  onTrouble: (error: SvcError) => void,
  signal: AbortSignal,
): Promise<string> {
  const handles = { high: outHighHandle, low: outLowHandle }
  // A short outage must not cost the deliverer its answer.
  const retried = <T>(work: () => Promise<T>) => repeatPassing(deps.clock, signal, onTrouble, work)
  const [blob, key] = await Promise.all([
    retried(() => deps.blobs.download(output_cid, signal)),
    retried(() => decryptKey(deps, jobId, handles, grantPatienceMs, signal)),
  ])
  return await openOutput(blob, { jobId, fence, key, secret })
}

const lateCode = 'output-late'

const late = (): SvcError =>
  new SvcError(lateCode, 'the output could not be read in time', {
    hint: 'The gateway or the coprocessor may be slow.',
  })

const notChecked = (): SvcError =>
  new SvcError('deadline-too-close', 'the delivered output could not be checked in time', {
    hint: 'See why this node was late: the gateway or the coprocessor may be slow.',
  })
