import { type Cause, client, nodeOperator, passes, provider, sameAnywhere } from './cause.ts'

/** Causes for which a provider gives a node no answer. */
export const providerCauses = {
  'provider-key-missing': nodeOperator(
    'the node has no API key for the provider of {model}',
    'set {key}, and restart the node',
  ),
  'provider-key-refused': nodeOperator(
    "the provider refused the node's API key",
    'set {key} to a key that the provider accepts',
  ),
  'provider-model-unknown': nodeOperator(
    'the provider does not know the model {model}',
    'correct the name in supported_model_ids, or take the model out',
  ),
  'provider-rate-limited': nodeOperator(
    "the provider's rate limit for the node is used up",
    'ask the provider for a higher rate limit, or lower max_concurrent_jobs',
    passes,
  ),
  'provider-quota-used-up': nodeOperator(
    "the node's account at the provider has no credit left",
    'add credit to the account of {key}',
  ),
  'provider-prompt-too-long': client(
    'the prompt and its answer are longer than the context of the model {model}',
    'shorten the conversation, allow fewer output tokens, or choose a model with a longer context',
    sameAnywhere,
  ),
  'provider-refused': client(
    'the provider or its model refused the request',
    'change the prompt or the parameters: they may be against the rules of the provider',
    sameAnywhere,
  ),
  'provider-unreachable': nodeOperator(
    'the node cannot connect to the provider',
    "check the node's network and the base URL of the provider",
    passes,
  ),
  'provider-unavailable': provider(
    'the provider returned a server error',
    'wait for the provider to recover (see its status page), then try again',
    passes,
  ),
  'provider-silent': provider(
    'the provider gave no whole answer in the time allowed',
    'allow fewer output tokens, or use a faster provider',
    passes,
  ),
  'provider-protocol-wrong': nodeOperator(
    "the provider's answer is not of its protocol",
    'check the base URL: a login page, a proxy or another service may answer there',
    passes,
  ),
  'provider-answer-empty': client(
    'the model gave an empty answer',
    'change the prompt, or allow more output tokens: the model may have spent them on thinking',
    sameAnywhere,
  ),
  'provider-answer-too-large': provider(
    "the provider's answer is larger than any output may be",
    'check that the base URL leads to the provider, which has to keep to the limit of output tokens',
    sameAnywhere,
  ),
} as const satisfies Readonly<Record<string, Cause>>
