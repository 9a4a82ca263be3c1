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
import type { ProviderOptions, Reached } from './provider-call.ts'
import type { ProviderSetting } from './provider-setting.ts'

/** How the node talks to a server. */
type Protocol = {
  /** The path of the API's root, from the path of a base URL as operators write it. */
  readonly rootOf: (path: string) => string
  /** The paths of models and completions, as the SDK takes them. */
  readonly paths: Readonly<Record<'models' | 'completions', string>>
  /** Loads the adapter and its SDK. Only the nodes that use it need them. */
  readonly load: () => Promise<Adapter>
}

type Adapter = {
  readonly create: (options: ProviderOptions) => InferenceProvider
  readonly clientOf: (reached: Reached) => RequestBuilder
}

/** An SDK's client, as far as the probe uses it. */
type RequestBuilder = {
  readonly buildRequest: (options: {
    readonly method: 'get' | 'post'
    readonly path: string
    readonly body?: object
  }) => Promise<{ readonly req: RequestInit; readonly url: string }>
}

/** Each API with its adapter. */
const protocols: Readonly<Record<ProviderApi, Protocol>> = {
  openai: {
    rootOf: (path) => path || '/v1',
    paths: { models: '/models', completions: '/chat/completions' },
    load: async () => {
      const { createOpenAi: create, openAiClient: clientOf } = await import('./openai.ts')
      return { create, clientOf }
    },
  },
  anthropic: {
    rootOf: (path) => `${path.replace(/\/v1$/, '')}/v1`,
    paths: { models: '/v1/models', completions: '/v1/messages' },
    load: async () => {
      const { createAnthropic: create, anthropicClient: clientOf } = await import('./anthropic.ts')
      return { create, clientOf }
    },
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
  // Without a lone `?` or `#`, which would take the SDKs' paths into the query or the fragment.
  const { origin, pathname } = new URL(baseUrl)
  return {
    ...protocol,
    name,
    /** The root of its API. */
    baseUrl: `${origin}${protocol.rootOf(pathname.replace(/\/+$/, ''))}`,
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
