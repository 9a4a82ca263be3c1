import type { Client } from '../../lib/client/client.ts'
import { ModelId } from '../../lib/codecs.ts'
import { OpenAiError } from './openai-error.ts'

/** Other names for models: what a tool asks for, and the model that it gets. */
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

/** The models that a quorum serves now, in OpenAI's form, and the other names of those. */
export function listModels(served: ServedModels, map: ModelMap) {
  const ids = served.filter(({ nodes }) => nodes >= leastNodes).map(({ model_id }) => model_id)
  const names = [...map].filter(([, id]) => ids.includes(id)).map(([name]) => name)
  return {
    object: 'list' as const,
    data: [...ids, ...names].map((id) => ({
      id,
      object: 'model' as const,
      // Nobody knows when a model was made; it must not change from one list to the next.
      created: 0,
      owned_by: (map.get(id) ?? id).split(':')[0] ?? '',
    })),
  }
}

/** One model of the list; throws OpenAiError 404. */
export function findModel(served: ServedModels, map: ModelMap, id: string) {
  const found = listModels(served, map).data.find((model) => model.id === id)
  if (!found) throw missing(id)
  return found
}

/** The model that a name means: one of the map, `<provider>:<model>`, or the name alone of the only served model that has it; throws OpenAiError 404. */
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
