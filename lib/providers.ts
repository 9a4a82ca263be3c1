/*
 * Each provider that svc-node knows is an entry of `builtIn`, which names the provider's API. `node/inference/providers.ts` has an adapter
 * for each API. Configuration, `doctor`, `init`, `status`, the daemon and the demo read the entry and name no provider. Any other name is
 * an OpenAI-compatible server, and the configuration must give its base URL.
 */

import type { Takes } from './prompt-needs.ts'
import { PromptPart } from './schemas/prompt-needs.ts'

/** The API of a provider. */
export type ProviderApi = 'openai' | 'anthropic'

/** How an OpenAI-compatible server returns the likelihood of a given text's tokens: vLLM's way, or with the prompt in its reply. */
export const teacherApis = ['prompt_logprobs', 'echo'] as const
export type TeacherApi = (typeof teacherApis)[number]

type ModelLimit = {
  readonly models: RegExp
  readonly lacks?: readonly PromptPart[]
  readonly promptBytes?: number
  readonly outputTokens?: number
}

/** The part of a model whose provider returns the likelihood of a given text (lib/teacher.ts). */
const teacherPart = 'teacher' satisfies PromptPart

/** The parts of a prompt that each API supports. */
const partsOfApi: Readonly<Record<ProviderApi, readonly PromptPart[]>> = {
  openai: PromptPart.options.filter((part) => part !== teacherPart),
  anthropic: ['json_schema', 'parallel_tool_calls', 'reasoning_effort', 'stop', 'tools'],
}

type BuiltIn = {
  /** The name for people. */
  readonly label: string
  readonly baseUrl: string
  readonly api: ProviderApi
  /** Models that `init` suggests and the demo's stand-in serves. */
  readonly models: readonly [string, ...string[]]
  /** False for a server that needs no key. */
  readonly needsKey: boolean
  readonly teacher?: TeacherApi
  /** What some of its models do not take of a prompt, as the provider documents. */
  readonly limits: readonly ModelLimit[]
  /** Models that cannot be asked for their likeliest answer, so that the wording differs between calls. */
  readonly onlySamples?: RegExp
}

/** The providers that need no base URL, by name. */
export const builtIn: Readonly<Record<string, BuiltIn>> = {
  openai: {
    label: 'OpenAI',
    baseUrl: 'https://api.openai.com/v1',
    api: 'openai',
    models: ['gpt-4o-mini', 'gpt-4o'],
    needsKey: true,
    limits: [
      { models: /^(o\d|gpt-5)/, lacks: ['stop'] },
      { models: /^o\d/, lacks: ['parallel_tool_calls'] },
      { models: /^(?!o\d|gpt-5)/, lacks: ['reasoning_effort'] },
      {
        models: /^(gpt-3\.5|gpt-4(-|$)|gpt-4o-2024-05-13)/,
        lacks: ['json_schema'],
        outputTokens: 4_096,
      },
      // Its context is 8,192 tokens, for prompt and answer together.
      { models: /^gpt-4(-0\d{3}|$)/, lacks: ['json_object'], promptBytes: 8_192 },
    ],
    // Reasoning models refuse a temperature.
    onlySamples: /^(o\d|gpt-5)/,
  },
  anthropic: {
    label: 'Anthropic',
    baseUrl: 'https://api.anthropic.com/v1',
    api: 'anthropic',
    models: ['claude-sonnet-5-5', 'claude-haiku-4-5'],
    needsKey: true,
    limits: [
      { models: /^claude-(3|(opus|sonnet)-4-(0|20))/, lacks: ['json_schema'] },
      { models: /^claude-3-(opus|sonnet|haiku)/, outputTokens: 4_096 },
      {
        models: /^claude-(3|(opus|sonnet)-4-(0|1|20)|(sonnet|haiku)-4-5)/,
        lacks: ['reasoning_effort'],
      },
    ],
    onlySamples: /^/,
  },
  fireworks: {
    label: 'Fireworks',
    baseUrl: 'https://api.fireworks.ai/inference/v1',
    api: 'openai',
    models: ['accounts/fireworks/models/llama-v3p3-70b-instruct'],
    needsKey: true,
    teacher: 'echo',
    limits: [],
  },
  // Its documented reply has no likeliest tokens of a prompt. An operator who gets them sets `teacher`.
  together: {
    label: 'Together',
    baseUrl: 'https://api.together.xyz/v1',
    api: 'openai',
    models: ['meta-llama/Llama-3.3-70B-Instruct-Turbo'],
    needsKey: true,
    limits: [],
  },
  vllm: {
    label: 'vLLM',
    baseUrl: 'http://127.0.0.1:8000/v1',
    api: 'openai',
    models: ['Qwen/Qwen2.5-7B-Instruct'],
    needsKey: false,
    teacher: 'prompt_logprobs',
    limits: [],
  },
}

/** The names of the providers that need no base URL. */
export const builtInNames: readonly string[] = Object.keys(builtIn)

const variablePart = (name: string): string => name.toUpperCase().replaceAll('-', '_')

/** The environment variable that holds a provider's key unless `api_key_env` names another. */
export const defaultKeyVariable = (name: string): string => `${variablePart(name)}_API_KEY`

/** The environment variable that holds a provider's base URL. */
export const baseUrlVariable = (name: string): string => `SVC_${variablePart(name)}_BASE_URL`

/** The provider's name in a model id: all before the first colon, since model names may hold colons. */
export const providerNameOf = (modelId: string): string => modelId.slice(0, modelId.indexOf(':'))

/** The provider's own name for a model. */
export const modelNameOf = (modelId: string): string => modelId.slice(modelId.indexOf(':') + 1)

/** Returns what a model takes of a prompt unless its operator says otherwise; for a server not built in, all that its API supports. */
export function takenBy(modelId: string, given?: TeacherApi): Takes {
  const { api = 'openai', limits = [], teacher = given } = builtIn[providerNameOf(modelId)] ?? {}
  const own = limits.filter(({ models }) => models.test(modelNameOf(modelId)))
  const lacks = own.flatMap((limit) => limit.lacks ?? [])
  const least = (size: 'promptBytes' | 'outputTokens') => {
    const sizes = own.flatMap((limit) => limit[size] ?? [])
    return sizes.length === 0 ? undefined : Math.min(...sizes)
  }
  const [bytes, tokens] = [least('promptBytes'), least('outputTokens')]
  return {
    parts: PromptPart.options.filter(
      (part) =>
        (partsOfApi[api].includes(part) && !lacks.includes(part)) ||
        (part === teacherPart && api === 'openai' && teacher !== undefined),
    ),
    ...(bytes !== undefined && { max_prompt_bytes: bytes }),
    ...(tokens !== undefined && { max_output_tokens: tokens }),
  }
}

/** True for a known model whose wording varies. Agreement of its answers shows little beyond the topic. */
export const onlySamples = (modelId: string): boolean =>
  builtIn[providerNameOf(modelId)]?.onlySamples?.test(modelNameOf(modelId)) === true
