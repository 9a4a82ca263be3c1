import { GoesOnError, UncollectedError } from '../../lib/client/inference.ts'
import { invocationOf } from '../../lib/host/invocation.ts'
import { ProblemError } from '../../lib/problem.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { codeOf, OpenAiError, type OpenAiErrorType } from './openai-error.ts'

type Meaning = readonly [
  status: number,
  type: OpenAiErrorType,
  details?: { readonly code?: string; readonly param?: string; readonly retry?: boolean },
]

const tooLong: Meaning = [
  400,
  'invalid_request_error',
  { code: 'context_length_exceeded', param: 'messages' },
]
const away: Meaning = [503, 'service_unavailable_error', { code: 'server_is_overloaded' }]

/** What failures mean in OpenAI's terms. Few are retryable, since a person has to decide whether to pay for another job. */
const meanings: Readonly<Record<string, Meaning>> = {
  'model-unknown': [404, 'invalid_request_error', { code: 'model_not_found', param: 'model' }],
  'provider-model-unknown': [
    404,
    'invalid_request_error',
    { code: 'model_not_found', param: 'model' },
  ],
  'prompt-empty': [400, 'invalid_request_error', { param: 'messages' }],
  'prompt-not-supported': [400, 'invalid_request_error', { code: 'unsupported_value' }],
  'prompt-too-long': tooLong,
  'provider-prompt-too-long': tooLong,
  'provider-refused': [
    400,
    'invalid_request_error',
    { code: 'content_policy_violation', param: 'messages' },
  ],
  'client-not-allowed': [403, 'permission_error'],
  'rate-limited': [429, 'rate_limit_error', { code: 'rate_limit_exceeded', retry: true }],
  'too-many-jobs': [429, 'rate_limit_error', { retry: true }],
  'quota-exceeded': [429, 'insufficient_quota', { code: 'insufficient_quota' }],
  'provider-quota-used-up': [429, 'insufficient_quota', { code: 'insufficient_quota' }],
  'provider-rate-limited': [429, 'rate_limit_error', { code: 'rate_limit_exceeded' }],
  // The operator's fault: a 401 would send the caller to look for a mistake in its own key.
  'provider-key-missing': [503, 'server_error'],
  'provider-key-refused': [503, 'server_error'],
  'provider-unavailable': away,
  'provider-silent': away,
  'provider-unreachable': away,
  // The official clients wait at most a minute, and each repeat may pay for a key.
  'model-limited': [429, 'rate_limit_error', { code: 'rate_limit_exceeded' }],
  'model-withdrawn': [503, 'server_error'],
  'not-enough-nodes': [503, 'server_error'],
  'not-enough-serving': [503, 'server_error'],
  'chain-unavailable': [503, 'server_error'],
  unavailable: [503, 'server_error'],
  'icl-unreachable': [503, 'server_error'],
  'job-expired': [504, 'server_error'],
  'job-disputed': [502, 'server_error'],
  'job-cancelled': [502, 'server_error'],
  'timed-out': [504, 'server_error'],
}

/** Explains a failure to a caller at this path, in OpenAI's terms. Shows nothing of unknown errors. */
export function explainFailure(error: unknown, path: string): OpenAiError {
  if (error instanceof OpenAiError) return error
  if (!(error instanceof SvcError)) {
    return new OpenAiError(500, 'server_error', 'The gateway failed. Its log says why', {
      code: 'internal_error',
    })
  }
  // All other causes are behind the gateway: a failed check, the chain, the coprocessor.
  const usual: Meaning = [error.retryable ? 503 : 502, 'server_error']
  const [status, type, { code, param, retry } = {}] = meanings[error.code] ?? usual
  const isResponse = path === '/v1/responses'
  // LiteLLM knows it by these words alone, which OpenAI writes.
  const words =
    code === 'context_length_exceeded' ? "This model's maximum context length is exceeded. " : ''
  return new OpenAiError(status, type, `${words}${error.message}. ${hintOf(error)}`, {
    code:
      isResponse && code === 'content_policy_violation'
        ? 'invalid_prompt'
        : (code ?? codeOf(error)),
    param: param === 'messages' && isResponse ? 'input' : param,
    retryable: retry ?? false,
    retryAfterSeconds: retryAfterOf(error),
  })
}

// A caller of the gateway has no client to call.
function hintOf(error: SvcError): string {
  if (!(error instanceof UncollectedError || error instanceof GoesOnError)) return error.hint
  const why = error.cause instanceof SvcError ? `${error.cause.hint} ` : ''
  const what = error instanceof GoesOnError ? 'An accepted answer' : 'The answer'
  return `${why}${what} is paid for: \`${invocationOf('infer')} --open ${error.jobId}\` fetches it, with the gateway's wallet. Another request pays again.`
}

const retryAfterOf = ({ retryAfterSeconds, cause }: SvcError): number | undefined =>
  retryAfterSeconds ?? (cause instanceof ProblemError ? cause.retryAfterSeconds : undefined)
