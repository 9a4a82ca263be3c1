import { z } from 'zod'
import { withDeadline } from '../../../lib/deadline.ts'
import { readLimited } from '../../../lib/read-limited.ts'
import type { Config } from '../../config.ts'
import type { ProviderName } from '../../inference/provider.ts'
import { keyVariables, withDefaultPath } from '../../inference/provider-call.ts'
import type { Check } from '../checks.ts'
import type { CommandContext } from '../context.ts'
import { failed, ok, skipped } from './check.ts'

const attemptMs = 15_000
const maxListBytes = 4 * 1_048_576
const costsNothing = 'looking it up costs nothing'

const Model = z.object({ id: z.string() })
const ModelList = z.object({
  data: z.array(Model),
  has_more: z.boolean().optional(),
})

/** Whether a model's provider takes the key and knows the model, asked without running it. */
export async function checkModel(
  modelId: string,
  config: Pick<Config, 'openai_base_url' | 'anthropic_base_url'>,
  context: CommandContext,
): Promise<Check> {
  const name = 'provider'
  const provider: ProviderName = modelId.startsWith('openai:') ? 'openai' : 'anthropic'
  const variable = keyVariables[provider]
  const key = context.environment[variable]
  if (!key) {
    return failed(name, `${modelId} is not offered: there is no key`, `Set ${variable}.`)
  }
  const model = modelId.slice(provider.length + 1)
  const base = modelsUrl(provider, config)
  const { host } = new URL(base)
  try {
    const single = await ask(`${base}/${encodeURIComponent(model)}`, provider, key, context)
    // It may be known under another name: an alias.
    if (single.status === 200 && Model.safeParse(single.body).success) {
      return ok(name, `${host} has ${model}; ${costsNothing}`)
    }
    // Servers that speak the protocol often only list.
    const answer = [200, 404].includes(single.status)
      ? await ask(base, provider, key, context)
      : single
    return checkResponse(answer, { modelId, model, host, variable })
  } catch {
    const remedy = 'Check the network, the base URL, and whether the provider is up.'
    return failed(name, `${host} cannot be reached for ${modelId}`, remedy, true)
  }
}

function modelsUrl(
  provider: ProviderName,
  config: Pick<Config, 'openai_base_url' | 'anthropic_base_url'>,
): string {
  const { openai_base_url: openai, anthropic_base_url: anthropic } = config
  if (provider === 'openai') {
    return `${withDefaultPath(openai ?? 'https://api.openai.com', '/v1')}/models`
  }
  return `${(anthropic ?? 'https://api.anthropic.com').replace(/\/v1$/, '')}/v1/models`
}

type Answer = { readonly status: number; readonly body: unknown }

async function ask(
  url: string,
  provider: ProviderName,
  key: string,
  { fetch, clock }: CommandContext,
): Promise<Answer> {
  const headers =
    provider === 'openai'
      ? { authorization: `Bearer ${key}` }
      : { 'x-api-key': key, 'anthropic-version': '2023-06-01' }
  const late = () => new Error('the provider is slow')
  return await withDeadline(clock, attemptMs, undefined, late, async (signal) => {
    // The key is for this host: it does not follow a redirect elsewhere.
    const response = await fetch(new Request(url, { headers, redirect: 'error', signal }))
    const bytes = await readLimited(response, maxListBytes)
    return { status: response.status, body: parseJson(bytes) }
  })
}

function parseJson(bytes: Uint8Array | undefined): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes))
  } catch {
    return undefined
  }
}

function checkResponse(
  { status, body }: Answer,
  asked: {
    readonly modelId: string
    readonly model: string
    readonly host: string
    readonly variable: string
  },
): Check {
  const name = 'provider'
  const { modelId, model, host, variable } = asked
  if (status === 401 || status === 403) {
    const remedy = `Check ${variable}: the provider refuses this key.`
    return failed(name, `${host} refuses the key for ${modelId} (status ${status})`, remedy)
  }
  if (status === 429 || status >= 500) {
    const remedy = "Wait, and look at the provider's status page and rate limits."
    return failed(name, `${host} answers with status ${status} for ${modelId}`, remedy, true)
  }
  const list = ModelList.safeParse(body)
  if (status === 200 && !list.success) {
    const remedy = 'Check the base URL, and that no proxy or login page answers in its place.'
    return failed(name, `${host} answers in no provider's form for ${modelId}`, remedy)
  }
  if (status !== 200 || !list.success) {
    return skipped(name, `${host} lists no models; trying ${model} out would cost tokens`)
  }
  if (list.data.data.some(({ id }) => id === model)) {
    return ok(name, `${host} has ${model}; ${costsNothing}`)
  }
  const remedy = `Correct supported_model_ids (SVC_SUPPORTED_MODEL_IDS), or ask for access to ${model}.`
  return failed(name, `${host} does not know ${modelId} with this key`, remedy)
}
