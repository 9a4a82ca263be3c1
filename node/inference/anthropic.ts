import Anthropic from '@anthropic-ai/sdk'
import { z } from 'zod'
import { Usage } from '../../lib/schemas/answer.ts'
import { anthropicPrompt } from './anthropic-prompt.ts'
import { createAsking, type OwnParameters } from './own-parameters.ts'
import type { Completion, InferenceProvider } from './provider.ts'
import { callProvider, type ProviderOptions, type Reached } from './provider-call.ts'
import { notOfProtocol } from './provider-fetch.ts'
import { keyHeader, sdkOptions } from './sdk.ts'
import { completedBy, refusedAnswer } from './sealed-text.ts'

// Only the fields in use. Other kinds of blocks have no text.
const Answer = z.object({
  content: z.array(
    z.object({
      type: z.string(),
      text: z.string().optional(),
      name: z.string().optional(),
      input: z.unknown().optional(),
    }),
  ),
  stop_reason: z.string().nullish(),
  usage: Usage.optional().catch(undefined),
})

/** The answer reached the limit that was asked for, or the longest context of the model. */
const cutReasons = ['max_tokens', 'model_context_window_exceeded']

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
  const asking = createAsking({ limitName: 'max_tokens', mostTokens: Number.POSITIVE_INFINITY }, [
    'max_completion_tokens',
  ])
  const askOnce = async (
    { model, prompt, maxOutputTokens, onUsage }: Completion,
    { mostTokens }: OwnParameters,
    signal: AbortSignal,
  ) => {
    const max_tokens = Math.min(maxOutputTokens, mostTokens)
    const request = { model, max_tokens, ...anthropicPrompt(prompt) }
    const answer = await client.messages.create(request, { signal })
    const parsed = Answer.safeParse(answer)
    if (!parsed.success) throw notOfProtocol(answer)
    const { content, stop_reason: reason, usage } = parsed.data
    if (usage) onUsage?.(usage)
    if (reason === 'refusal') throw refusedAnswer()
    const said = {
      content: content.map(({ type, text }) => (type === 'text' ? text : '')).join(''),
      toolCalls: content
        .filter(({ type }) => type === 'tool_use')
        .map(({ name = '', input = {} }) => ({ name, arguments: JSON.stringify(input) })),
      isCut: cutReasons.includes(reason ?? ''),
    }
    return completedBy(prompt, said, usage)
  }
  return {
    complete: (completion) =>
      callProvider(options, completion, (signal) =>
        asking(completion, (own) => askOnce(completion, own, signal)),
      ),
  }
}
