import {
  baseUrlVariable,
  builtIn,
  builtInNames,
  defaultKeyVariable,
  type ProviderApi,
  providerNameOf,
} from '../../lib/providers.ts'
import { SvcError } from '../../lib/svc-error.ts'
import type { Environment } from '../environment.ts'
import type { InferenceProvider } from './provider.ts'
import type { ProviderOptions } from './provider-call.ts'
import type { ProviderSetting } from './provider-setting.ts'

/** How the node talks to a server. */
type Protocol = {
  /** The root of the API, from a base URL as operators write it. */
  readonly rootOf: (baseUrl: string) => string
  /** The path for completions, below the root. Models are listed at `/models`. */
  readonly completions: `/${string}`
  readonly headersOf: (apiKey: string) => Readonly<Record<string, string>>
  /** Loads the adapter and its SDK. Only the nodes that use it need them. */
  readonly load: () => Promise<(options: ProviderOptions) => InferenceProvider>
}

/** Each API with its adapter. */
const protocols: Readonly<Record<ProviderApi, Protocol>> = {
  openai: {
    rootOf: (baseUrl) => {
      const { pathname, origin } = new URL(baseUrl)
      return pathname === '/' ? `${origin}/v1` : baseUrl
    },
    completions: '/chat/completions',
    headersOf: (apiKey) => ({ authorization: `Bearer ${apiKey}` }),
    load: async () => (await import('./openai.ts')).createOpenAi,
  },
  anthropic: {
    rootOf: (baseUrl) => `${baseUrl.replace(/\/v1$/, '')}/v1`,
    completions: '/messages',
    headersOf: (apiKey) => ({ 'x-api-key': apiKey, 'anthropic-version': '2023-06-01' }),
    load: async () => (await import('./anthropic.ts')).createAnthropic,
  },
}

/** A provider, as this node is configured to reach it. */
export type Provider = ReturnType<typeof findProvider>

/** The part of the configuration that describes providers. */
export type ProviderSettings = {
  readonly providers: Readonly<Record<string, ProviderSetting>>
}

/** Returns the provider with that name. Throws SvcError `provider-unknown` that names the known ones. */
export function findProvider(name: string, { providers }: ProviderSettings) {
  const known = Object.hasOwn(builtIn, name) ? builtIn[name] : undefined
  const settings: Partial<ProviderSetting> = providers[name] ?? {}
  const { base_url: given, api_key_env: variable } = settings
  const baseUrl = given ?? known?.baseUrl
  if (baseUrl === undefined) {
    throw new SvcError('provider-unknown', unknownProviderText(name, Object.keys(providers)), {
      hint: 'Correct the model id, or set the base URL.',
    })
  }
  const protocol = protocols[known?.api ?? 'openai']
  return {
    ...protocol,
    name,
    /** The root of its API. */
    baseUrl: protocol.rootOf(baseUrl),
    /** The environment variable that holds its key. */
    keyVariable: variable ?? defaultKeyVariable(name),
    /** False for a server that works without a key. */
    needsKey: known?.needsKey === true || variable !== undefined,
    /** The API that returns log-probabilities of a given text, undefined if it has none. */
    teacher: settings.teacher ?? known?.teacher,
  }
}

/** Returns the providers of all models, each once. */
export const providersOf = (
  modelIds: readonly string[],
  settings: ProviderSettings,
): readonly Provider[] =>
  [...new Set(modelIds.map(providerNameOf))].map((name) => findProvider(name, settings))

/** Returns the key of a provider, undefined when none is set. */
export const keyOf = ({ keyVariable }: Provider, environment: Environment): string | undefined =>
  environment[keyVariable] || undefined

/** Says that a provider is not configured, and what to do. */
export const unknownProviderText = (name: string, configured: readonly string[]): string =>
  `the provider ${name} is not known. Known are ${[...new Set([...builtInNames, ...configured])].join(', ')}. ` +
  `For an OpenAI-compatible server set its base URL: ${baseUrlVariable(name)}, or providers.${name}.base_url`
