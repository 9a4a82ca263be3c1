import { z } from 'zod'
import { MaxOutputTokens } from '../../lib/schemas/jobs.ts'
import type { Asked } from './answer-request.ts'
import { badRequest } from './openai-error.ts'
import { promptOfRequest, promptParameters } from './prompt-request.ts'
import { cannotHonour, type ReadingOptions, readParameters } from './read-request.ts'

const mostOutputTokens = 8_192

/** The most tokens of an answer, as a caller states it; -1 is no limit to llama.cpp. */
export const TokenLimit = z.preprocess(
  (given) => (given === -1 ? undefined : given),
  z.int().min(1).max(10_000_000).nullish(),
)

/** The parameters that have an effect. */
const supported = {
  model: z.string().min(1).max(256),
  ...promptParameters,
  stream: z.boolean().nullish(),
  stream_options: z
    .strictObject({
      include_usage: z.boolean().nullish(),
      include_obfuscation: z.boolean().nullish(),
    })
    .nullish(),
  max_tokens: TokenLimit,
  max_completion_tokens: TokenLimit,
}

/** Parameters that only the value of what the service does anyway may have. */
const asItIs = {
  n: z.literal(1).nullish(),
  logprobs: z.literal(false).nullish(),
  top_logprobs: z.literal(0).nullish(),
  logit_bias: z.strictObject({}).nullish(),
  functions: z.array(z.never()).nullish(),
  function_call: z.enum(['none', 'auto']).nullish(),
  modalities: z.tuple([z.literal('text')]).nullish(),
  audio: z.null().optional(),
  prediction: z.null().optional(),
  web_search_options: z.null().optional(),
  verbosity: z.literal('medium').nullish(),
}

/** Sampling parameters. The nodes decide them, near temperature 0, so that answers can be compared. */
export const sampling = {
  temperature: z.literal(0).nullish(),
  top_p: z.literal(1).nullish(),
  frequency_penalty: z.literal(0).nullish(),
  presence_penalty: z.literal(0).nullish(),
}

/** Parameters that do not concern the answer. */
const quiet = [
  'metadata',
  'prompt_cache_key',
  'prompt_cache_retention',
  'safety_identifier',
  'service_tier',
  'store',
  'user',
] as const

const whole = z.strictObject({ ...supported, ...asItIs, ...sampling })

/** A request for a completion. */
export type ChatRequest = Asked & { readonly includeUsage: boolean }

/** Reads a request. Throws OpenAiError 400 for a mistake, or with `isStrict` for what the service cannot honour. */
export function readChatRequest(body: unknown, reading: ReadingOptions): ChatRequest {
  const parameters = { whole, supported, asItIs, sampling, quiet, conversation: 'messages' }
  const { data, ignored } = readParameters(body, parameters, reading)
  const { model, stream, stream_options: options } = data
  if (reading.isStrict && options && stream !== true) {
    throw badRequest('stream_options needs stream: true', 'stream_options', 'invalid_value')
  }
  const { max_tokens: old, max_completion_tokens: limit } = data
  if (old && limit && old !== limit) {
    const message = 'max_tokens and max_completion_tokens contradict: give one of them'
    throw badRequest(message, 'max_tokens', 'invalid_value')
  }
  const longest = longestAnswer(limit ? 'max_completion_tokens' : 'max_tokens', limit ?? old)
  if (reading.isStrict) cannotHonour(longest.cut)
  return {
    model,
    prompt: promptOfRequest(data),
    stream: stream === true,
    includeUsage: options?.include_usage === true,
    maxOutputTokens: longest.maxOutputTokens,
    ignored: [...ignored, ...longest.cut],
  }
}

/** Cuts a limit to the longest answer that the service gives, and names what was cut. */
export const longestAnswer = (name: string, asked: z.output<typeof TokenLimit>) => ({
  maxOutputTokens: asked ? MaxOutputTokens.parse(Math.min(asked, mostOutputTokens)) : undefined,
  cut: (asked ?? 0) > mostOutputTokens ? [`${name} (at most ${mostOutputTokens})`] : [],
})
