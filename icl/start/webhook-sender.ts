import { lookup } from 'node:dns/promises'
import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { Webhook } from 'standardwebhooks'
import { abortable } from '../../lib/chain/abortable.ts'
import { withDeadline } from '../../lib/deadline.ts'
import { hostOf, parseIpAddress } from '../../lib/ip-address.ts'
import type { WebhookError } from '../../lib/schemas/jobs.ts'
import { systemClock } from '../../lib/system.ts'
import { toSeconds } from '../../lib/time.ts'
import { isPublicAddress, whyRefused } from '../../lib/webhook-url.ts'
import { version } from '../version.ts'
import type { WebhookAnswer, WebhookMessage, Webhooks } from '../webhooks/webhooks.ts'
import { createNameLookup } from './public-names.ts'

const usualTimeoutMs = 10_000
const maxAddresses = 4
const maxHeaderBytes = 8_192

/** The options of a webhook sender. */
export type WebhookSenderOptions = {
  /** Allows plain http and servers that are not on the public internet. */
  readonly allowPrivate: boolean
  /** Resolves a name to addresses. When left out, the machine's name servers, with `allowPrivate` all that the system knows. */
  readonly resolve?: (host: string) => Promise<readonly string[]>
  /** Trusted certificates in place of the usual ones, as PEM. */
  readonly ca?: string
  /** The most time for one try, in milliseconds; 10 s when left out. */
  readonly timeoutMs?: number
}

/**
 * Posts messages by Standard Webhooks. It resolves a name once, checks the addresses, and connects to one of them, so that a later change
 * of the name has no effect. It follows no redirects and reads no bodies.
 */
export function createWebhookSender(options: WebhookSenderOptions): Webhooks {
  const { allowPrivate, timeoutMs = usualTimeoutMs } = options
  const { resolve = allowPrivate ? lookUpPrivate : createNameLookup() } = options
  const late = new Error(`no answer within ${timeoutMs} ms`)
  const send = async (message: WebhookMessage, signal: AbortSignal): Promise<WebhookAnswer> => {
    const url = new URL(message.url)
    if (whyRefused(message.url, allowPrivate)) return { error: 'address-refused' }
    const addresses = await abortable(addressesOf(hostOf(url), resolve), signal)
    // One private address is enough to refuse: the owner of such a name is not trusted with the others.
    const isOpen = addresses.length > 0 && (allowPrivate || addresses.every(isPublicAddress))
    if (!isOpen) return { error: 'address-refused' }
    let error: WebhookError = 'unreachable'
    for (const address of addresses.slice(0, maxAddresses)) {
      const answer = await post(url, address, message, options.ca, signal)
      if (answer.error === undefined) return answer
      if (answer.error === 'tls-failed') error = 'tls-failed'
    }
    return { error }
  }
  return {
    allowPrivate,
    send: async (message, signal) => {
      const body = (limited: AbortSignal) => send(message, limited)
      try {
        return await withDeadline(systemClock, timeoutMs, signal, () => late, body)
      } catch (error) {
        signal.throwIfAborted()
        return { error: error === late ? 'timeout' : 'unreachable' }
      }
    },
  }
}

async function lookUpPrivate(host: string): Promise<readonly string[]> {
  const found = await lookup(host, { all: true })
  return found.toSorted((a, b) => a.family - b.family).map(({ address }) => address)
}

async function addressesOf(
  host: string,
  resolve: (host: string) => Promise<readonly string[]>,
): Promise<readonly string[]> {
  if (parseIpAddress(host)) return [host]
  // An unknown name gets the same error as one in a private network, to disclose nothing.
  return resolve(host).catch(() => [])
}

/** Posts to one address: the status of its response, `tls-failed` when it accepts the connection but not as TLS asks, or `unreachable`. */
function post(
  url: URL,
  address: string,
  message: WebhookMessage,
  ca: string | undefined,
  signal: AbortSignal,
): Promise<WebhookAnswer> {
  const isTls = url.protocol === 'https:'
  const host = hostOf(url)
  const { promise, resolve, reject } = Promise.withResolvers<WebhookAnswer>()
  let error: WebhookError = 'unreachable'
  const end = () => (signal.aborted ? reject(signal.reason) : resolve({ error }))
  const request = (isTls ? requestHttps : requestHttp)({
    method: 'POST',
    host: address,
    port: url.port === '' ? (isTls ? 443 : 80) : Number(url.port),
    path: `${url.pathname}${url.search}`,
    headers: headersOf(message, url.host),
    // No agent, so that no earlier connection is reused, whatever address it has.
    agent: false,
    maxHeaderSize: maxHeaderBytes,
    signal,
    ...(isTls && { ...(!parseIpAddress(host) && { servername: host }), ...(ca && { ca }) }),
  })
  request.on('socket', (socket) => {
    socket.once('connect', () => {
      if (isTls) error = 'tls-failed'
    })
    socket.once('secureConnect', () => {
      error = 'unreachable'
    })
  })
  request.on('response', (response) => {
    resolve({ status: response.statusCode ?? 0 })
    // Only the status counts, and a body may have no end.
    response.on('error', () => {})
    request.destroy()
  })
  request.on('error', end)
  request.on('close', end)
  request.end(message.body)
  return promise
}

function headersOf({ id, sentAt, body, secret }: WebhookMessage, host: string) {
  const seconds = toSeconds(sentAt)
  return {
    host,
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    'user-agent': `svc-icl/${version}`,
    'webhook-id': id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': new Webhook(secret, { format: 'raw' }).sign(
      id,
      new Date(seconds * 1000),
      body,
    ),
  }
}
