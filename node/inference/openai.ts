import OpenAI from 'openai'
import type { TeacherApi } from '../../lib/providers.ts'
import { givenTextFields, toldOf } from './given-text.ts'
import { Counted, gatherOpenAi } from './openai-answer.ts'
import { openAiPrompt, refusedIn } from './openai-prompt.ts'
import { createAsking, type OwnParameters } from './own-parameters.ts'
import type { Completed, Completion, GivenText, InferenceProvider } from './provider.ts'
import { callProvider, type ProviderOptions, type Reached } from './provider-call.ts'
import { ProviderFault } from './provider-fault.ts'
import { type Reading, readCompletion, readDocument } from './read-answer.ts'
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
  const first: OwnParameters = {
    temperature: 0,
    seed: 0,
    stream: true,
    stream_options: { include_usage: true },
    // New OpenAI models take only the new name, other servers often only the old one.
    limitName: isOpenAi(options.baseUrl) ? 'max_completion_tokens' : 'max_tokens',
    mostTokens: Number.POSITIVE_INFINITY,
  }
  const asking = createAsking(first, openAiPrompt)

  const ask = async (completion: Completion, reading: Reading): Promise<Completed> => {
    try {
      return await asking(completion, (own) => askOnce(completion, own, reading))
    } catch (error) {
      const part = refusedIn(error, completion.prompt)
      if (part === undefined) throw error
      throw new ProviderFault('prompt-not-supported', `does not take ${part} as it is given`)
    }
  }

  const askOnce = async (completion: Completion, own: OwnParameters, reading: Reading) => {
    const { limitName, mostTokens, ...chosen } = own
    const { model, prompt, maxOutputTokens } = completion
    const body = {
      ...{ model, ...chosen, ...openAiPrompt(prompt) },
      seed: prompt.seed ?? own.seed,
      [limitName]: Math.min(maxOutputTokens, mostTokens),
    }
    const { signal } = reading
    const response = await client.post('/chat/completions', { body, signal }).asResponse()
    return await readCompletion(response, gatherOpenAi(), completion, reading)
  }

  const weigh = async (api: TeacherApi, { model, prompt, text, ...limits }: GivenText) =>
    await callProvider(options, { model, ...limits }, async ({ signal }) => {
      const { messages } = openAiPrompt(prompt)
      const body = {
        ...{ model, messages: [...messages, { role: 'assistant', content: text }] },
        // The API generates at least one token, which is ignored.
        ...{ max_tokens: 1, temperature: 0 },
        ...givenTextFields[api],
      }
      const response = await client.post('/chat/completions', { body, signal }).asResponse()
      const reply = await readDocument(response, signal)
      const counted = Counted.safeParse(reply)
      if (counted.data?.usage) limits.onUsage?.(counted.data.usage)
      return toldOf(reply, api, text)
    })

  return {
    ...(options.teacher && { weigh: weigh.bind(undefined, options.teacher) }),
    complete: (completion) =>
      callProvider(options, completion, (reading) => ask(completion, reading)),
  }
}
