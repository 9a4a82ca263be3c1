import { z } from 'zod'
import { ReasoningEffort } from '../../lib/schemas/prompt.ts'
import type { Asked } from './answer-request.ts'
import { Content, Text } from './chat-messages.ts'
import { longestAnswer, sampling, TokenLimit } from './chat-request.ts'
import { CacheControl, Message, promptMessagesOf, systemOf, unusedIn } from './message-blocks.ts'
import { badRequest } from './openai-error.ts'
import { JsonSchema, promptOf } from './prompt-request.ts'
import { cannotHonour, type ReadingOptions, readParameters } from './read-request.ts'
import { OtherTool, otherToolsIn } from './response-request.ts'

const Name = z.string().max(64)

const CustomTool = z.strictObject({
  type: z.literal('custom'),
  name: Name,
  description: Text.nullish(),
  input_schema: JsonSchema,
  strict: z.boolean().nullish(),
  ...{ cache_control: CacheControl, eager_input_streaming: z.unknown().optional() },
})

// A tool of the caller may leave out what it is.
const Tool = z.preprocess(
  (tool) => {
    if (typeof tool !== 'object' || tool === null) return tool
    const type = ('type' in tool ? tool.type : null) ?? 'custom'
    return type === 'custom' ? { ...tool, type } : { type: 'other', given: type }
  },
  z.discriminatedUnion('type', [CustomTool, OtherTool]),
)

const single = { disable_parallel_tool_use: z.boolean().nullish() }

const ToolChoice = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('auto'), ...single }),
  z.strictObject({ type: z.literal('any'), ...single }),
  z.strictObject({ type: z.literal('tool'), name: Name, ...single }),
  z.strictObject({ type: z.literal('none'), ...single }),
])

const supported = {
  model: z.string().min(1).max(256),
  messages: z.array(Message).min(1).max(1_024),
  system: Content.nullish(),
  max_tokens: TokenLimit,
  stop_sequences: z.array(Text).max(4).nullish(),
  stream: z.boolean().nullish(),
  tools: z.array(Tool).max(128).nullish(),
  tool_choice: ToolChoice.nullish(),
  output_config: z
    .strictObject({
      effort: ReasoningEffort.nullish(),
      format: z.strictObject({ type: z.literal('json_schema'), schema: JsonSchema }).nullish(),
    })
    .nullish(),
}

const asItIs = { thinking: z.strictObject({ type: z.literal('disabled') }).nullish() }

const wording = {
  temperature: sampling.temperature,
  top_p: sampling.top_p,
  top_k: z.literal(1).nullish(),
}

const quiet = ['cache_control', 'metadata', 'service_tier']

const whole = z.strictObject({ ...supported, ...asItIs, ...wording })
type Given = z.output<typeof whole>

/** Reads the body of a request for a message; throws OpenAiError 400 that names what is wrong, or with `isStrict` what the service cannot honour. */
export function readMessageRequest(body: unknown, reading: ReadingOptions): Asked {
  checkQuestion(body)
  const parameters = {
    ...{ whole, supported, asItIs, quiet },
    sampling: wording,
    conversation: 'messages',
  }
  const { data, ignored } = readParameters(body, parameters, reading)
  const { maxOutputTokens, cut } = longestAnswer('max_tokens', data.max_tokens)
  const unused = [
    ...data.messages.flatMap((message, at) => unusedIn(message, `messages[${at}]`)),
    ...otherToolsIn(data.tools),
    ...cut,
  ]
  if (reading.isStrict) cannotHonour(unused)
  return {
    model: data.model,
    prompt: promptOfMessage(data),
    stream: data.stream === true,
    maxOutputTokens,
    ignored: [...ignored, ...unused],
  }
}

const others = {
  // At this code the tool runner of the official client sends all messages, without a thread.
  thread: [
    'thread_unsupported_request',
    'keeps no conversations. Send all messages, and no thread',
  ],
  compaction: ['unsupported_value', 'shortens no conversations. Send fewer messages'],
} as const

/** Refuses what only a server that keeps or shortens conversations can do: the messages alone are another question. */
function checkQuestion(body: unknown): void {
  for (const [name, [code, remedy]] of Object.entries(others)) {
    if ((Object(body)[name] ?? null) === null) continue
    throw badRequest(`${name}: the gateway ${remedy}`, name, code)
  }
}

function promptOfMessage(given: Given) {
  const { tool_choice: choice, output_config: output } = given
  const said = [
    ...systemOf(given.system ?? '').map((message) => ({ message, place: ['system'] })),
    ...given.messages.flatMap((one, at) =>
      promptMessagesOf(one).map((message) => ({ message, place: ['messages', at] })),
    ),
  ]
  const tools = (given.tools ?? []).filter((tool) => tool.type === 'custom')
  return promptOf(
    {
      messages: said.map(({ message }) => message),
      tools: tools.map(({ name, description, input_schema: parameters, strict }) => ({
        name,
        description,
        parameters,
        strict,
      })),
      choice: choice && choiceOf(choice),
      parallel: choice?.disable_parallel_tool_use ? false : undefined,
      effort: output?.effort,
      // Anthropic's schemas have no name, and are always kept to.
      format: output?.format && { ...output.format, ...{ name: 'answer', strict: true } },
      stop: given.stop_sequences?.filter((text) => text !== ''),
    },
    ([first = '', ...rest]) => {
      const renamed: Readonly<Record<string, readonly string[]>> = {
        stop: ['stop_sequences'],
        reasoning_effort: ['output_config', 'effort'],
        response_format: ['output_config', 'format'],
      }
      if (first === 'messages') return said[Number(rest[0])]?.place ?? [first]
      return [...(renamed[String(first)] ?? [first]), ...rest]
    },
  )
}

function choiceOf(choice: z.output<typeof ToolChoice>): string | { readonly name: string } {
  if (choice.type === 'tool') return { name: choice.name }
  return choice.type === 'any' ? 'required' : choice.type
}
