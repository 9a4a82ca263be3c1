import { maxBlobBytes } from '../../lib/endpoints.ts'
import { AnswerRefused, ask, type Fetch } from '../../lib/outgoing.ts'
import { parseJson } from '../../lib/parse-json.ts'
import { ProxyFailed } from '../../lib/proxy.ts'
import { systemFetch } from '../../lib/system-fetch.ts'
import { ProviderFault } from './provider-fault.ts'
import { ProviderReport, throwReported } from './provider-report.ts'

/** The largest response body that is read: several times the largest output, because JSON escapes characters and has more fields. */
export const maxAnswerBytes = 4 * maxBlobBytes

const longestMs = 600_000

/**
 * A fetch for a provider's SDK. The SDK itself would read any body whole, and knows fewer forms of errors. Throws ProviderReport for an
 * error that the provider reports, and ProviderFault when the body has more than `maxAnswerBytes`, when a successful response is not JSON,
 * and when the server does not have the provider's API.
 */
export const providerFetch =
  (own: Fetch = systemFetch) =>
  async (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const url = input instanceof Request ? input.url : input
    // The SDKs give each request a signal.
    const signal = init.signal ?? AbortSignal.timeout(longestMs)
    const asked = { ...init, signal, maxBytes: maxAnswerBytes }
    const { status, ok, headers, bytes } = await ask(own, url, asked).catch((error: unknown) => {
      if (error instanceof ProxyFailed)
        throw new ProviderFault('provider-unreachable', error.message)
      throw error instanceof AnswerRefused ? faultOf(error) : error
    })
    const body = parseJson(bytes)
    if (ok) checkAnswer(bytes, body, headers.get('content-type'))
    throwReported(body, { status, headers })
    // The SDKs read a body by its content type, and ignore JSON under another one.
    if (ok) return new Response(bytes, { headers: { 'content-type': 'application/json' } })
    // A provider that does not know the model says so in an error of the protocol. Any other 404 means that the path is wrong.
    if (status === 404 && !isMessage(body)) throw foreign('knows no such address (status 404)')
    throw new ProviderReport(body ?? new TextDecoder().decode(bytes), { status, headers })
  }

const isMessage = (body: unknown): boolean =>
  typeof body === 'object' && body !== null && 'message' in body

/** The fault when the JSON does not follow the provider's protocol. A text in the place of an answer is one, and paid for. */
export const notOfProtocol = (reply: unknown) =>
  foreign('sent JSON of another form', { isPaid: isAnswer(reply) })

const isAnswer = (reply: unknown): boolean =>
  typeof reply === 'object' && reply !== null && ('choices' in reply || 'content' in reply)

const foreign = (said: string, paid?: { readonly isPaid: boolean }) =>
  new ProviderFault('provider-protocol-wrong', said, paid)

const openingBrace = 0x7b
const brokeOff = 'broke off in the middle of its answer'

const faultOf = ({ kind, message }: AnswerRefused) =>
  kind === 'too-large' ? new ProviderFault('provider-answer-too-large', message) : foreign(message)

function checkAnswer(bytes: Uint8Array, body: unknown, contentType: string | null): void {
  const type = contentType?.split(';')[0]?.trim().toLowerCase() ?? ''
  if (bytes.length === 0) throw foreign('sent an empty body')
  if (body !== undefined) return
  if (!/^application\/([\w.-]+\+)?json$/.test(type)) {
    const named = /^[\w.+-]{1,40}\/[\w.+-]{1,40}$/.test(type) ? type : 'a body of no content type'
    throw foreign(`sent ${named} in place of JSON`)
  }
  // When a connection breaks, Bun's fetch returns the part of the body that has arrived.
  if (bytes[0] === openingBrace) throw new ProviderFault('provider-unreachable', brokeOff)
  throw foreign('sent JSON that cannot be read')
}
