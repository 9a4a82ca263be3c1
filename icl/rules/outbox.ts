/*
 * Problem: replicas try the effects of a job again and again, long after the job has settled. No result of a try may be lost
 * or recorded twice.
 *
 * Idea: an effect has a number in its job's outbox. The result of a try is a command that names this number. The command
 * removes a finished effect from the outbox, or sets the time of the next try, and records what was found.
 *
 * Invariants:
 * - News of an effect that has left the outbox changes nothing: another replica has finished it.
 * - No try changes the phase, the assignments' statuses, the answers or the turns of a job.
 * - Only an accepted job has a receipt, and no receipt is replaced.
 *
 * Failure cases: after a failed try the effect stays in the outbox, with a growing wait and the error, unless no try can succeed.
 */

import type { EffectCommand, Tried } from './commands.ts'
import { type Effect, type PendingEffect, scoring } from './effects.ts'
import type { ChainSlash, Fault, Slash } from './fault.ts'
import { faultOf, withFaultChanged } from './faults.ts'
import { byFence, type Change, changeTo, type Job, recorded } from './job.ts'
import { afterTry, longestNoticeWaitMs, withJitter, withNoticeDue } from './webhook.ts'

const firstRetryMs = 500
const longestRetryMs = 30_000
/** How long the ICL waits before it looks again for a slash, and at first for a result, that needs more blocks. */
const confirmingMs = 2_000
const longestConfirmingMs = 15_000
/** How often the ICL looks whether an accused operator has answered, or the arbiter has decided. */
const slashLookMs = 3_600_000
const chainClockMs = 60_000
// Jobs are read a little after the time of a look, and clocks of replicas differ.
const slackMs = 5_000
const weiPerGwei = 1_000_000_000n

/** True for an effect to try now. One that is due later than it can wait was put off while the clock was ahead. */
export const isDue = ({ webhook }: Job, { effect, dueAt }: PendingEffect, now: number): boolean =>
  dueAt <= now || dueAt > now + longestWaitMs(effect, webhook) + slackMs

function longestWaitMs({ type }: Effect, webhook: Job['webhook']): number {
  if (type === 'notify') return longestNoticeWaitMs(webhook?.attempts ?? 0)
  return type === 'slash-node' ? slashLookMs : longestRetryMs
}

/** Applies the result of trying one of the job's effects. */
export function applyEffectCommand(job: Job, command: EffectCommand, now: number): Change {
  const pending = job.outbox.find(({ id }) => id === command.effectId)
  if (!pending) return changeTo(job)
  switch (command.type) {
    case 'effect-tried':
      return tried(withError(job, pending, command.tried), pending, command.tried, now)
    case 'commit-seen':
      return seeCommit(job, pending, command, now)
    case 'slash-seen':
      return seeSlash(job, pending, command, now)
    case 'webhook-tried':
      return tryWebhook(job, pending, command, now)
  }
}

/** The job without a finished effect, or with the time of the effect's next try. */
function tried(job: Job, { id }: PendingEffect, news: Tried, now: number): Change {
  const outbox = job.outbox.flatMap((one) => {
    if (one.id !== id) return [one]
    if (news.done) return []
    const dueAt = now + (news.retryMs ?? backoffMs(one))
    return [{ ...one, attempts: one.attempts + 1, dueAt, error: news.error }]
  })
  return changeTo({ ...job, outbox })
}

const backoffMs = ({ attempts }: PendingEffect): number =>
  Math.min(firstRetryMs * 2 ** attempts, longestRetryMs)

/** Records for the client why the job's result is not on chain. */
const withError = (job: Job, { effect }: PendingEffect, news: Tried): Job =>
  effect.type === 'commit-result' && news.error !== undefined
    ? { ...job, commitError: news.error }
    : job

type CommandOf<T extends EffectCommand['type']> = Extract<EffectCommand, { type: T }>
type CommitSeen = CommandOf<'commit-seen'>

