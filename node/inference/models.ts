import { remedyFor } from '../../lib/causes.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Fetch } from '../../lib/outgoing.ts'
import type { Takes } from '../../lib/prompt-needs.ts'
import { modelNameOf, providerNameOf, takenBy } from '../../lib/providers.ts'
import type { WithdrawalReason } from '../../lib/schemas/nodes.ts'
import type { Environment } from '../environment.ts'
import type { Log } from '../log.ts'
import type { InferenceProvider } from './provider.ts'
import { ProviderError } from './provider-call.ts'
import { findProvider, keyOf, type Provider, type ProviderSettings } from './providers.ts'

/** A model that this node serves. */
export type OfferedModel = {
  readonly provider: InferenceProvider
  readonly model: string
  /** The parts and sizes of prompts that it takes, a short conversation if left out. */
  readonly takes?: Takes
}

/** The models that this node serves, by model id. */
export type OfferedModels = ReadonlyMap<string, OfferedModel>

/** Why a model is not offered, and for how many more milliseconds if the provider said so. */
export type Withdrawal = {
  readonly reason: WithdrawalReason
  readonly leftMs: () => number | undefined
}

/** Which of the models that this node serves it offers for new jobs. */
export type Offer = {
  /** Changes while the node runs. */
  readonly now: OfferedModels
  /** The models that it took back, and why. */
  readonly withdrawn: ReadonlyMap<string, Withdrawal>
  /** Has `tell` called after each change. */
  readonly onChange: (tell: () => void) => void
}

/** A model that cannot be served because its provider's key variable is not set. */
export type MissingKey = { readonly modelId: string; readonly variable: string }

/**
 * Makes the providers of the configured models. A model whose provider lacks the key that it needs is not offered. `keyless` has these,
 * for a job that the ICL offered before: their inference fails with a provider error (spec 7).
 */
export async function offerModels(
  config: ProviderSettings & { readonly supported_model_ids: readonly string[] },
  environment: Environment,
  clock: Clock,
  log: Pick<Log, 'debug'>,
  fetch?: Fetch,
): Promise<{
  readonly models: OfferedModels
  readonly keyless: OfferedModels
  readonly missingKeys: readonly MissingKey[]
}> {
  const models = new Map<string, OfferedModel>()
  const keyless = new Map<string, OfferedModel>()
  const missingKeys: MissingKey[] = []
  const made = new Map<string, InferenceProvider>()
  for (const modelId of config.supported_model_ids) {
    const found = findProvider(providerNameOf(modelId), config)
    const { name, keyVariable, needsKey } = found
    const apiKey = keyOf(found, environment)
    const setting = config.providers[name]
    const takes = { ...takenBy(modelId, setting?.teacher), ...setting?.takes }
    const model = modelNameOf(modelId)
    if (needsKey && !apiKey) {
      missingKeys.push({ modelId, variable: keyVariable })
      keyless.set(modelId, { provider: withoutKey(found), model, takes })
      continue
    }
    const options = { ...found, apiKey, clock, log, ...(fetch && { fetch }) }
    const provider = made.get(name) ?? (await found.load()).create(options)
    made.set(name, provider)
    models.set(modelId, { provider, model, takes })
  }
  return { models, keyless, missingKeys }
}

const withoutKey = ({ name, keyVariable }: Provider): InferenceProvider => ({
  complete: async ({ model }) => {
    const code = 'provider-key-missing'
    const hint = remedyFor('node operator', code, `${name}:${model}`, keyVariable)
    const why = `provider ${name} was not asked: ${keyVariable} is not set`
    throw new ProviderError(code, why, { hint, askedWaitMs: undefined })
  },
})
