import { z } from 'zod'
import { PromptDocument, type PromptMessage, ReasoningEffort } from '../../lib/schemas/prompt.ts'
import { ChatMessage, promptMessageOf, Text } from './chat-messages.ts'
import { badRequest } from './openai-error.ts'
import { closestIssue, paramOf } from './read-request.ts'

/*
 * The parameters of a request that become the prompt document, in OpenAI's form. Only the schema of the document says what they may hold.
 * It has OpenAI's names, so a refusal by it names the parameter.
 */

/** A JSON schema; the document's own schema looks closer. */
export const JsonSchema = z.record(z.string(), z.unknown())

const Tool = z.strictObject({
  type: z.literal('function'),
  function: z.strictObject({
    name: Text,
    description: Text.nullish(),
    parameters: JsonSchema.nullish(),
    strict: z.boolean().nullish(),
  }),
})

const ToolChoice = z.union([
  z.enum(['none', 'auto', 'required']),
  z.strictObject({ type: z.literal('function'), function: z.strictObject({ name: Text }) }),
])

const ResponseFormat = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text') }),
  z.strictObject({ type: z.literal('json_object') }),
  z.strictObject({
    type: z.literal('json_schema'),
    json_schema: z.strictObject({
      name: Text,
      description: Text.nullish(),
      schema: JsonSchema,
      strict: z.boolean().nullish(),
    }),
  }),
])

/** The parameters that say what is asked. */
export const promptParameters = {
  messages: z.array(ChatMessage).min(1).max(1_024),
  tools: z.array(Tool).max(128).nullish(),
  tool_choice: ToolChoice.nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  reasoning_effort: ReasoningEffort.nullish(),
  response_format: ResponseFormat.nullish(),
  stop: z.union([Text, z.array(Text).max(4)]).nullish(),
  seed: z.int().nullish(),
}
type PromptParameters = z.output<z.ZodObject<typeof promptParameters>>

/** The prompt document of a request; throws OpenAiError 400 that names the parameter. */
export function promptOfRequest(request: PromptParameters): PromptDocument {
  const { tools, tool_choice: choice, response_format: format, stop, seed } = request
  const { parallel_tool_calls: parallel, reasoning_effort: effort } = request
  const messages = request.messages.map(promptMessageOf)
  const said = messages.filter(saysSomething)
  return promptOf(
    {
      messages: said,
      tools: tools?.map((tool) => tool.function),
      choice: typeof choice === 'string' ? choice : choice?.function,
      parallel,
      effort,
      format:
        format?.type === 'json_schema' ? { type: format.type, ...format.json_schema } : format,
      // An empty text says nothing.
      stop: (typeof stop === 'string' ? [stop] : stop)?.filter((text) => text !== ''),
      seed,
    },
    (path) => {
      const message = path[0] === 'messages' && said[Number(path[1])]
      return message ? ['messages', messages.indexOf(message), ...path.slice(2)] : path
    },
  )
}

/** False for the empty messages of system and assistant that some agents send. */
const saysSomething = (message: PromptMessage): boolean =>
  message.role === 'assistant'
    ? message.content !== undefined || message.tool_calls !== undefined
    : message.role !== 'system' || message.content !== ''

/** The parts of a prompt as a request has them: null and what is left out say nothing. */
type Parts = {
  readonly messages: readonly PromptMessage[]
  readonly tools: readonly object[] | null | undefined
  readonly choice: string | { readonly name: string } | null | undefined
  readonly parallel: boolean | null | undefined
  readonly effort: ReasoningEffort | null | undefined
  readonly format: { readonly type: string } | null | undefined
  readonly stop?: readonly string[] | null | undefined
  readonly seed?: number | null | undefined
}

/** A prompt document; throws OpenAiError 400 that names the parameter, which `placeOf` finds for a place in the document. */
export function promptOf(
  { messages, tools, choice, parallel, effort, format, stop, seed }: Parts,
  placeOf: (path: readonly PropertyKey[]) => readonly PropertyKey[] = (path) => path,
): PromptDocument {
  if (!tools?.length && choice && choice !== 'none' && choice !== 'auto') {
    throw badRequest('tool_choice needs tools', 'tool_choice', 'invalid_value')
  }
  const parsed = PromptDocument.safeParse({
    version: 1,
    messages,
    ...(tools?.length && {
      tools: tools.map(withoutEmpty),
      ...(choice && { tool_choice: choice }),
      ...(parallel === false && { parallel_tool_calls: false }),
    }),
    ...(effort && { reasoning_effort: effort }),
    ...(format && format.type !== 'text' && { response_format: withoutEmpty(format) }),
    ...(stop?.length && { stop }),
    ...(typeof seed === 'number' && { seed }),
  })
  if (parsed.success) return parsed.data
  const issue = closestIssue(parsed.error)
  const param = paramOf(placeOf(issue?.path ?? []))
  throw badRequest(`${param}: ${issue?.message}`, param, 'invalid_value')
}

const withoutEmpty = (given: object): object =>
  Object.fromEntries(
    Object.entries(given).filter(
      ([, value]) => value !== null && value !== undefined && value !== '',
    ),
  )
