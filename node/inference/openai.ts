import OpenAI from 'openai'
import { z } from 'zod'
import type { TeacherApi } from '../../lib/providers.ts'
import { TokenCount } from '../../lib/schemas/answer.ts'
import { givenTextFields, toldOf } from './given-text.ts'
import { openAiPrompt, promptParts, refusedIn } from './openai-prompt.ts'
import type { Completed, Completion, GivenText, InferenceProvider, Usage } from './provider.ts'
import { callProvider, type ProviderOptions, type Reached } from './provider-call.ts'
import { ProviderFault } from './provider-fault.ts'
import { notOfProtocol } from './provider-fetch.ts'
import { throwReported } from './provider-report.ts'
import { keyHeader, sdkOptions } from './sdk.ts'
import { completedBy, refusedAnswer } from './sealed-text.ts'

const Call = z.object({ function: z.object({ name: z.string(), arguments: z.string() }) })

// Other servers may count differently, or not at all.
const Counted = z.object({
  usage: z
    .object({ prompt_tokens: TokenCount, completion_tokens: TokenCount })
    .optional()
    .catch(undefined),
})

// Only the fields in use. A content in parts belongs to another protocol.
const Answer = Counted.extend({
  choices: z
    .array(
      z.object({
        message: z
          .object({
            content: z.string().nullish(),
            refusal: z.string().nullish().catch(undefined),
            tool_calls: z.array(Call).nullish(),
          })
          .nullish(),
        finish_reason: z.string().nullish(),
        error: z.unknown().optional(),
      }),
    )
    .min(1),
})

/** The answer reached its longest length. Some servers say it as Anthropic does. */
const cutReasons = ['length', 'max_tokens']

/** How OpenRouter and vLLM end an answer that failed halfway. They say it with status 200. */
const brokenOff = ['error', 'abort']

const brokeOff = () => new ProviderFault('provider-unavailable', 'failed halfway in its answer')

const samplingNames = ['seed', 'temperature'] as const

type Sampling = { readonly temperature?: 0 | undefined; readonly seed?: 0 | undefined }

const isOpenAi = (baseUrl: string) => new URL(baseUrl).hostname === 'api.openai.com'

/** The SDK's client. All requests have its addresses and its form of the key, those of the probe included. */
export const openAiClient = ({ apiKey, baseUrl, ...options }: Reached) =>
  new OpenAI({
    // If it were left out, the SDK would take OpenAI's key from the environment.
    apiKey: apiKey ?? 'none',
    defaultHeaders: keyHeader(apiKey),
    // They name an account at OpenAI. No other server may learn it.
    ...(!isOpenAi(baseUrl) && { organization: null, project: null }),
    baseURL: baseUrl,
    ...sdkOptions(options),
  })

/** Adapts OpenAI's chat completions. Temperature 0, and a fixed seed if the prompt has none, if the model takes them. */
export function createOpenAi(options: ProviderOptions): InferenceProvider {
  const client = openAiClient(options)
  // New OpenAI models take only the new name, other servers often only the old one.
  const limitName = isOpenAi(options.baseUrl) ? 'max_completion_tokens' : 'max_tokens'

  const ask = async (
    completion: Completion,
    sampling: Sampling,
    signal: AbortSignal,
  ): Promise<Completed> => {
    try {
      return await askOnce(completion, sampling, signal)
    } catch (error) {
      const refused = refusedIn(error, samplingNames, sampling)
      if (refused) return await ask(completion, { ...sampling, [refused]: undefined }, signal)
      const part = refusedIn(error, promptParts, completion.prompt)
      if (part === undefined) throw error
      throw new ProviderFault('prompt-not-supported', `does not take ${part} as it is given`)
    }
  }

  const askOnce = async (completion: Completion, sampling: Sampling, signal: AbortSignal) => {
    const { seed = sampling.seed } = completion.prompt
    const answer = await client.chat.completions.create(
      {
        model: completion.model,
        ...openAiPrompt(completion.prompt),
        [limitName]: completion.maxOutputTokens,
        ...(sampling.temperature !== undefined && { temperature: sampling.temperature }),
        ...(seed !== undefined && { seed }),
      },
      { signal },
    )
    const parsed = Answer.safeParse(answer)
    if (!parsed.success) throw notOfProtocol(answer)
    const usage = tellUsage(parsed.data, completion)
    const [choice] = parsed.data.choices
    throwReported(choice)
    if (choice?.message?.refusal || choice?.finish_reason === 'content_filter')
      throw refusedAnswer()
    if (brokenOff.includes(choice?.finish_reason ?? '')) throw brokeOff()
    const said = {
      content: choice?.message?.content ?? '',
      toolCalls: (choice?.message?.tool_calls ?? []).map((call) => call.function),
      isCut: cutReasons.includes(choice?.finish_reason ?? ''),
    }
    return completedBy(completion.prompt, said, usage)
  }

  const weigh = async (api: TeacherApi, { model, prompt, text, ...limits }: GivenText) =>
    await callProvider(options, { model, ...limits }, async (signal) => {
      const { messages } = openAiPrompt(prompt)
      const body = {
        ...{ model, messages: [...messages, { role: 'assistant', content: text }] },
        // The API generates at least one token, which is ignored.
        ...{ max_tokens: 1, temperature: 0 },
        ...givenTextFields[api],
      }
      const reply: unknown = await client.post('/chat/completions', { body, signal })
      const counted = Counted.safeParse(reply)
      if (counted.success) tellUsage(counted.data, limits)
      return toldOf(reply, api, text)
    })

  return {
    ...(options.teacher && { weigh: weigh.bind(undefined, options.teacher) }),
    complete: (completion) =>
      callProvider(options, completion, (signal) =>
        ask(
          completion,
          { temperature: 0, ...(completion.prompt.seed === undefined && { seed: 0 }) },
          signal,
        ),
      ),
  }
}

function tellUsage(
  { usage }: z.output<typeof Counted>,
  { onUsage }: Pick<Completion, 'onUsage'>,
): Usage | undefined {
  if (!usage) return undefined
  const { prompt_tokens: input_tokens, completion_tokens: output_tokens } = usage
  const told = { input_tokens, output_tokens }
  onUsage?.(told)
  return told
}
