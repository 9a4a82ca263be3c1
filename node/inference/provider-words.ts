import type { ProviderCode } from './provider-fault.ts'

/** What providers call errors whose status may say something else. */
const names: Partial<Record<ProviderCode, readonly string[]>> = {
  'provider-prompt-too-long': [
    'context_length_exceeded',
    'context_window_exceeded',
    'exceed_context_size_error',
    'prompt_too_long',
    'request_too_large',
    'string_above_max_length',
    'tokens_limit_reached',
  ],
  'provider-quota-used-up': [
    'arrearage',
    'billing_error',
    'billing_hard_limit_reached',
    'billing_not_active',
    'budget_exceeded',
    'contract_spend_limit_reached',
    'enforced_spend_limit_reached',
    'exceeded_current_quota_error',
    'insufficient_balance',
    'insufficient_credits',
    'insufficient_quota',
  ],
  'provider-rate-limited': [
    'rate_limit_error',
    'rate_limit_exceeded',
    'rate_limited',
    'resource_exhausted',
    'throttlingexception',
    'too_many_requests',
  ],
  'provider-key-refused': [
    'accessdeniedexception',
    'api_key_invalid',
    'authentication_error',
    'invalid_api_key',
    'permission_denied',
    'permission_error',
    'unauthenticated',
  ],
  'provider-model-unknown': [
    'deploymentnotfound',
    'invalid_model',
    'model_decommissioned',
    'model_not_found',
    'model_terms_required',
    'not_found_error',
  ],
  'provider-refused': [
    'content_filter',
    'content_policy_violation',
    'responsibleaipolicyviolation',
  ],
}

/** Returns the cause that one of an error's names says. Want of credit comes before a rate limit, which may be its type. */
export const namedCause = (given: readonly string[]): ProviderCode | undefined =>
  Object.entries(names)
    .find(([, all]) => given.some((name) => all.includes(name.toLowerCase())))
    ?.at(0) as ProviderCode | undefined

/** How errors begin whose names and status say something more general. */
const beginnings: readonly (readonly [ProviderCode, RegExp])[] = [
  // Anthropic, DeepSeek.
  [
    'provider-quota-used-up',
    /^(your credit balance is too low|insufficient (credit|balance|fund)|you have reached your specified api usage limits)/i,
  ],
  // DeepSeek, OpenRouter.
  ['provider-model-unknown', /^(model not exist|\S{1,256} is not a valid model id$)/i],
  // Google.
  ['provider-key-refused', /^user location is not supported/i],
  // OpenRouter, with status 404.
  ['prompt-not-supported', /^no endpoints found that (support|can handle)/i],
]

/** Returns the cause that the first words of an error say. */
export const begunCause = (words: string): ProviderCode | undefined =>
  beginnings.find(([, pattern]) => pattern.test(words))?.[0]

/** How providers say that a prompt, or a prompt with its answer, does not fit. */
const tooLong = [
  // OpenAI, vLLM, DeepSeek, Groq, xAI, Mistral, Fireworks.
  /maximum (context|prompt|model) length/,
  /^max_(completion_)?tokens must be at least 1, got -/,
  /reduce the length of the (messages|prompt|input)/,
  // Mistral, LM Studio, Ollama.
  /(too large for model|greater than|exceeds|exceeded).{0,60}\bcontext (length|size|window)/,
  // llama.cpp.
  /exceeds? the available context/,
  // Anthropic, Ollama, Bedrock.
  /\b(prompt|input) is too long|^prompt too long/,
  /exceed context limit/,
  // Google, Cohere, Together.
  /input token count .{0,40}exceeds|maximum number of tokens allowed/,
  /number of tokens in the prompt cannot exceed/,
  /tokens \+ .{0,40}max_new_tokens.{0,20} must be <=/,
]

/** True for words that say that a prompt, or a prompt with its answer, is longer than the model's context. */
export const isTooLongIn = (words: string): boolean =>
  tooLong.some((pattern) => pattern.test(words.toLowerCase()))
