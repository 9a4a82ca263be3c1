import type { Fetch } from '../../lib/api.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Config, Environment } from '../config.ts'
import type { Log } from '../log.ts'
import type { InferenceProvider, ProviderName } from './provider.ts'
import { keyVariables, type ProviderOptions } from './provider-call.ts'

/** A model that this node serves. */
type OfferedModel = { readonly provider: InferenceProvider; readonly model: string }

/** The models that this node serves, by model id. */
export type OfferedModels = ReadonlyMap<string, OfferedModel>

/** A model that cannot be served because its provider's key variable is not set. */
export type MissingKey = { readonly modelId: string; readonly variable: string }

/** Makes the providers of the configured models; a model without a provider key is not offered (spec 7). */
export async function offerModels(
  config: Pick<Config, 'supported_model_ids' | 'openai_base_url' | 'anthropic_base_url'>,
  environment: Environment,
  clock: Clock,
  log: Pick<Log, 'debug'>,
  fetch?: Fetch,
): Promise<{ readonly models: OfferedModels; readonly missingKeys: readonly MissingKey[] }> {
  const models = new Map<string, OfferedModel>()
  const missingKeys: MissingKey[] = []
  const made = new Map<ProviderName, InferenceProvider>()
  const baseUrls = { openai: config.openai_base_url, anthropic: config.anthropic_base_url }
  for (const modelId of config.supported_model_ids) {
    const name: ProviderName = modelId.startsWith('openai:') ? 'openai' : 'anthropic'
    const variable = keyVariables[name]
    const apiKey = environment[variable]
    if (!apiKey) {
      missingKeys.push({ modelId, variable })
      continue
    }
    const options = { apiKey, baseUrl: baseUrls[name], clock, log, ...(fetch && { fetch }) }
    const provider = made.get(name) ?? (await createProvider(name, options))
    made.set(name, provider)
    models.set(modelId, { provider, model: modelId.slice(name.length + 1) })
  }
  return { models, missingKeys }
}

async function createProvider(
  name: ProviderName,
  options: ProviderOptions,
): Promise<InferenceProvider> {
  // Each SDK is loaded only by the nodes that use it.
  if (name === 'openai') return (await import('./openai.ts')).createOpenAi(options)
  return (await import('./anthropic.ts')).createAnthropic(options)
}
