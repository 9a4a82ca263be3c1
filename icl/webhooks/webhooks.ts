import type { WebhookError } from '../../lib/schemas/jobs.ts'

/** A message to a client's server, not signed yet. */
export type WebhookMessage = {
  readonly url: string
  /** The same for each try: a receiver knows by it what it has already. */
  readonly id: string
  /** When this try is made, in milliseconds. */
  readonly sentAt: number
  readonly body: string
  readonly secret: Uint8Array
}

/** What came of sending: the status that was answered, or why there is none. */
export type WebhookAnswer =
  | { readonly status: number; readonly error?: undefined }
  | { readonly error: WebhookError; readonly status?: undefined }

/** Sends messages to servers that clients name, and to no others that this machine can reach. */
export interface Webhooks {
  /** Whether servers of private networks, and plain http, are allowed: for development. */
  readonly allowPrivate: boolean
  /** Sends one message once; rejects only when the signal aborts. */
  send(message: WebhookMessage, signal: AbortSignal): Promise<WebhookAnswer>
}