function seeCommit(job: Job, pending: PendingEffect, { tx, isDeep }: CommitSeen, now: number) {
  if (isDeep) {
    const outbox = withNoticeDue(job.outbox, now)
    const committed = { ...job, outbox, commitTx: tx, commitError: undefined }
    const noted = recorded(committed, now, 'result-committed', { detail: tx })
    return tried(noted, pending, { done: true }, now)
  }
  const retryMs = Math.min(confirmingMs * 1.2 ** pending.attempts, longestConfirmingMs)
  const sent = { ...job, commitSentTx: tx, commitError: undefined }
  return tried(sent, pending, { done: false, retryMs }, now)
}

function seeSlash(
  job: Job,
  pending: PendingEffect,
  { slash, found }: CommandOf<'slash-seen'>,
  now: number,
): Change {
  const { effect } = pending
  const fault = effect.type === 'slash-node' ? faultOf(job, effect.kind, effect.fence) : undefined
  if (!fault) return tried(job, pending, { done: true }, now)
  switch (found.state) {
    case 'off':
      return tried(withFaultChanged(job, fault, { slash }), pending, { done: true }, now)
    case 'absent':
    case 'shallow': {
      const retryMs = confirmingMs
      return tried(withSlash(job, fault, slash, now), pending, { done: false, retryMs }, now)
    }
    case 'proposed': {
      const { executableAt, amountWei, answerHash } = found
      const open = { ...slash, executableAt, amountWei, answerHash }
      const leftMs = executableAt * 1000 - now
      const retryMs = leftMs > 0 ? Math.min(leftMs, slashLookMs) : chainClockMs
      return tried(withSlash(job, fault, open, now), pending, { done: false, retryMs }, now)
    }
    case 'executed':
    case 'cancelled': {
      const ended = endSlash(job, fault, slash, found, now)
      return changeTo(tried(ended, pending, { done: true }, now).job, [scoreOf(fault, found)])
    }
  }
}

/** The job with an open slash, and an event for a new proposal and a new answer. */
function withSlash(job: Job, fault: Fault, slash: Slash, now: number): Job {
  const before = fault.slash
  const assignment = byFence(job, fault.fence)
  let next = withFaultChanged(job, fault, { slash })
  if (slash.executableAt !== undefined && before?.executableAt === undefined) {
    next = recorded(next, now, 'slash-proposed', { assignment, detail: slash.proposedTx })
  }
  if (slash.answerHash !== undefined && before?.answerHash === undefined) {
    next = recorded(next, now, 'slash-answered', { assignment, detail: slash.answerHash })
  }
  return next
}

type EndedSlash = Extract<ChainSlash, { state: 'executed' | 'cancelled' }>

/** The job with a settled slash. The proof is dropped, because it is not needed any more. */
function endSlash(job: Job, fault: Fault, slash: Slash, found: EndedSlash, now: number): Job {
  const { state, tx: executedTx } = found
  const taken = found.state === 'executed' ? { takenWei: found.takenWei } : {}
  const ended: Slash = { ...slash, state, executedTx, ...taken }
  const changed = withFaultChanged(job, fault, { slash: ended, statements: undefined })
  const about = { assignment: byFence(job, fault.fence), detail: executedTx }
  return recorded(changed, now, `slash-${state}`, about)
}

const scoreOf = (fault: Fault, found: EndedSlash): Effect => ({
  ...(found.state === 'executed'
    ? { ...scoring(fault, 'slashed'), amountGwei: Number(found.takenWei / weiPerGwei) }
    : scoring(fault, 'slash-dismissed')),
  fault: fault.kind,
})

function tryWebhook(
  job: Job,
  pending: PendingEffect,
  { answer, jitter }: CommandOf<'webhook-tried'>,
  now: number,
): Change {
  if (job.webhook?.state !== 'waiting') return tried(job, pending, { done: true }, now)
  const { webhook, retryMs } = afterTry(job.webhook, answer)
  const news: Tried =
    retryMs === undefined ? { done: true } : { done: false, retryMs: withJitter(retryMs, jitter) }
  return tried({ ...job, webhook }, pending, news, now)
}

/** Adds the receipt to a job that has just been accepted. The caller makes it, because it has to be signed. */
export const withReceipt = (
  job: Job,
  { receipt, receiptHash }: Pick<Required<Job>, 'receipt' | 'receiptHash'>,
): Job => (job.phase === 'accepted' && !job.receipt ? { ...job, receipt, receiptHash } : job)
