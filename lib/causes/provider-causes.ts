import type { Cause } from './cause.ts'

/** Causes for which a provider gives a node no answer. */
export const providerCauses = {
  'provider-key-refused': {
    who: 'node operator',
    what: "the provider refused the node's API key",
    remedy: 'set {key} to a key that the provider accepts',
  },
  'provider-model-unknown': {
    who: 'node operator',
    what: 'the provider does not know the model {model}',
    remedy: 'correct the name in supported_model_ids, or take the model out',
  },
  'provider-rate-limited': {
    who: 'node operator',
    what: "the provider's rate limit for the node is used up",
    remedy: 'ask the provider for a higher rate limit, or lower max_concurrent_jobs',
    passes: true,
  },
  'provider-quota-used-up': {
    who: 'node operator',
    what: "the node's account at the provider has no credit left",
    remedy: 'add credit to the account of {key}',
  },
  'provider-refused': {
    who: 'client',
    what: 'the provider refused the request',
    remedy: 'check the prompt and the parameters: the prompt may be too long for {model}',
    sameAnywhere: true,
  },
  'provider-unreachable': {
    who: 'node operator',
    what: 'the node cannot connect to the provider',
    remedy: "check the node's network and the base URL of the provider",
    passes: true,
  },
  'provider-unavailable': {
    who: 'provider',
    what: 'the provider returned a server error',
    remedy: 'wait for the provider to recover (see its status page), then try again',
    passes: true,
  },
  'provider-silent': {
    who: 'provider',
    what: 'the provider gave no whole answer in the time allowed',
    remedy: 'allow fewer output tokens, or use a faster provider',
    passes: true,
  },
  'provider-protocol-wrong': {
    who: 'node operator',
    what: "the provider's answer is not of its protocol",
    remedy: 'check the base URL: a login page, a proxy or another service may answer there',
    passes: true,
  },
  'provider-answer-empty': {
    who: 'client',
    what: 'the model gave an empty answer',
    remedy:
      'change the prompt, or allow more output tokens: the model may have spent them on thinking',
    sameAnywhere: true,
  },
  'provider-answer-too-large': {
    who: 'provider',
    what: "the provider's answer is larger than any output may be",
    remedy:
      'check that the base URL leads to the provider, which has to keep to the limit of output tokens',
    sameAnywhere: true,
  },
} as const satisfies Readonly<Record<string, Cause>>
