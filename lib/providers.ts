/*
 * Every provider that svc-node knows is one entry of `builtIn`. It names the API that the provider speaks; `node/inference/providers.ts` has
 * an adapter for each API. Configuration, `doctor`, `init`, `status`, the daemon and the demo read the entry and name no provider. Any other
 * name is an OpenAI-compatible server, which the configuration has to give a base URL.
 */

/** How a provider is spoken to. */
export type ProviderApi = 'openai' | 'anthropic'

type BuiltIn = {
  /** What people call it. */
  readonly label: string
  readonly baseUrl: string
  readonly api: ProviderApi
  /** Models that `init` suggests and the demo's stand-in plays. */
  readonly models: readonly [string, ...string[]]
  /** Models of which no call can ask for the likeliest answer: their wording differs from call to call. */
  readonly onlySamples?: RegExp
}

/** The providers that need no base URL, by name. */
export const builtIn: Readonly<Record<string, BuiltIn>> = {
  openai: {
    label: 'OpenAI',
    baseUrl: 'https://api.openai.com/v1',
    api: 'openai',
    models: ['gpt-4o-mini', 'gpt-4o'],
    // The reasoning models refuse a temperature.
    onlySamples: /^(o\d|gpt-5)/,
  },
  anthropic: {
    label: 'Anthropic',
    baseUrl: 'https://api.anthropic.com/v1',
    api: 'anthropic',
    models: ['claude-sonnet-4-5', 'claude-haiku-4-5'],
    onlySamples: /^/,
  },
}

/** The names of the providers that need no base URL. */
export const builtInNames: readonly string[] = Object.keys(builtIn)

const variablePart = (name: string): string => name.toUpperCase().replaceAll('-', '_')

/** The environment variable that holds a provider's key unless `api_key_env` names another. */
export const defaultKeyVariable = (name: string): string => `${variablePart(name)}_API_KEY`

/** The environment variable that holds a provider's base URL. */
export const baseUrlVariable = (name: string): string => `SVC_${variablePart(name)}_BASE_URL`

/** The provider's name in a model id: all before the first colon, since names of models have colons, too. */
export const providerNameOf = (modelId: string): string => modelId.slice(0, modelId.indexOf(':'))

/** The provider's own name for a model. */
export const modelNameOf = (modelId: string): string => modelId.slice(modelId.indexOf(':') + 1)

/** True for a known model whose answers vary in wording: that nodes agree on one says next to nothing beyond the topic. */
export const onlySamples = (modelId: string): boolean =>
  builtIn[providerNameOf(modelId)]?.onlySamples?.test(modelNameOf(modelId)) === true
