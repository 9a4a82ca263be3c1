import { afterEach, describe, expect, it } from 'vitest'
import { promptOfText } from '../../../lib/prompt.ts'
import { systemClock } from '../../../lib/system.ts'
import { askedWaitMsOf } from '../../../node/inference/asked-wait.ts'
import { createOpenAi } from '../../../node/inference/openai.ts'
import { errorIn, ProviderReport } from '../../../node/inference/provider-report.ts'
import { answerJson, type LocalServer, startServer } from '../../local-server.ts'
import { recordingLog } from '../fakes.ts'

const reportOf = (status: number, body: unknown, headers: Record<string, string> = {}) =>
  new ProviderReport(errorIn(body) ?? body, { status, headers: new Headers(headers) })
const causeOf = (status: number, body: unknown) => reportOf(status, body).code

const openAi =
  "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens."
const tooLong: readonly (readonly [string, number, unknown])[] = [
  ['OpenAI', 400, { error: { message: openAi, code: 'context_length_exceeded' } }],
  [
    'llama.cpp',
    400,
    {
      error: {
        ...{ code: 400, type: 'exceed_context_size_error' },
        message: 'request (9000 tokens) exceeds the available context size (8192 tokens)',
      },
    },
  ],
  ['vLLM', 400, { object: 'error', message: openAi, type: 'BadRequestError', code: 400 }],
  [
    'vLLM for the answer',
    400,
    {
      error: {
        message: `'max_tokens' or 'max_completion_tokens' is too large: 1000. ${openAi}`,
        param: 'max_tokens',
      },
    },
  ],
  [
    'vLLM with no room for an answer',
    400,
    { error: { message: 'max_tokens must be at least 1, got -308.', param: 'max_tokens' } },
  ],
  [
    'Anthropic',
    400,
    {
      type: 'error',
      error: {
        type: 'invalid_request_error',
        message: 'prompt is too long: 210000 tokens > 200000 maximum',
      },
    },
  ],
  [
    'Anthropic for the answer',
    400,
    {
      error: {
        message: 'input length and `max_tokens` exceed context limit: 199210 + 20000 > 200000',
      },
    },
  ],
  [
    'Google',
    400,
    [
      {
        error: {
          ...{ code: 400, status: 'INVALID_ARGUMENT' },
          message:
            'The input token count (1048577) exceeds the maximum number of tokens allowed (1048576).',
        },
      },
    ],
  ],
  [
    'Mistral',
    400,
    {
      object: 'error',
      message:
        'Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length',
    },
  ],
  ['Ollama', 500, { error: 'the input length exceeds the context length' }],
  ['Bedrock', 400, { message: 'Input is too long for requested model.' }],
  ['any server', 413, '<html>413 Request Entity Too Large</html>'],
]

