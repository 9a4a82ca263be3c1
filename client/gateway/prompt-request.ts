import { z } from 'zod'
import { PromptDocument } from '../../lib/schemas/prompt.ts'
import { ChatMessage, promptMessageOf } from './chat-messages.ts'
import { badRequest } from './openai-error.ts'
import { paramOf } from './param-of.ts'

/*
 * The parameters of a request that become the prompt document, in OpenAI's form. What they may hold is said once, by the schema of the
 * document: it has OpenAI's names, so that a refusal of the one names the parameter of the other.
 */

const Text = z.string().max(1_048_576)
/** A JSON schema; the document's own schema looks closer. */
export const JsonSchema = z.record(z.string(), z.unknown())

const Tool = z.strictObject({
  type: z.literal('function'),
  function: z.strictObject({
    name: Text,
    description: Text.exactOptional(),
    parameters: JsonSchema.exactOptional(),
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
      description: Text.exactOptional(),
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
  response_format: ResponseFormat.nullish(),
  stop: z.union([Text, z.array(Text).max(4)]).nullish(),
  seed: z.int().nullish(),
}
type PromptParameters = z.output<z.ZodObject<typeof promptParameters>>

/** The prompt document of a request; throws OpenAiError 400 that names the parameter. */
export function promptOfRequest(request: PromptParameters): PromptDocument {
  const { messages, response_format: format, stop, seed } = request
  const stops = typeof stop === 'string' ? [stop] : stop
  return checkedPrompt({
    messages: messages.map(promptMessageOf),
    ...toolsOf(request),
    ...(format && format.type !== 'text' && { response_format: formatOf(format) }),
    ...(stops?.length && { stop: stops }),
    ...(typeof seed === 'number' && { seed }),
  })
}

/** A prompt document; throws OpenAiError 400 that names the parameter, which `placeOf` finds for a place in the document. */
export function checkedPrompt(
  prompt: object,
  placeOf: (path: readonly PropertyKey[]) => readonly PropertyKey[] = (path) => path,
): PromptDocument {
  const parsed = PromptDocument.safeParse({ version: 1, ...prompt })
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const path = issue?.path ?? []
  const param = paramOf(placeOf(path))
  throw badRequest(`${paramOf(path)}: ${issue?.message}`, param, 'invalid_value')
}

function toolsOf({
  tools,
  tool_choice: choice,
}: PromptParameters): Pick<PromptDocument, 'tools' | 'tool_choice'> {
  if (!tools?.length) {
    if (!choice || choice === 'none' || choice === 'auto') return {}
    throw badRequest('tool_choice needs tools', 'tool_choice', 'invalid_value')
  }
  return {
    tools: tools.map(({ function: { strict, ...tool } }) => ({ ...tool, ...strictly(strict) })),
    ...(choice && { tool_choice: typeof choice === 'string' ? choice : choice.function }),
  }
}

function formatOf(format: z.output<typeof ResponseFormat>) {
  if (format.type !== 'json_schema') return format
  const { strict, ...schema } = format.json_schema
  return { type: format.type, ...schema, ...strictly(strict) }
}

/** The member `strict`, where it says something. */
export const strictly = (strict: boolean | null | undefined) =>
  typeof strict === 'boolean' ? { strict } : {}
