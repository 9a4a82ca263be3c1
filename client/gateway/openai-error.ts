/** OpenAI's types of errors. */
export type OpenAiErrorType =
  | 'invalid_request_error'
  | 'authentication_error'
  | 'permission_error'
  | 'rate_limit_error'
  | 'insufficient_quota'
  | 'server_error'
  | 'service_unavailable_error'

type Details = {
  readonly code: string
  readonly param?: string | undefined
  /** Whether the same request may succeed later. Clients that retry by themselves read it. */
  readonly retryable?: boolean
  readonly retryAfterSeconds?: number | undefined
}

/** A refusal in OpenAI's form, with its HTTP status. */
export class OpenAiError extends Error {
  override readonly name = 'OpenAiError'
  readonly status: number
  readonly type: OpenAiErrorType
  readonly code: string
  readonly param: string | null
  readonly retryable: boolean
  readonly retryAfterSeconds: number | undefined

  constructor(status: number, type: OpenAiErrorType, message: string, details: Details) {
    super(message)
    this.status = status
    this.type = type
    this.code = details.code
    this.param = details.param ?? null
    this.retryable = details.retryable ?? false
    this.retryAfterSeconds = details.retryAfterSeconds
  }
}

/** A mistake of the request: status 400 with the parameter. */
export const badRequest = (message: string, param: string | undefined, code: string): OpenAiError =>
  new OpenAiError(400, 'invalid_request_error', message, { code, param })

/** A code as OpenAI writes them: `commit_missing`. */
export const codeOf = ({ code }: { readonly code: string }): string => code.replaceAll('-', '_')

/** The body of an error as OpenAI writes it. */
const errorBody = ({ message, type, param, code }: OpenAiError) => ({
  error: { message, type, param, code },
})

/**
 * The error of a stream that has begun, whose HTTP status is sent. The status is in the text too: clients in Python throw the text alone,
 * and LiteLLM finds in it whether to pay again.
 */
export const streamedError = (error: OpenAiError) => {
  const { status, type, code, message } = error
  const text = `${message} (${status} ${type} ${code})`
  return { ...errorBody(error).error, message: text, status }
}

/** Makes the response of an error, in OpenAI's form when no other is given. Without `x-should-retry` the official clients would repeat jobs that were refused for good. */
export function errorResponse(
  error: OpenAiError,
  { status, body } = { status: error.status, body: errorBody(error) as object },
): Response {
  const { retryable, retryAfterSeconds } = error
  return Response.json(body, {
    status,
    headers: {
      'x-should-retry': String(retryable),
      ...(retryAfterSeconds !== undefined && { 'retry-after': String(retryAfterSeconds) }),
      ...(status === 401 && { 'www-authenticate': 'Bearer' }),
    },
  })
}
