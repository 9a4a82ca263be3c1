import { z } from 'zod'
import { MaxOutputTokens } from '../../lib/schemas/jobs.ts'
import type { PromptDocument } from '../../lib/schemas/prompt.ts'
import { badRequest } from './openai-error.ts'
import { paramOf } from './param-of.ts'
import { promptOfRequest, promptParameters } from './prompt-request.ts'

const mostOutputTokens = 8_192

const Limit = z.int().min(1).max(10_000_000).nullish()

/** What a request may ask for, and what the service does with it. */
const supported = {
  model: z.string().min(1).max(256),
  ...promptParameters,
  stream: z.boolean().nullish(),
  stream_options: z
    .strictObject({
      include_usage: z.boolean().optional(),
      include_obfuscation: z.boolean().optional(),
    })
    .nullish(),
  max_tokens: Limit,
  max_completion_tokens: Limit,
}

/** What may be asked for only as far as it is what the service does anyway. */
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
  reasoning_effort: z.null().optional(),
  verbosity: z.literal('medium').nullish(),
}

/** How a model picks its words: the nodes decide that, near temperature 0, so that their answers can be compared. */
const sampling = {
  temperature: z.literal(0).nullish(),
  top_p: z.literal(1).nullish(),
  frequency_penalty: z.literal(0).nullish(),
  presence_penalty: z.literal(0).nullish(),
}

/** What says nothing of the answer. */
const ignored = [
  'metadata',
  'parallel_tool_calls',
  'prompt_cache_key',
  'prompt_cache_retention',
  'safety_identifier',
  'service_tier',
  'store',
  'user',
] as const

const Strict = z.strictObject({ ...supported, ...asItIs, ...sampling })

/** A request for a completion as the service can run it. */
export type ChatRequest = {
  readonly model: string
  readonly prompt: PromptDocument
  readonly stream: boolean
  readonly includeUsage: boolean
  readonly maxOutputTokens: number | undefined
  /** Parameters that were given and have no effect, and members of others: `messages[0].cache_control`. */
  readonly ignored: readonly string[]
}

/** How requests are read. */
export type ReadingOptions = {
  /** Refuses what the service cannot honour, in place of ignoring it. */
  readonly isStrict: boolean
}

/** Reads the body of a request; throws OpenAiError 400 that names what is wrong, or with `isStrict` what the service cannot honour. */
export function readChatRequest(body: unknown, { isStrict }: ReadingOptions): ChatRequest {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw badRequest('The body must be a JSON object', undefined, 'invalid_json')
  }
  const given = Object.entries(body).filter(([, value]) => value !== undefined && value !== null)
  const isIgnored = ([name, value]: readonly [string, unknown]) =>
    ignored.some((other) => other === name) || (!isStrict && !isHonoured(name, value))
  const kept = Object.fromEntries(given.filter((entry) => !isIgnored(entry)))
  const { parsed, dropped } = isStrict
    ? { parsed: Strict.safeParse(kept), dropped: [] }
    : read(kept)
  if (!parsed.success) throw refusal(parsed.error.issues[0], body)
  const { model, stream, stream_options: options } = parsed.data
  if (isStrict && options && stream !== true) {
    throw badRequest('stream_options needs stream: true', 'stream_options', 'invalid_value')
  }
  return {
    model,
    prompt: promptOfRequest(parsed.data),
    stream: stream === true,
    includeUsage: options?.include_usage === true,
    maxOutputTokens: limitOf(parsed.data),
    ignored: [...given.filter(isIgnored).map(([name]) => name), ...dropped],
  }
}

const isHonoured = (name: string, value: unknown): boolean => {
  if (Object.hasOwn(supported, name)) return true
  const only: Readonly<Record<string, z.ZodType>> = { ...asItIs, ...sampling }
  return Object.hasOwn(only, name) && only[name]?.safeParse(value).success === true
}

/** Reads a body without the members that the schema does not know, such as a message's `cache_control`, and names these. */
function read(body: Readonly<Record<string, unknown>>) {
  const whole = Strict.safeParse(body)
  const unknown = (whole.error?.issues ?? []).flatMap((issue) =>
    issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...issue.path, key]) : [],
  )
  if (unknown.length === 0) return { parsed: whole, dropped: [] }
  const copy = structuredClone(body)
  for (const path of unknown) removeAt(copy, path)
  return { parsed: Strict.safeParse(copy), dropped: unknown.map(paramOf) }
}

function removeAt(body: object, path: readonly PropertyKey[]): void {
  const parents = path.slice(0, -1)
  const parent = parents.reduce<unknown>((at, step) => Reflect.get(Object(at), step), body)
  const last = path.at(-1)
  if (last !== undefined) Reflect.deleteProperty(Object(parent), last)
}

/** A limit is one: what is asked for beyond what the service ever gives changes nothing. */
function limitOf({
  max_tokens: old,
  max_completion_tokens: limit,
}: Pick<z.output<typeof Strict>, 'max_tokens' | 'max_completion_tokens'>): number | undefined {
  if (old && limit && old !== limit) {
    const message = 'max_tokens and max_completion_tokens contradict: give one of them'
    throw badRequest(message, 'max_tokens', 'invalid_value')
  }
  const asked = limit ?? old
  return asked ? MaxOutputTokens.parse(Math.min(asked, mostOutputTokens)) : undefined
}

function refusal(issue: z.core.$ZodIssue | undefined, body: object) {
  if (issue?.code === 'unrecognized_keys' && issue.path.length === 0) {
    const [name = ''] = issue.keys
    return badRequest(`Unknown parameter: ${name}`, name, 'unknown_parameter')
  }
  const path = issue?.path ?? []
  const param = paramOf(path)
  const [name = ''] = path.map(String)
  if (!(name in body)) return badRequest(`${name} is missing`, name, 'missing_required_parameter')
  if (name in sampling) {
    const message = `The nodes answer near temperature 0, so that their answers can be compared, and cannot honour ${name}. Leave it out, or start the gateway without --strict`
    return badRequest(message, param, 'unsupported_value')
  }
  if (name in asItIs) {
    const message = `The service answers with one text and cannot honour ${name}. Leave it out, or start the gateway without --strict`
    return badRequest(message, param, 'unsupported_value')
  }
  if (name === 'messages' && path.length > 1) {
    const message = `${param}: only texts of system, developer, user, assistant and tool, and calls of functions, can be sent`
    return badRequest(message, param, 'unsupported_value')
  }
  return badRequest(`${param}: ${issue?.message ?? 'it is not valid'}`, param, 'invalid_value')
}
