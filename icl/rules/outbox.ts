/*
 * Problem: grants, scores, results on chain, slashes and messages to servers are tried again and again, by one replica
 * after another, long after the job has settled, and what came of each try must not be lost or noted twice.
 *
 * Idea: an effect has a number in its job's outbox. What came of a try is a command that names this number. It takes
 * the effect out of the outbox when that is done, or says when to try again, and notes what was found.
 *
 * Invariants:
 * - An effect that has left the outbox changes nothing more: another replica has finished it.
 * - No try changes the phase, the assignments' statuses, the answers or the turns of a job.
 * - Only an accepted job has a receipt, and no receipt is replaced.
 *
 * Failure cases: a try that fails leaves its effect where it is, with a later due time and the error. The waits grow from
 * one try to the next.
 */

import type { EffectCommand, Tried } from './commands.ts'
import type { PendingEffect } from './effects.ts'
import type { ChainSlash, Fault, Slash } from './fault.ts'
import { faultOf, withFaultChanged } from './faults.ts'
import { type Change, type Job, recorded } from './job.ts'
import { afterTry, withNoticeDue } from './webhook.ts'

const firstRetryMs = 500
const longestRetryMs = 30_000
/** Results and slashes that wait for more blocks are looked for so often. */
const confirmingMs = 2_000
const longestConfirmingMs = 15_000
/** How often to see whether an accused operator has answered, or the arbiter has decided. */
const slashLookMs = 3_600_000
const chainClockMs = 60_000
const weiPerGwei = 1_000_000_000n

/** What comes of a try of one of the job's effects. */
export function applyEffectCommand(job: Job, command: EffectCommand, now: number): Change {
  const pending = job.outbox.find(({ id }) => id === command.effectId)
  if (!pending) return { job, effects: [] }
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

/** The job whose effect is done, and leaves the outbox, or waits for its next try. */
function tried(job: Job, { id }: PendingEffect, news: Tried, now: number): Change {
  if (news.done)
    return { job: { ...job, outbox: job.outbox.filter((one) => one.id !== id) }, effects: [] }
  const outbox = job.outbox.map((one) =>
    one.id === id
      ? {
          ...one,
          attempts: one.attempts + 1,
          dueAt: now + (news.retryMs ?? backoffMs(one)),
          error: news.error,
        }
      : one,
  )
  return { job: { ...job, outbox }, effects: [] }
}

const backoffMs = ({ attempts }: PendingEffect): number =>
  Math.min(firstRetryMs * 2 ** attempts, longestRetryMs)

/** A client is shown why its job's result is not on chain. */
const withError = (job: Job, { effect }: PendingEffect, news: Tried): Job =>
  effect.type === 'commit-result' && !news.done && news.error !== undefined
    ? { ...job, commitError: news.error }
    : job

type CommandOf<T extends EffectCommand['type']> = Extract<EffectCommand, { type: T }>

function seeCommit(
  job: Job,
  pending: PendingEffect,
  { tx, isDeep }: CommandOf<'commit-seen'>,
  now: number,
): Change {
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

/** The accusation as it stands on chain; the events about it are shown with its node. */
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
      const { node, fence } = fault
      const ended = endSlash(job, fault, slash, found, now)
      const { job: next } = tried(ended, pending, { done: true }, now)
      return { job: next, effects: [{ type: 'score-node', node, fence, ...scoreOf(found) }] }
    }
  }
}

/** The job with an open slash, and with an event for each thing that is new. */
function withSlash(job: Job, fault: Fault, slash: Slash, now: number): Job {
  const before = fault.slash
  const assignment = assignmentOfFault(job, fault)
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

/** The job with a slash settled. Its proof has served its purpose, and is kept no longer. */
function endSlash(job: Job, fault: Fault, slash: Slash, found: EndedSlash, now: number): Job {
  const { state, tx: executedTx } = found
  const taken = found.state === 'executed' ? { takenWei: found.takenWei } : {}
  const ended: Slash = { ...slash, state, executedTx, ...taken }
  const changed = withFaultChanged(job, fault, { slash: ended, statements: undefined })
  const assignment = assignmentOfFault(job, fault)
  return recorded(changed, now, `slash-${state}`, { assignment, detail: executedTx })
}

const scoreOf = (found: EndedSlash) =>
  found.state === 'executed'
    ? ({ code: 'slashed', amountGwei: Number(found.takenWei / weiPerGwei) } as const)
    : ({ code: 'slash-dismissed' } as const)

const assignmentOfFault = ({ assignments }: Job, { fence }: Fault) =>
  assignments.find((assignment) => assignment.fence === fence)

function tryWebhook(
  job: Job,
  pending: PendingEffect,
  { answer, jitter }: CommandOf<'webhook-tried'>,
  now: number,
): Change {
  if (job.webhook?.state !== 'waiting') return tried(job, pending, { done: true }, now)
  const { webhook, retryMs } = afterTry(job.webhook, answer)
  const news: Tried =
    retryMs === undefined
      ? { done: true }
      : { done: false, retryMs: retryMs + Math.floor((retryMs * jitter) / 10) }
  return tried({ ...job, webhook }, pending, news, now)
}

/** The accepted job with its receipt. It is made beside the rules, because it is signed. */
export const takeReceipt = (
  job: Job,
  { receipt, receiptHash }: Pick<Required<Job>, 'receipt' | 'receiptHash'>,
): Change =>
  job.phase === 'accepted' && !job.receipt
    ? { job: { ...job, receipt, receiptHash }, effects: [] }
    : { job, effects: [] }
