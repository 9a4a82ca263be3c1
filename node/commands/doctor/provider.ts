import type { Check } from '../../../lib/host/checks.ts'
import { checking, failed, ok, skipped } from '../../../lib/host/checks.ts'
import { modelNameOf, providerNameOf } from '../../../lib/providers.ts'
import { offerModels } from '../../inference/models.ts'
import { knowsModel, probeProvider } from '../../inference/probe.ts'
import { findProvider, keyOf, type Provider } from '../../inference/providers.ts'
import type { CommandContext } from '../context.ts'
import { tryModel } from './try-model.ts'

const name = 'provider'

/** Checks that each model's provider responds, takes the key and knows the model. Runs the models only if told so. */
export async function checkModels(
  config: Parameters<typeof offerModels>[0],
  context: CommandContext,
  tries: boolean,
): Promise<readonly Check[]> {
  const probes = new Map<string, ReturnType<typeof probeProvider>>()
  return await Promise.all(
    config.supported_model_ids.map((modelId) =>
      checking(name, async () => {
        const provider = findProvider(providerNameOf(modelId), config)
        const key = keyOf(provider, context.environment)
        if (provider.needsKey && key === undefined) {
          const remedy = `Set ${provider.keyVariable}.`
          return failed(name, `${modelId} is not offered: there is no key`, remedy)
        }
        const probe = probes.get(provider.name) ?? probeProvider(provider, key, context)
        probes.set(provider.name, probe)
        const found = await checkModel(provider, modelNameOf(modelId), await probe, context)
        if (!tries || found.status === 'failed') return found
        const own = { ...config, supported_model_ids: [modelId] }
        const { environment, clock, fetch } = context
        const { models } = await offerModels(own, environment, clock, { debug: () => {} }, fetch)
        const model = models.get(modelId)
        return model ? await tryModel(provider, model, clock) : found
      }),
    ),
  )
}

async function checkModel(
  provider: Provider,
  model: string,
  listed: readonly string[] | undefined,
  context: CommandContext,
): Promise<Check> {
  const { host } = new URL(provider.baseUrl)
  const key = keyOf(provider, context.environment)
  // The provider may know it under an alias, or list it on a later page.
  if (listed?.includes(model) || (await knowsModel(provider, model, key, context))) {
    return ok(name, `${host} has ${model}; it was not run (--try: costs tokens)`)
  }
  if (listed === undefined) {
    return skipped(name, `${host} lists no models; ${model} was not run (--try: costs tokens)`)
  }
  const remedy = `Correct supported_model_ids (SVC_SUPPORTED_MODEL_IDS), or ask for access to ${model}.`
  return failed(name, `${host} does not know ${provider.name}:${model} with this key`, remedy)
}
