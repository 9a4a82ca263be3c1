import { comparators } from '../../lib/comparators/all.ts'
import { withDeadline } from '../../lib/deadline.ts'
import type { Verdict, VerdictReason } from '../../lib/schemas/jobs.ts'
import type { ClaimResult, TaskResult } from '../../lib/schemas/tasks.ts'
import { unseal } from '../../lib/sealing.ts'
import { SvcError } from '../../lib/svc-error.ts'
import type { Answer } from './answer.ts'
import { decryptKey } from './decrypt-key.ts'
import type { JobDeps } from './job-deps.ts'

const grantPatienceMs = 20_000
// Left for posting the verdict.
const reserveSeconds = 10

/** What a verifier found. */
export type Judgement = { readonly verdict: Verdict; readonly reason?: VerdictReason }

/** Compares the leader's answer with this node's own: a match needs an output that can be read and shows the leader's own evidence (spec 2.4). */
export async function judge(
  deps: JobDeps,
  claim: ClaimResult,
  own: Answer,
  leader: Pick<TaskResult, 'output_cid' | 'outHighHandle' | 'outLowHandle' | 'evidence'>,
  secondsLeft: number,
  signal: AbortSignal,
): Promise<Judgement> {
  const comparator = comparators[claim.comparator]
  const budgetMs = Math.max(0, secondsLeft - reserveSeconds) * 1000
  const output = await withDeadline(deps.clock, budgetMs, signal, outputLate, (ended) =>
    readOutput(deps, claim, leader, ended),
  ).catch((error: unknown): Judgement => {
    signal.throwIfAborted()
    const isUnreadable = error instanceof SvcError && error.code === 'blob-unreadable'
    return { verdict: 'no-match', reason: isUnreadable ? 'output-mismatch' : 'output-unavailable' }
  })
  if (typeof output !== 'string') return output
  const shown = await comparator.evidenceOf(output, own.evidenceKey)
  const isSame =
    shown.comparator === leader.evidence.comparator &&
    shown.digest === leader.evidence.digest &&
    shown.tokens === leader.evidence.tokens &&
    shown.sketch === leader.evidence.sketch
  if (!isSame) return { verdict: 'no-match', reason: 'output-mismatch' }
  switch (comparator.compare(leader.evidence, own.evidence)) {
    case 'match':
      return { verdict: 'match' }
    case 'no-match':
      return { verdict: 'no-match', reason: 'different-answer' }
    case 'inconclusive':
      return { verdict: 'no-match', reason: 'inconclusive' }
  }
}

async function readOutput(
  deps: JobDeps,
  { jobId }: ClaimResult,
  leader: Pick<TaskResult, 'output_cid' | 'outHighHandle' | 'outLowHandle'>,
  signal: AbortSignal,
): Promise<string> {
  const handles = { high: leader.outHighHandle, low: leader.outLowHandle }
  const [blob, key] = await Promise.all([
    deps.blobs.download(leader.output_cid, signal),
    decryptKey(deps, jobId, handles, grantPatienceMs, signal),
  ])
  return await unseal(blob, key, { kind: 'output', jobId })
}

const outputLate = (): SvcError =>
  new SvcError('output-unavailable', 'the output could not be read in time', {
    hint: 'The gateway or the coprocessor may be slow.',
  })
