import type { HonoRequest } from 'hono'
import { badRequest, type OpenAiError, streamedError } from './openai-error.ts'

/*
 * The gateway speaks of failures in OpenAI's terms. A caller of Anthropic's interface gets the same failure under Anthropic's type and
 * status, with the code of the gateway as `details.error_code`.
 */

// The later one only refuses more: temperature, documents of the assistant, citations of the user.
const versions = ['2023-06-01', '2026-10-21']
const versionHeader = 'anthropic-version'

/** True for a request of Anthropic's interface: by its header or by its path. Its URL may be the path alone, if its host is none. */
export const speaksAnthropic = ({ raw, path }: Pick<HonoRequest, 'raw' | 'path'>): boolean =>
  raw.headers.has(versionHeader) || /^\/v1\/messages(\/|$)/.test(path)

/** Throws OpenAiError 400 for another version of Anthropic's interface. */
export function checkVersion(request: Request): void {
  const given = request.headers.get(versionHeader)
  if (given === null || versions.includes(given)) return
  const message = `${versionHeader}: the gateway has ${versions.join(' and ')}. Send one of them, or leave the header out`
  throw badRequest(message, versionHeader, 'unsupported_value')
}

const types: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'billing_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  504: 'timeout_error',
  529: 'overloaded_error',
}

/** Codes of a lack that may pass: of nodes, or of a provider. */
const overloaded: readonly string[] = [
  'server_is_overloaded',
  'not_enough_nodes',
  'not_enough_serving',
  'model_withdrawn',
]

const statusOf = ({ status, type, code }: OpenAiError): number => {
  if (type === 'insufficient_quota') return 402
  return overloaded.includes(code) ? 529 : status
}

const bodyOf = (error: OpenAiError, message: string) => ({
  type: 'error',
  error: {
    type: types[statusOf(error)] ?? 'api_error',
    // Agents shorten a conversation at these words of Anthropic's.
    message: error.code === 'context_length_exceeded' ? `prompt is too long: ${message}` : message,
    details: { error_code: error.code },
  },
})

/** The status and the body of an error, as Anthropic writes it. */
export const anthropicError = (error: OpenAiError) => ({
  status: statusOf(error),
  body: bodyOf(error, error.message),
})

/** The error of a stream that has begun: its text has the status, too. */
export const anthropicStreamedError = (error: OpenAiError) =>
  bodyOf(error, streamedError(error).message)
