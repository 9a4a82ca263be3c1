import OpenAI from 'openai'
import type { TeacherApi } from '../../lib/providers.ts'
import { givenTextFields, toldOf } from './given-text.ts'
import { Counted, gatherOpenAi } from './openai-answer.ts'
import { openAiPrompt, refusedIn } from './openai-prompt.ts'
import { createAsking, type OwnParameters } from './own-parameters.ts'
import type { Completed, Completion, GivenText, InferenceProvider } from './provider.ts'
import { callProvider, type ProviderOptions, type Reached } from './provider-call.ts'
import { ProviderFault } from './provider-fault.ts'
import { keyHeader, sdkOptions } from './sdk.ts'

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
  const asking = createAsking({
    temperature: 0,
    seed: 0,
    // New OpenAI models take only the new name, other servers often only the old one.
    limitName: isOpenAi(options.baseUrl) ? 'max_completion_tokens' : 'max_tokens',
    mostTokens: Number.POSITIVE_INFINITY,
  })

  const ask = async (completion: Completion, signal: AbortSignal): Promise<Completed> => {
    try {
      return await asking(completion, (own) => askOnce(completion, own, signal))
    } catch (error) {
      const part = refusedIn(error, completion.prompt)
      if (part === undefined) throw error
      throw new ProviderFault('prompt-not-supported', `does not take ${part} as it is given`)
    }
  }

  const askOnce = async (completion: Completion, own: OwnParameters, signal: AbortSignal) => {
    const { seed = own.seed } = completion.prompt
    const answer = await client.chat.completions.create(
      {
        model: completion.model,
        ...openAiPrompt(completion.prompt),
        [own.limitName]: Math.min(completion.maxOutputTokens, own.mostTokens),
        ...(own.temperature !== undefined && { temperature: own.temperature }),
        ...(seed !== undefined && { seed }),
      },
      { signal },
    )
    const gathered = gatherOpenAi()
    gathered.add(answer)
    const usage = gathered.usage()
    if (usage) completion.onUsage?.(usage)
    return gathered.end(completion.prompt)
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
      if (counted.data?.usage) limits.onUsage?.(counted.data.usage)
      return toldOf(reply, api, text)
    })

  return {
    ...(options.teacher && { weigh: weigh.bind(undefined, options.teacher) }),
    complete: (completion) =>
      callProvider(options, completion, (signal) => ask(completion, signal)),
  }
}
