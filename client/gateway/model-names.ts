import type { Client } from '../../lib/client/client.ts'
import { ModelId } from '../../lib/codecs.ts'
import { OpenAiError } from './openai-error.ts'

/** Other names for models, each with its model. */
export type ModelMap = ReadonlyMap<string, string>

type ServedModels = Awaited<ReturnType<Client['models']>>

const leastNodes = 3

const missing = (name: string): OpenAiError =>
  new OpenAiError(
    404,
    'invalid_request_error',
    `The model ${JSON.stringify(name)} is not served; GET /v1/models lists those that are`,
    {
      code: 'model_not_found',
      param: 'model',
    },
  )

/** Lists the models that a quorum serves, whether or not it offers them now, and their other names, in OpenAI's form. */
export function listModels(served: ServedModels, map: ModelMap) {
  const ids = served
    .filter(({ nodes, withdrawn = 0 }) => nodes + withdrawn >= leastNodes)
    .map(({ model_id }) => model_id)
  const names = [...map].filter(([, id]) => ids.includes(id)).map(([name]) => name)
  return {
    object: 'list' as const,
    data: [...ids, ...names].map((id) => ({
      id,
      object: 'model' as const,
      // The time of its making is not known, and must not change between lists.
      created: 0,
      owned_by: (map.get(id) ?? id).split(':')[0] ?? '',
    })),
  }
}

/** A model of the list in Anthropic's form. */
export const describeModel = ({
  id,
  created,
}: {
  readonly id: string
  readonly created: number
}) => ({
  id,
  type: 'model' as const,
  display_name: id,
  created_at: new Date(created * 1_000).toISOString(),
})

/** The list in Anthropic's form: one page with all of it. */
export function describeModels({ data }: ReturnType<typeof listModels>) {
  const [first, last] = [data.at(0), data.at(-1)].map((model) => model?.id ?? null)
  return { data: data.map(describeModel), has_more: false, first_id: first, last_id: last }
}

/** Returns one model of the list. Throws OpenAiError 404. */
export function findModel(served: ServedModels, map: ModelMap, id: string) {
  const found = listModels(served, map).data.find((model) => model.id === id)
  if (!found) throw missing(id)
  return found
}

/** Finds a model by its other name, its id, or its name without provider if only one served model has it. Throws OpenAiError 404. */
export async function resolveModel(
  name: string,
  map: ModelMap,
  served: () => Promise<ServedModels>,
): Promise<string> {
  const mapped = map.get(name)
  if (mapped !== undefined) return mapped
  const ids = (await served()).map(({ model_id }) => model_id)
  if (ids.includes(name)) return name
  // Models have colons in their own names, such as llama3:8b.
  const [only, ...others] = ids.filter((id) => id.slice(id.indexOf(':') + 1) === name)
  if (only !== undefined && others.length === 0) return only
  // The client says which models are served.
  if (only === undefined && ModelId.safeParse(name).success) return name
  throw missing(name)
}
