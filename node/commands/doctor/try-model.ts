/*
 * Problem: a list of models does not tell what their server does with a prompt. Some servers answer with status 200 and ignore `tools`, a
 * JSON schema or the fields of a teacher. Then jobs fail for which this node was drawn.
 *
 * Idea: one short text, and one short request for each part that the node declares and whose effect the answer shows.
 */

import { z } from 'zod'
import { parseAnswer } from '../../../lib/answer.ts'
import { type Clock, elapsedSince } from '../../../lib/clock.ts'
import { type Check, failed, ok } from '../../../lib/host/checks.ts'
import { parseJson } from '../../../lib/parse-json.ts'
import { promptOfText } from '../../../lib/prompt.ts'
import type { PromptDocument } from '../../../lib/schemas/prompt.ts'
import { baseOutputTokens } from '../../../lib/schemas/prompt-needs.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import type { OfferedModel } from '../../inference/models.ts'
import type { Provider } from '../../inference/providers.ts'

const patienceMs = 120_000

const plain = promptOfText('Say yes.')
const name = 'say_yes'
const schema = {
  ...{ type: 'object', properties: { answer: { type: 'string', enum: ['yes'] } } },
  ...{ required: ['answer'], additionalProperties: false },
}
const tools: PromptDocument = {
  ...{ ...plain, tools: [{ name, parameters: schema }], tool_choice: { name } },
}
const json: PromptDocument = {
  ...{ ...plain, response_format: { type: 'json_schema', name, schema, strict: true } },
}
const Call = z.object({ tool_calls: z.array(z.object({ name: z.literal(name) })).min(1) })
const Json = z.object({
  content: z
    .string()
    .transform(parseJson)
    .pipe(z.object({ answer: z.literal('yes') })),
})

/** What a server says that does not take a part. All other failures are of the server, not of the part. */
const refusals = ['prompt-not-supported', 'provider-refused', 'provider-protocol-wrong']

/** Runs a model, and finds the parts of prompts that its server does not take although the node declares them. Throws ProviderError. */
export async function tryModel(
  { name: provider, baseUrl, teacher }: Provider,
  { provider: { complete, weigh }, model, takes }: OfferedModel,
  clock: Clock,
): Promise<Check> {
  const limits = () => {
    const begun = clock.monotonic()
    return { model, leftMs: () => patienceMs - elapsedSince(clock, begun) }
  }
  const answerTo = async (prompt: PromptDocument) => {
    const { text } = await complete({ prompt, maxOutputTokens: baseOutputTokens, ...limits() })
    return parseAnswer(text)
  }
  const trials: Readonly<Record<string, () => Promise<boolean>>> = {
    tools: async () => Call.safeParse(await answerTo(tools)).success,
    json_schema: async () => Json.safeParse(await answerTo(json)).success,
    teacher: async () =>
      (await weigh?.({ prompt: plain, text: 'Yes.', ...limits() })) !== undefined,
  }
  await answerTo(plain)
  const { parts = [] } = takes ?? {}
  const obeyed: string[] = ['text']
  const ignored: string[] = []
  for (const part of parts) {
    const isTaken = await trials[part]?.().catch((error: unknown) => {
      if (error instanceof SvcError && refusals.includes(error.code)) return false
      throw error
    })
    if (isTaken !== undefined) (isTaken ? obeyed : ignored).push(part)
  }
  const { host } = new URL(baseUrl)
  if (ignored.length === 0) return ok('provider', `${host} runs ${model}: ${obeyed.join(', ')}`)
  const named = ignored.map((part) =>
    part === 'teacher' && teacher ? `teacher (${teacher})` : part,
  )
  const left = JSON.stringify(parts.filter((part) => !ignored.includes(part)))
  return failed(
    'provider',
    `${model} at ${host} ignores or refuses ${named.join(', ')}`,
    `Set providers.${provider}.takes.parts to ${left}.`,
  )
}
