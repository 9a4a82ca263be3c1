import Anthropic from '@anthropic-ai/sdk'
import { gatherAnthropic } from './anthropic-answer.ts'
import { anthropicPrompt } from './anthropic-prompt.ts'
import { createAsking, type OwnParameters } from './own-parameters.ts'
import type { Completion, InferenceProvider } from './provider.ts'
import { callProvider, type ProviderOptions, type Reached } from './provider-call.ts'
import { type Reading, readCompletion } from './read-answer.ts'
import { keyHeader, sdkOptions } from './sdk.ts'

/** The SDK's client. All requests have its addresses, its form of the key and its API version, those of the probe included. */
export const anthropicClient = ({ apiKey, baseUrl, ...options }: Reached) =>
  new Anthropic({
    apiKey: apiKey ?? null,
    authToken: null,
    defaultHeaders: keyHeader(apiKey),
    // The SDK appends /v1 itself.
    baseURL: baseUrl.replace(/\/v1$/, ''),
    ...sdkOptions(options),
  })

/** The adapter for Anthropic's messages. The API takes neither a temperature nor a seed, so answers differ from call to call. */
export function createAnthropic(options: ProviderOptions): InferenceProvider {
  const client = anthropicClient(options)
  const asking = createAsking(
    { stream: true, limitName: 'max_tokens', mostTokens: Number.POSITIVE_INFINITY },
    anthropicPrompt,
    ['max_completion_tokens'],
  )
  const askOnce = async (
    completion: Completion,
    { mostTokens, stream }: OwnParameters,
    reading: Reading,
  ) => {
    const { model, prompt, maxOutputTokens } = completion
    const max_tokens = Math.min(maxOutputTokens, mostTokens)
    const request = { model, max_tokens, stream: stream === true, ...anthropicPrompt(prompt) }
    const { signal } = reading
    const response = await client.messages.create(request, { signal }).asResponse()
    return await readCompletion(response, gatherAnthropic(), completion, reading)
  }
  return {
    complete: (completion) =>
      callProvider(options, completion, (reading) =>
        asking(completion, (own) => askOnce(completion, own, reading)),
      ),
  }
}
