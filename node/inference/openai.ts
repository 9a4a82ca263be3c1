import OpenAI from 'openai'
import type { Clock } from '../../lib/clock.ts'
import type { Completion, InferenceProvider } from './provider.ts'
import {
  askedWaitMsOf,
  callProvider,
  networkCodeOf,
  type ProviderFailure,
  type ProviderOptions,
  sdkFetch,
  withDefaultPath,
} from './provider-call.ts'

const officialBaseUrl = 'https://api.openai.com/v1'

/** OpenAI's chat completions, or any server that speaks them; temperature 0 and a fixed seed where the model takes them. */
export function createOpenAi(options: ProviderOptions): InferenceProvider {
  const baseUrl = options.baseUrl && withDefaultPath(options.baseUrl, '/v1')
  const client = new OpenAI({
    apiKey: options.apiKey,
    baseURL: baseUrl ?? officialBaseUrl,
    maxRetries: 0,
    timeout: options.attemptMs ?? 100_000,
    // The SDK would print requests with prompts in them.
    logLevel: 'off',
    ...(options.fetch && { fetch: sdkFetch(options.fetch) }),
  })
  // New models of the one take only the new name, other servers often only the old.
  const limitName = baseUrl === undefined ? 'max_completion_tokens' : 'max_tokens'

  const ask = async (completion: Completion, sampling: object, signal: AbortSignal) => {
    const answer = await client.chat.completions.create(
      {
        model: completion.model,
        messages: [{ role: 'user', content: completion.prompt }],
        [limitName]: completion.maxOutputTokens,
        ...sampling,
      },
      { signal },
    )
    return answer.choices?.[0]?.message?.content
  }

  return {
    complete: (completion) =>
      callProvider('openai', options, completion, failureOf, async (signal) => {
        try {
          return await ask(completion, { temperature: 0, seed: 0 }, signal)
        } catch (error) {
          if (!refusesSampling(error)) throw error
          return await ask(completion, {}, signal)
        }
      }),
  }
}

/** True when a model lets nobody choose how it samples. */
const refusesSampling = (error: unknown): boolean =>
  error instanceof OpenAI.BadRequestError &&
  (error.param === 'temperature' || error.param === 'seed')

function failureOf(error: unknown, clock: Clock): ProviderFailure {
  const words = error instanceof Error ? error.message : String(error)
  if (!(error instanceof OpenAI.APIError)) return { words }
  return {
    words,
    status: error.status,
    code: error.code ?? error.type ?? networkCodeOf(error),
    retryAfterMs: askedWaitMsOf(error.headers, clock),
    isQuota: error.code === 'insufficient_quota',
  }
}