describe('an error that a provider reports', () => {
  it.each(tooLong)('of %s is a full context', (_, status, body) => {
    expect(causeOf(status, body)).toBe('provider-prompt-too-long')
  })

  it.each<readonly [string, number, unknown, string]>([
    ['a number', 200, { error: { message: 'x', code: 429 } }, 'provider-rate-limited'],
    ['a number as text', 200, { error: { message: 'x', code: '402' } }, 'provider-quota-used-up'],
    ['a key', 200, { error: { message: 'x', code: 401 } }, 'provider-key-refused'],
    ['a model', 200, { error: { message: 'x', code: 404 } }, 'provider-model-unknown'],
    ['overload', 200, { error: { message: 'x', code: 529 } }, 'provider-unavailable'],
    ['a type', 200, { error: { type: 'overloaded_error' } }, 'provider-unavailable'],
    ['a text', 200, { error: 'Rate limit exceeded, slow down' }, 'provider-rate-limited'],
    ['a text and a code', 200, { error: 'busy', code: 429 }, 'provider-rate-limited'],
    ['a list', 200, { error: [{ message: 'x', code: 402 }] }, 'provider-quota-used-up'],
    ['a list of errors', 429, [{ error: { code: 429 } }], 'provider-rate-limited'],
    ['an invalid request', 200, { error: { type: 'invalid_request_error' } }, 'provider-refused'],
    ['a rate under 400', 400, { error: { code: 'rate_limit_exceeded' } }, 'provider-rate-limited'],
    ['a number under 400', 400, { error: { code: 429 } }, 'provider-rate-limited'],
    ['credit under 400', 400, { error: { code: 402 } }, 'provider-quota-used-up'],
    [
      'credit in words',
      403,
      { error: { message: 'Insufficient balance' } },
      'provider-quota-used-up',
    ],
    [
      'a key under 400',
      400,
      [{ error: { code: 400, details: [{ reason: 'API_KEY_INVALID' }] } }],
      'provider-key-refused',
    ],
    ['a model under 403', 403, { error: { code: 'model_not_found' } }, 'provider-model-unknown'],
    [
      "Azure's filter",
      400,
      { error: { code: 'content_filter', status: 400, innererror: {} } },
      'provider-refused',
    ],
    [
      "OpenRouter's filter",
      403,
      { error: { code: 403, metadata: { reasons: ['x'], flagged_input: 'x' } } },
      'provider-refused',
    ],
    [
      'an error within an error',
      400,
      {
        error: { code: 400, message: 'Provider returned error', metadata: { raw: openAi } },
      },
      'provider-prompt-too-long',
    ],
    ['a quoted credit', 400, { error: { message: 'No: "rate limit"' } }, 'provider-refused'],
    [
      "Groq's limit of tokens a minute",
      413,
      { error: { type: 'tokens', code: 'rate_limit_exceeded' } },
      'provider-rate-limited',
    ],
    ...[
      { message: 'You have reached your specified API usage limits. You will regain access on x.' },
      { type: 'budget_exceeded', code: '400' },
      { code: 'Arrearage' },
    ].map((error) => ["the account's limit", 400, { error }, 'provider-quota-used-up'] as const),
    ...[
      { code: 'model_decommissioned', type: 'invalid_request_error' },
      { code: 'model_terms_required' },
      { type: 'invalid_model', code: '1500' },
      { message: 'Model Not Exist', code: 'invalid_request_error' },
      { message: 'foo/bar is not a valid model ID', code: 400 },
    ].map((error) => ['a model under 400', 400, { error }, 'provider-model-unknown'] as const),
    [
      'a forbidden country',
      400,
      {
        error: { status: 'FAILED_PRECONDITION', message: 'User location is not supported for x.' },
      },
      'provider-key-refused',
    ],
    [
      'a part that no endpoint takes',
      404,
      { error: { message: 'No endpoints found that support tool use.', code: 404 } },
      'prompt-not-supported',
    ],
    ["a firewall's page", 403, '<html>blocked</html>', 'provider-unavailable'],
    ['a page', 502, '<html>429</html>', 'provider-unavailable'],
  ])('as %s is read by what it says', (_, status, body, code) => {
    expect(causeOf(status, body)).toBe(code)
  })

  it('is in nothing else', () => {
    for (const body of [null, 'x', {}, { error: null }, { choices: [], error: '' }, []]) {
      expect(errorIn(body)).toBeUndefined()
    }
  })

  const now = 1_700_000_000_000
  const error = { error: { message: 'Rate limit' } }
  const retryInfo = { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '34s' }
  it.each([
    [{ 'retry-after': '2' }, error, 2_000],
    [{ 'retry-after': '1.5' }, error, 1_500],
    [{ 'retry-after': new Date(now + 3_000).toUTCString() }, error, 3_000],
    [{ 'retry-after-ms': '1200', 'retry-after': '2' }, error, 1_200],
    [{ 'x-ratelimit-reset-requests': '6m0s' }, error, 360_000],
    [{ 'x-ratelimit-reset-requests': '1s', 'x-ratelimit-reset-tokens': '250ms' }, error, 250],
    [
      {
        'x-ratelimit-reset-requests': '2m59.5s',
        'x-ratelimit-remaining-requests': '0',
        'x-ratelimit-reset-tokens': '1s',
        'x-ratelimit-remaining-tokens': '9',
      },
      error,
      179_500,
    ],
    [{ 'x-ratelimit-reset': String(now + 5_000) }, error, 5_000],
    [{ 'x-ratelimit-reset': String(now / 1000 + 7) }, error, 7_000],
    [{}, [{ error: { code: 429, details: [retryInfo] } }], 34_000],
    [{}, { error: { message: 'Limit reached. Please try again in 6m0s.' } }, 360_000],
    [{}, { error: { message: 'Limit reached. Please try again in 1.5s. Visit x.' } }, 1_500],
    [
      { 'x-ratelimit-reset-requests': 'soon' },
      { error: { message: 'try again in a while' } },
      undefined,
    ],
  ])('asks by %j and %j to wait', (headers, body, ms) => {
    expect(askedWaitMsOf(reportOf(429, body, headers as Record<string, string>), now)).toBe(ms)
  })

  it('asks for no wait by the reset of a limit that is not used up', () => {
    const headers = { 'x-ratelimit-reset-requests': '6m0s' }
    expect(askedWaitMsOf(reportOf(500, error, headers), now)).toBeUndefined()
  })
})

describe('the adapter for OpenAI', () => {
  let server: LocalServer | undefined
  afterEach(async () => {
    await server?.close()
  })

  it.each([
    ['under 200', { error: { message: 'Try again in 7s', code: 429 } }],
    [
      'beside half of an answer',
      {
        choices: [
          {
            finish_reason: null,
            message: { content: 'half an ans' },
            error: { code: 429, message: 'Try again in 7s' },
          },
        ],
      },
    ],
  ])('reads an error %s', async (_, body) => {
    server = await startServer((response) => answerJson(response, 200, body))
    const provider = createOpenAi({
      ...{ name: 'x', baseUrl: `${server.url}/v1`, apiKey: undefined, keyVariable: 'X_API_KEY' },
      ...{ clock: systemClock, log: recordingLog(), firstBackoffMs: 1 },
    })
    const asked = { model: 'm', prompt: promptOfText('Two?'), maxOutputTokens: 9 }
    await expect(provider.complete({ ...asked, leftMs: () => 4_000 })).rejects.toMatchObject({
      code: 'provider-rate-limited',
      message: expect.stringMatching(/failed: status 200 \(429\), asks to wait 7 s$/),
      askedWaitMs: 7_000,
    })
  })
})
