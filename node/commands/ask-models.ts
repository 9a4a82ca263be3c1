import { explainError } from '../../lib/host/explain-error.ts'
import {
  baseUrlVariable,
  builtIn,
  builtInNames,
  defaultKeyVariable,
  providerNameOf,
} from '../../lib/providers.ts'
import { isKeyRefused, probeProvider } from '../inference/probe.ts'
import { findProvider, keyOf, type ProviderSettings } from '../inference/providers.ts'
import { askAddress, mistakeIn, tried } from './ask-address.ts'
import type { CommandContext } from './context.ts'
import type { Prompts } from './prompts.ts'

/** Base URLs of servers that are not built-in providers, by name. */
export type Servers = Readonly<Record<string, { readonly base_url: string }>>

const other = 'other'
const shownModels = 8

/** Asks where the models run, and for their names. Probes a server that is not a built-in provider at once. */
export async function askModels(
  prompts: Prompts,
  context: CommandContext,
): Promise<{ readonly supported_model_ids: string; readonly providers: Servers | undefined }> {
  const { environment } = context
  const hintOf = (name: string) => {
    const variable = defaultKeyVariable(name)
    return `${variable} is ${environment[variable] ? 'set' : 'not set'}`
  }
  const chosen = await prompts.select('Where do the models run?', [
    ...Object.entries(builtIn).map(([name, { label }]) => ({
      ...{ value: name, label, hint: hintOf(name) },
    })),
    {
      ...{ value: other, label: 'another OpenAI-compatible server' },
      hint: 'vLLM, Ollama, OpenRouter, Mistral, ...',
    },
  ])
  const server = chosen === other ? await askServer(prompts, context) : undefined
  const name = server?.name ?? chosen
  const providers = server && { [server.name]: { base_url: server.baseUrl } }
  const suggested = server ? server.models : (builtIn[name]?.models ?? [])
  const known = [...builtInNames, name]
  const qualified = (text: string) =>
    text
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== '')
      .map((part) => (known.includes(providerNameOf(part)) ? part : `${name}:${part}`))
      .join(',')
  const models = await prompts.text({
    message: 'Models to serve, comma separated',
    ...(suggested.length > 0
      ? { otherwise: suggested.slice(0, 2).join(',') }
      : { placeholder: 'llama3:8b' }),
    check: (text) =>
      mistakeIn(
        { supported_model_ids: qualified(text), ...(providers && { providers }) },
        environment,
      ),
  })
  return { supported_model_ids: qualified(models), providers }
}

/** Asks for the name and the address of a server, until it responds or the operator insists on the address. */
async function askServer(prompts: Prompts, context: CommandContext) {
  const settingsOf = (name: string, base_url: string) => ({ providers: { [name]: { base_url } } })
  const name = await prompts.text({
    message: 'A name for it, which stands before its models as in NAME:MODEL',
    placeholder: 'ollama',
    check: (text) =>
      builtInNames.includes(text)
        ? 'is a built-in provider'
        : mistakeIn(settingsOf(text, 'https://host.example/v1')),
  })
  const question = {
    message: `Base URL of ${name}`,
    placeholder: 'http://127.0.0.1:11434/v1',
    field: 'providers',
    given: context.environment[baseUrlVariable(name)] || undefined,
    check: (url: string) => mistakeIn(settingsOf(name, url)),
  }
  const { address, result } = await askAddress(prompts, question, (baseUrl) =>
    tried(prompts, `Asking ${baseUrl}`, (signal) =>
      modelsAt(settingsOf(name, baseUrl), name, prompts, context, signal),
    ),
  )
  return { name, baseUrl: address, models: result ?? [] }
}

async function modelsAt(
  settings: { readonly providers: Servers },
  name: string,
  prompts: Prompts,
  context: CommandContext,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const provider = findProvider(name, settings as ProviderSettings)
  const key = keyOf(provider, context.environment)
  try {
    const models = (await probeProvider(provider, key, context, signal)) ?? []
    const more = models.length > shownModels ? ', ...' : ''
    if (models.length > 0) prompts.say(`It has ${models.slice(0, shownModels).join(', ')}${more}`)
    return models
  } catch (error) {
    if (key !== undefined || !isKeyRefused(error)) throw error
    prompts.say(explainError(error).hint ?? '')
    return []
  }
}
