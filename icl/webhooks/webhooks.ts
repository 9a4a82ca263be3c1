import type { WebhookError } from '../../lib/schemas/jobs.ts'

/** A message to a client's server, not signed yet. */
export type WebhookMessage = {
  readonly url: string
  /** The same for each attempt, so that a receiver recognizes a repeated message. */
  readonly id: string
  /** When this attempt is made, in milliseconds. */
  readonly sentAt: number
  readonly body: string
  readonly secret: Uint8Array
}

/** The outcome of an attempt: the status of the response, or why there is none. */
export type WebhookAnswer =
  | { readonly status: number; readonly error?: undefined }
  | { readonly error: WebhookError; readonly status?: undefined }

/** Sends messages to servers that clients name, but not to private servers that this machine can reach. */
export interface Webhooks {
  /** True when private networks and plain http are allowed, for development. */
  readonly allowPrivate: boolean
  /** Sends one message once; rejects only when the signal aborts. */
  send(message: WebhookMessage, signal: AbortSignal): Promise<WebhookAnswer>
}
