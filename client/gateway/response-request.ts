import { z } from 'zod'
import { ReasoningEffort } from '../../lib/schemas/prompt.ts'
import type { Asked } from './answer-request.ts'
import { Text } from './chat-messages.ts'
import { longestAnswer, sampling, TokenLimit } from './chat-request.ts'
import { badRequest } from './openai-error.ts'
import { JsonSchema, promptOf } from './prompt-request.ts'
import { cannotHonour, type ReadingOptions, readParameters } from './read-request.ts'
import { InputItem, messagesOf } from './response-items.ts'

/*
 * A request for a response. The gateway keeps nothing of a conversation: what refers to an earlier response is refused in any case, because
 * without it the question would be another.
 */

const Name = z.string().max(64)

const FunctionTool = z.strictObject({
  type: z.literal('function'),
  name: Name,
  description: Text.nullish(),
  parameters: JsonSchema.nullish(),
  strict: z.boolean().nullish(),
})

/** Tools that the model's own servers carry out, and those without a schema. */
export const OtherTool = z.object({ type: z.literal('other'), given: z.string().max(64) })

const Tool = z.preprocess(
  (tool) =>
    typeof tool === 'object' && tool !== null && 'type' in tool && tool.type !== 'function'
      ? { type: 'other', given: tool.type }
      : tool,
  z.discriminatedUnion('type', [FunctionTool, OtherTool]),
)

const Format = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text') }),
  z.strictObject({ type: z.literal('json_object') }),
  z.strictObject({
    type: z.literal('json_schema'),
    name: Name,
    description: Text.nullish(),
    schema: JsonSchema,
    strict: z.boolean().nullish(),
  }),
])

const none = z.null().optional()

const Reasoning = z.strictObject({
  effort: ReasoningEffort.nullish(),
  // The answer has no summary of the model's thoughts.
  summary: z.unknown().optional(),
  generate_summary: z.unknown().optional(),
})

const supported = {
  model: z.string().min(1).max(256),
  // A text is one message of the user.
  input: z.preprocess(
    (given) => (typeof given === 'string' ? [{ role: 'user', content: given }] : given),
    z.array(InputItem).min(1).max(1_024),
  ),
  instructions: Text.nullish(),
  tools: z.array(Tool).max(128).nullish(),
  tool_choice: z
    .union([
      z.enum(['none', 'auto', 'required']),
      z.strictObject({ type: z.literal('function'), name: Name }),
    ])
    .nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  reasoning: Reasoning.nullish(),
  metadata: z.record(z.string().max(64), z.string().max(512)).nullish(),
  text: z.strictObject({ format: Format.nullish() }).nullish(),
  max_output_tokens: TokenLimit,
  stream: z.boolean().nullish(),
  stream_options: z.strictObject({ include_obfuscation: z.boolean().nullish() }).nullish(),
  previous_response_id: none,
  conversation: none,
  prompt: none,
}

const asItIs = {
  background: z.literal(false).nullish(),
  truncation: z.literal('disabled').nullish(),
  top_logprobs: z.literal(0).nullish(),
  max_tool_calls: none,
}

const { temperature, top_p } = sampling
const wording = { temperature, top_p }

const quiet = [
  ...['include', 'prompt_cache_key', 'prompt_cache_retention', 'safety_identifier'],
  ...['service_tier', 'store', 'user'],
]

const whole = z.strictObject({ ...supported, ...asItIs, ...wording })
type Given = z.output<typeof whole>

/** A request for a response as the service can run it, and what a response repeats of it. */
export type ResponseRequest = Asked & {
  readonly given: Omit<Given, 'tools'> & {
    readonly tools: readonly z.output<typeof FunctionTool>[]
  }
}

/** Reads the body of a request; throws OpenAiError 400 that names what is wrong, or with `isStrict` what the service cannot honour. */
export function readResponseRequest(body: unknown, reading: ReadingOptions): ResponseRequest {
  const parameters = {
    ...{ whole, supported, asItIs, quiet },
    sampling: wording,
    conversation: 'input',
  }
  checkStateless(body)
  const { data, ignored } = readParameters(body, parameters, reading)
  const { maxOutputTokens, cut } = longestAnswer('max_output_tokens', data.max_output_tokens)
  const unused = [...unusedIn(data), ...cut]
  if (reading.isStrict) cannotHonour(unused)
  const tools = (data.tools ?? []).filter((tool) => tool.type === 'function')
  return {
    model: data.model,
    prompt: promptOfResponse(data, tools),
    stream: data.stream === true,
    maxOutputTokens,
    ignored: [...ignored, ...unused],
    given: { ...data, tools },
  }
}

/** Items, tools and members that have no effect. */
const unusedIn = ({ input, tools, reasoning }: Given): readonly string[] => [
  ...input.flatMap(({ type }, at) => (type === 'reasoning' ? [`input[${at}]`] : [])),
  ...otherToolsIn(tools),
  ...(['summary', 'generate_summary'] as const).flatMap((name) =>
    reasoning?.[name] ? [`reasoning.${name}`] : [],
  ),
]

/** Names the tools that have no effect. */
export const otherToolsIn = (
  tools: readonly (z.output<typeof OtherTool> | { readonly type: string })[] | null | undefined,
): readonly string[] =>
  (tools ?? []).flatMap((tool, at) => ('given' in tool ? [`tools[${at}] (${tool.given})`] : []))

/** Refuses what is in no request but on a server that keeps conversations. */
function checkStateless(body: unknown): void {
  const given: Readonly<Record<string, unknown>> = Object(body)
  const stored = ['previous_response_id', 'conversation', 'prompt'].find(
    (name) => given[name] !== undefined && given[name] !== null,
  )
  const items: readonly unknown[] = Array.isArray(given.input) ? given.input : []
  const reference = items.findIndex((item) => Object(item).type === 'item_reference')
  const param = stored ?? (reference < 0 ? undefined : `input[${reference}]`)
  if (param === undefined) return
  const message = `${param}: the gateway keeps no conversations. Send all items in input (in some libraries: store: false)`
  throw badRequest(message, param, 'unsupported_value')
}

function promptOfResponse(given: Given, tools: ResponseRequest['given']['tools']) {
  const { input, instructions, tool_choice: choice, text } = given
  const system = { role: 'system', content: instructions ?? '' } as const
  return promptOf(
    {
      messages: [...(instructions ? [system] : []), ...messagesOf(input)],
      tools: tools.map(({ type: _, ...tool }) => tool),
      choice: typeof choice === 'string' ? choice : choice && { name: choice.name },
      parallel: given.parallel_tool_calls,
      effort: given.reasoning?.effort,
      format: text?.format,
    },
    // The places of messages are not those of items.
    ([first = '', ...rest]) =>
      first === 'messages'
        ? ['input']
        : first === 'response_format'
          ? ['text', 'format', ...rest]
          : [first, ...rest],
  )
}
