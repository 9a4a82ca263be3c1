import Anthropic from '@anthropic-ai/sdk'
import type { InferenceProvider } from './provider.ts'
import {
  callProvider,
  networkCodeOf,
  type ProviderFailure,
  type ProviderOptions,
  retryAfterMsOf,
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
  })
  return {
    complete: ({ model, prompt, maxOutputTokens, signal }) =>
      callProvider('anthropic', options, signal, failureOf, async (ended) => {
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

function failureOf(error: unknown): ProviderFailure {
  const words = error instanceof Error ? error.message : String(error)
  if (!(error instanceof Anthropic.APIError)) return { words }
  return {
    words,
    status: error.status,
    code: error.type ?? networkCodeOf(error),
    retryAfterMs: retryAfterMsOf(error.headers),
  }
}
