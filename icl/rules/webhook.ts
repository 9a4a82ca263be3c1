import type { JobPhase, WebhookError, WebhookState } from '../../lib/schemas/jobs.ts'
import type { Effect, PendingEffect } from './effects.ts'

/** Where a client wants to be notified that a job has settled, and the results of the tries. */
export type Webhook = {
  readonly url: string
  readonly state: WebhookState
  /** The number of tries. */
  readonly attempts: number
  /** The status or the error of the last try. */
  readonly lastStatus?: number | undefined
  readonly lastError?: WebhookError | undefined
}

/** A webhook without a try. */
export const newWebhook = (url: string): Webhook => ({ url, state: 'waiting', attempts: 0 })

/** How long the message about an accepted job waits for the transaction that it names, in milliseconds. */
const commitWaitMs = 60_000

type Noticed = { readonly webhook?: Webhook; readonly phase: JobPhase }

/** The effects that notify the client of a settled job; empty when the client named no webhook. */
export const noticesOf = ({ webhook, phase }: Noticed): readonly Effect[] =>
  webhook ? [{ type: 'notify', afterMs: phase === 'accepted' ? commitWaitMs : 0 }] : []

/** The outbox with the first try of the message due now: the transaction that it waited for is on chain. */
export const withNoticeDue = (
  outbox: readonly PendingEffect[],
  now: number,
): readonly PendingEffect[] =>
  outbox.map((pending) =>
    pending.effect.type === 'notify' && pending.attempts === 0
      ? { ...pending, dueAt: Math.min(pending.dueAt, now) }
      : pending,
  )

/** The waits between tries, in milliseconds: nearly 24 hours in all. */
export const webhookRetriesMs: readonly number[] = [
  5_000, 60_000, 300_000, 1_800_000, 7_200_000, 18_000_000, 28_800_000, 28_800_000,
]

/** The longest that a message waits for its next try after so many, in milliseconds. */
export const longestNoticeWaitMs = (attempts: number): number =>
  Math.max(commitWaitMs, withJitter(webhookRetriesMs[attempts - 1] ?? 0, 1))

/** A wait that is up to a tenth longer, by `jitter` from 0 to 1. */
export const withJitter = (waitMs: number, jitter: number): number =>
  waitMs + Math.floor((waitMs * jitter) / 10)

const gone = 410

/** The status of a server's answer, or why there is none. */
export type WebhookAnswer = {
  readonly status?: number | undefined
  readonly error?: WebhookError | undefined
}

/** The webhook after one more try. `retryMs` is absent when there are no more tries. */
export function afterTry(
  { url, attempts: before }: Webhook,
  answer: WebhookAnswer,
): { readonly webhook: Webhook; readonly retryMs?: number } {
  const { status, error } = answer
  const after = (state: WebhookState): Webhook => ({
    url,
    state,
    attempts: before + 1,
    ...(status !== undefined && { lastStatus: status }),
    ...(error !== undefined && { lastError: error }),
  })
  if (status !== undefined && status >= 200 && status < 300) return { webhook: after('delivered') }
  if (status === gone) return { webhook: after('gone') }
  const retryMs = error === 'webhooks-off' ? undefined : webhookRetriesMs[before]
  if (retryMs === undefined) return { webhook: after('given-up') }
  return { webhook: after('waiting'), retryMs }
}
