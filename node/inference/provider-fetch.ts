import { maxBlobBytes } from '../../lib/endpoints.ts'
import { AnswerRefused, type Fetch, openAnswer, readAnswer } from '../../lib/outgoing.ts'
import { parseJson } from '../../lib/parse-json.ts'
import { ProxyFailed } from '../../lib/proxy.ts'
import { systemFetch } from '../../lib/system-fetch.ts'
import { ProviderFault } from './provider-fault.ts'
import { ProviderReport, throwReported } from './provider-report.ts'

/** The most that is kept of an answer. */
export const maxAnswerBytes = 16 * maxBlobBytes

/** The largest response body that is read: each event of a stream has one token among other fields, or the whole text so far. */
export const maxBodyBytes = 16 * maxAnswerBytes

const longestMs = 600_000

const ownHeaders =
  /^(accept|authorization|content-type|user-agent|anthropic-version|x-stainless-.*)$/

/** The headers that an SDK chose for this server. Those of `..._CUSTOM_HEADERS` in the environment may be secrets of another one. */
export function headersToSend(url: string | URL, headers: RequestInit['headers']): Headers {
  const isOpenAi = new URL(url).hostname === 'api.openai.com'
  const isOwn = (name: string) =>
    ownHeaders.test(name) || (isOpenAi && /^openai-(organization|project)$/.test(name))
  return new Headers([...new Headers(headers)].filter(([name]) => isOwn(name)))
}

/**
 * A fetch for a provider's SDK, which would read any body whole, and knows fewer forms of errors. Returns an open answer. Throws
 * ProviderReport for an error that the provider reports by its status, and ProviderFault when the server does not have the provider's API.
 */
export const providerFetch =
  (own: Fetch = systemFetch) =>
  async (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const url = input instanceof Request ? input.url : input
    // The SDKs give each request a signal.
    const signal = init.signal ?? AbortSignal.timeout(longestMs)
    try {
      const response = await openAnswer(own, url, {
        ...init,
        ...{ signal, headers: headersToSend(url, init.headers) },
      })
      if (!response.ok) await throwFailure(response)
      return response
    } catch (error) {
      if (error instanceof ProxyFailed) {
        throw new ProviderFault('provider-unreachable', error.message)
      }
      throw error instanceof AnswerRefused ? faultOf(error) : error
    }
  }

async function throwFailure(response: Response): Promise<never> {
  const bytes = await readAnswer(response, maxAnswerBytes)
  const body = parseJson(bytes)
  throwReported(body, response)
  // A provider that does not know the model says so in an error of the protocol. Any other 404 means that the path is wrong.
  if (response.status === 404 && !isMessage(body))
    throw foreign('knows no such address (status 404)')
  throw new ProviderReport(body ?? new TextDecoder().decode(bytes), response)
}

const isMessage = (body: unknown): boolean =>
  typeof body === 'object' && body !== null && 'message' in body

/** The fault when the JSON does not follow the provider's protocol. A text in the place of an answer is one, and paid for. */
export const notOfProtocol = (reply: unknown) =>
  foreign('sent JSON of another form', { isPaid: isAnswer(reply) })

const isAnswer = (reply: unknown): boolean =>
  typeof reply === 'object' && reply !== null && ('choices' in reply || 'content' in reply)

/** The fault when something else than the provider's API answers. */
export const foreign = (said: string, paid?: { readonly isPaid: boolean }) =>
  new ProviderFault('provider-protocol-wrong', said, paid)

const faultOf = ({ kind, message }: AnswerRefused) =>
  kind === 'too-large' ? new ProviderFault('provider-answer-too-large', message) : foreign(message)
