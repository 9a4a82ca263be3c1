import Anthropic from '@anthropic-ai/sdk'
import { z } from 'zod'
import type { Clock } from '../../lib/clock.ts'
import { errorMessage } from '../../lib/error-message.ts'
import { anthropicPrompt } from './anthropic-prompt.ts'
import type { InferenceProvider } from './provider.ts'
import {
  askedWaitMsOf,
  callProvider,
  networkCodeOf,
  type ProviderFailure,
  type ProviderOptions,
  wholeText,
} from './provider-call.ts'
import { notOfProtocol, providerFetch } from './provider-fetch.ts'
import { sealedText } from './sealed-text.ts'

const Count = z.int().min(0).max(1e9)

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
  usage: z.object({ input_tokens: Count, output_tokens: Count }).optional().catch(undefined),
})

/** The adapter for Anthropic's messages. The API takes neither a temperature nor a seed, so answers differ from call to call. */
export function createAnthropic(options: ProviderOptions): InferenceProvider {
  const client = new Anthropic({
    apiKey: options.apiKey ?? null,
    authToken: null,
    // The SDK appends /v1 itself.
    baseURL: options.baseUrl.replace(/\/v1$/, ''),
    maxRetries: 0,
    // callProvider ends a try. The SDK's own timer must not fire first.
    timeout: 2 * (options.attemptMs ?? 100_000),
    // Otherwise the SDK would log requests with prompts in them.
    logLevel: 'off',
    fetch: providerFetch(options.fetch),
  })
  return {
    complete: ({ model, prompt, maxOutputTokens, onUsage, ...limits }) =>
      callProvider(options, { model, ...limits }, failureOf, async (ended) => {
        const answer = await client.messages.create(
          {
            model,
            max_tokens: maxOutputTokens,
            ...anthropicPrompt(prompt),
          },
          { signal: ended },
        )
        const parsed = Answer.safeParse(answer)
        if (!parsed.success) throw notOfProtocol()
        const { content, stop_reason: reason, usage } = parsed.data
        if (usage) onUsage?.(usage)
        const text = sealedText(prompt, {
          content: content.map(({ type, text }) => (type === 'text' ? text : '')).join(''),
          toolCalls: content
            .filter(({ type }) => type === 'tool_use')
            .map(({ name = '', input = {} }) => ({ name, arguments: JSON.stringify(input) })),
          isCut: reason === 'max_tokens',
        })
        return wholeText(text)
      }),
  }
}

function failureOf(error: unknown, clock: Clock): ProviderFailure {
  const words = errorMessage(error)
  if (!(error instanceof Anthropic.APIError)) return { words }
  return {
    words,
    status: error.status,
    code: error.type ?? networkCodeOf(error),
    retryAfterMs: askedWaitMsOf(error.headers, clock),
  }
}
