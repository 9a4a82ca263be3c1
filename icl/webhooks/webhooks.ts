import type { Clock } from '../../lib/clock.ts'
import { utf8 } from '../../lib/digest.ts'
import type { WebhookError } from '../../lib/schemas/jobs.ts'
import { type Network, publicOrigin } from '../../lib/schemas/network.ts'
import type { IclKeys } from '../records/icl-keys.ts'
import type { Job } from '../rules/job.ts'

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

const base64 = (bytes: Uint8Array): string => btoa(String.fromCharCode(...bytes))

/** Returns the key that signs messages to a client's URL. It is derived from the ICL's secret each time, and stored nowhere. */
export const webhookKeyOf = (
  keys: Pick<IclKeys, 'tag'>,
  client: Job['client'],
  url: string,
): Promise<Uint8Array<ArrayBuffer>> => keys.tag('webhook', utf8(`${client}\n${url}`))

/** Returns the key in the text form that receivers' libraries take. */
export const webhookSecretText = (key: Uint8Array): string => `whsec_${base64(key)}`

type Sending = {
  readonly keys: Pick<IclKeys, 'tag'>
  readonly clock: Clock
  readonly network: Network
}

/** Makes the message that a job has settled. It contains no secret, and the receiver can check all of it by asking the ICL. */
export async function settledMessage(
  { keys, clock, network }: Sending,
  job: Job,
): Promise<WebhookMessage> {
  const url = job.webhook?.url ?? ''
  const settledAt = job.settledAt ?? clock.now()
  const body = {
    type: 'inference.settled',
    // biome-ignore lint/style/noRestrictedGlobals: not the time now, but a given one in its standard form
    timestamp: new Date(settledAt).toISOString(),
    data: {
      jobId: job.id,
      icl: publicOrigin(network),
      status: job.phase,
      ...(job.reason !== undefined && { reason: job.reason }),
      ...(job.receiptHash !== undefined && { receipt_hash: job.receiptHash }),
      ...(job.commitTx !== undefined && { commit_tx: job.commitTx }),
    },
  }
  return {
    url,
    id: `msg_${job.id.slice(2)}`,
    sentAt: clock.now(),
    body: JSON.stringify(body),
    secret: await webhookKeyOf(keys, job.client, url),
  }
}
