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
  'prompt-too-long': [
    400,
    'invalid_request_error',
    { code: 'context_length_exceeded', param: 'messages' },
  ],
  'provider-refused': [400, 'invalid_request_error', { param: 'messages' }],
  'client-not-allowed': [403, 'permission_error'],
  'rate-limited': [429, 'rate_limit_error', { retry: true }],
  'too-many-jobs': [429, 'rate_limit_error', { retry: true }],
  'quota-exceeded': [429, 'rate_limit_error', { code: 'insufficient_quota' }],
  'provider-rate-limited': [429, 'rate_limit_error'],
  'not-enough-nodes': [503, 'server_error'],
  'chain-unavailable': [503, 'server_error'],
  unavailable: [503, 'server_error'],
  'icl-unreachable': [503, 'server_error'],
  'job-expired': [504, 'server_error'],
  'job-disputed': [502, 'server_error'],
  'job-cancelled': [502, 'server_error'],
  'timed-out': [504, 'server_error'],
}

/** Explains a failure to a caller of OpenAI's interface at this path. Shows nothing of unknown errors. */
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
  return new OpenAiError(status, type, `${error.message}. ${hintOf(error)}`, {
    code: code ?? codeOf(error),
    param: param === 'messages' && path === '/v1/responses' ? 'input' : param,
    retryable: retry ?? false,
    retryAfterSeconds: retryAfterOf(error.cause),
  })
}

// A caller of the gateway has no client to call.
function hintOf(error: SvcError): string {
  if (!(error instanceof UncollectedError || error instanceof GoesOnError)) return error.hint
  const why = error.cause instanceof SvcError ? `${error.cause.hint} ` : ''
  const what = error instanceof GoesOnError ? 'An accepted answer' : 'The answer'
  return `${why}${what} is paid for: \`${invocationOf('infer')} --open ${error.jobId}\` fetches it, with the gateway's wallet. Another request pays again.`
}

const retryAfterOf = (cause: unknown): number | undefined =>
  cause instanceof ProblemError ? cause.retryAfterSeconds : undefined
