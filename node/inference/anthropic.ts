import Anthropic from '@anthropic-ai/sdk'
import type { Clock } from '../../lib/clock.ts'
import type { InferenceProvider } from './provider.ts'
import {
  askedWaitMsOf,
  callProvider,
  networkCodeOf,
  type ProviderFailure,
  type ProviderOptions,
  sdkFetch,
} from './provider-call.ts'

const officialBaseUrl = 'https://api.anthropic.com'

/** Anthropic's messages; the API takes neither a temperature nor a seed, so answers differ from call to call. */
export function createAnthropic(options: ProviderOptions): InferenceProvider {
  const client = new Anthropic({
    apiKey: options.apiKey,
    authToken: null,
    // The SDK appends /v1 itself.
    baseURL: options.baseUrl?.replace(/\/v1$/, '') ?? officialBaseUrl,
    maxRetries: 0,
    timeout: options.attemptMs ?? 100_000,
    // The SDK would print requests with prompts in them.
    logLevel: 'off',
    ...(options.fetch && { fetch: sdkFetch(options.fetch) }),
  })
  return {
    complete: ({ model, prompt, maxOutputTokens, ...limits }) =>
      callProvider('anthropic', options, limits, failureOf, async (ended) => {
        const answer = await client.messages.create(
          {
            model,
            max_tokens: maxOutputTokens,
            messages: [{ role: 'user', content: prompt }],
          },
          { signal: ended },
        )
        return answer.content?.map((block) => (block.type === 'text' ? block.text : '')).join('')
      }),
  }
}

function failureOf(error: unknown, clock: Clock): ProviderFailure {
  const words = error instanceof Error ? error.message : String(error)
  if (!(error instanceof Anthropic.APIError)) return { words }
  return {
    words,
    status: error.status,
    code: error.type ?? networkCodeOf(error),
    retryAfterMs: askedWaitMsOf(error.headers, clock),
  }
}
