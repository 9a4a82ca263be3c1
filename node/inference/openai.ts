import OpenAI from 'openai'
import { z } from 'zod'
import type { Clock } from '../../lib/clock.ts'
import { errorMessage } from '../../lib/error-message.ts'
import type { Completion, InferenceProvider } from './provider.ts'
import {
  askedWaitMsOf,
  callProvider,
  networkCodeOf,
  officialBaseUrls,
  type ProviderFailure,
  type ProviderOptions,
  withDefaultPath,
} from './provider-call.ts'
import { notOfProtocol, providerFetch } from './provider-fetch.ts'

// Only what is used; a content in parts belongs to another protocol.
const Answer = z.object({
  choices: z.array(z.object({ message: z.object({ content: z.string().nullish() }) })).min(1),
})

/** OpenAI's chat completions, or any server that speaks them; temperature 0 and a fixed seed where the model takes them. */
export function createOpenAi(options: ProviderOptions): InferenceProvider {
  const baseUrl = options.baseUrl && withDefaultPath(options.baseUrl, '/v1')
  const client = new OpenAI({
    apiKey: options.apiKey,
    baseURL: baseUrl ?? officialBaseUrls.openai,
    maxRetries: 0,
    // callProvider ends a try; the SDK's own timer must not come before it.
    timeout: 2 * (options.attemptMs ?? 100_000),
    // The SDK would print requests with prompts in them.
    logLevel: 'off',
    fetch: providerFetch(options.fetch),
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
    const parsed = Answer.safeParse(answer)
    if (!parsed.success) throw notOfProtocol()
    return parsed.data.choices[0]?.message.content
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
  const words = errorMessage(error)
  if (!(error instanceof OpenAI.APIError)) return { words }
  return {
    words,
    status: error.status,
    code: error.code ?? error.type ?? networkCodeOf(error),
    retryAfterMs: askedWaitMsOf(error.headers, clock),
    isQuota: error.code === 'insufficient_quota',
  }
}
