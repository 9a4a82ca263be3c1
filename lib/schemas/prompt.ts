import { z } from 'zod'
import { isJson } from '../is-json.ts'
import { ToolName } from './answer.ts'

/*
 * The document that a client seals: a conversation, and how to continue it. Version 1 has what the providers' chat APIs have in common,
 * under OpenAI's names. The length of the answer is a parameter of the job, since the receipt shows it.
 */

// UTF-8 has no lone surrogates. Too long a prompt is refused by its bytes.
const Text = z.string().regex(/^\P{Surrogate}*$/u, 'holds half a surrogate pair')
const Said = Text.min(1)

/** The name of a tool, of a speaker or of a schema. */
const Name = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/)

const CallId = z.string().regex(/^[\x21-\x7e]{1,256}$/)

/** A JSON schema, of which only this is checked: an object, not nested too deeply to be read. */
const JsonSchema = z.custom<Readonly<Record<string, unknown>>>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value) && isJson(value),
  'is no object of JSON, or nested too deeply',
)

const ToolCall = z.strictObject({
  id: CallId,
  /** A model may have made it up. */
  name: ToolName,
  /** The JSON text that the model wrote. */
  arguments: Text,
})

const Message = z.discriminatedUnion('role', [
  z.strictObject({ role: z.literal('system'), content: Said, name: Name.exactOptional() }),
  z.strictObject({ role: z.literal('user'), content: Text, name: Name.exactOptional() }),
  z.strictObject({
    role: z.literal('assistant'),
    content: Said.exactOptional(),
    tool_calls: z.array(ToolCall).min(1).max(128).exactOptional(),
    name: Name.exactOptional(),
  }),
  z.strictObject({ role: z.literal('tool'), tool_call_id: CallId, content: Text }),
])
/** One message of a conversation. */
export type PromptMessage = z.output<typeof Message>

const Tool = z.strictObject({
  name: Name,
  description: Text.exactOptional(),
  /** The JSON schema of its arguments; it takes none when left out. */
  parameters: JsonSchema.exactOptional(),
  /** True when each call must follow that schema. */
  strict: z.boolean().exactOptional(),
})

const ToolChoice = z.union([z.enum(['none', 'auto', 'required']), z.strictObject({ name: Name })])

const ResponseFormat = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text') }),
  z.strictObject({ type: z.literal('json_object') }),
  z.strictObject({
    type: z.literal('json_schema'),
    name: Name,
    description: Text.exactOptional(),
    schema: JsonSchema,
    strict: z.boolean().exactOptional(),
  }),
])

/** OpenAI's names. A provider may refuse some of them. */
export const ReasoningEffort = z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'])
export type ReasoningEffort = z.output<typeof ReasoningEffort>

/** A prompt, which is sealed as JSON. */
export const PromptDocument = z
  .strictObject({
    version: z.literal(1),
    messages: z.array(Message).min(1).max(1_024),
    tools: z.array(Tool).min(1).max(128).exactOptional(),
    /** `auto` when left out. */
    tool_choice: ToolChoice.exactOptional(),
    /** The model calls at most one tool. It may call several when left out. */
    parallel_tool_calls: z.literal(false).exactOptional(),
    /** How long the model should think, by its provider's default when left out. */
    reasoning_effort: ReasoningEffort.exactOptional(),
    /** `text` when left out. */
    response_format: ResponseFormat.exactOptional(),
    /** Texts before the first of which the answer ends. */
    stop: z.array(Said.max(256)).min(1).max(4).exactOptional(),
    /** When left out, each node whose model takes a seed uses 0. */
    seed: z.int().exactOptional(),
  })
  .superRefine((prompt, { addIssue }) => {
    const refuse = (path: (string | number)[], message: string) =>
      addIssue({ code: 'custom', path, message })
    checkTurns(prompt.messages, refuse)
    checkTools(prompt, refuse)
  })
export type PromptDocument = z.output<typeof PromptDocument>

type Refuse = (path: (string | number)[], message: string) => void

/** Checks that the results of tool calls follow them directly, and that the assistant did not speak last. */
function checkTurns(messages: readonly PromptMessage[], refuse: Refuse): void {
  let open = new Set<string>()
  for (const [at, message] of messages.entries()) {
    if (message.role === 'tool') {
      if (!open.delete(message.tool_call_id)) {
        refuse(['messages', at, 'tool_call_id'], 'answers no call of the assistant before it')
      }
      continue
    }
    if (open.size > 0) refuse(['messages', at, 'role'], `comes before ${resultsOf(open)}`)
    open = new Set()
    if (message.role !== 'assistant') continue
    const { content, tool_calls: calls = [] } = message
    if (content === undefined && calls.length === 0) {
      refuse(['messages', at, 'content'], 'is missing, and no tool is called')
    }
    open = new Set(calls.map(({ id }) => id))
    if (open.size < calls.length) refuse(['messages', at, 'tool_calls'], 'has an id twice')
  }
  if (open.size > 0) {
    refuse(['messages'], `must end with ${resultsOf(open)}`)
  } else if (messages.at(-1)?.role === 'assistant') {
    refuse(['messages', messages.length - 1, 'role'], 'must not be the assistant: its turn is next')
  }
}

const resultsOf = (open: ReadonlySet<string>): string => `the result of call ${[...open][0]}`

type ToolFields = Pick<PromptDocument, 'tools' | 'tool_choice' | 'parallel_tool_calls'>

function checkTools(
  { tools = [], tool_choice: choice, parallel_tool_calls: parallel }: ToolFields,
  refuse: Refuse,
): void {
  const names = new Set(tools.map(({ name }) => name))
  if (names.size < tools.length) refuse(['tools'], 'has a name twice')
  if (parallel === false && tools.length === 0) refuse(['parallel_tool_calls'], 'needs tools')
  if (choice === undefined) return
  if (tools.length === 0) refuse(['tool_choice'], 'needs tools')
  else if (typeof choice === 'object' && !names.has(choice.name)) {
    refuse(['tool_choice', 'name'], 'is the name of none of the tools')
  }
}
