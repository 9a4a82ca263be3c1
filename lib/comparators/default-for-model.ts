import type { ComparatorId } from '../codecs.ts'
import type { Network } from '../schemas/network.ts'

/** What a model's API promises of its answers: that they hardly vary (temperature 0 and a seed), or nothing. */
type Decoding = 'steered' | 'sampled'

// These take no temperature: Anthropic's API has none, nor have OpenAI's models that reason.
const sampledModels = [/^anthropic:/, /^openai:(?:o\d|gpt-5)/] as const

// An embedding model is a third party that not every node has, so that no default may depend on it; who needs it asks for it.
const byDecoding: Readonly<Record<Decoding, ComparatorId>> = {
  steered: 'similar/1',
  sampled: 'similar/1',
}

/** True for a model that only samples: its answers to one prompt are seldom worded alike, so that `similar/1` is mostly inconclusive and `semantic/1` worth asking for. */
export const isSampled = (modelId: string): boolean =>
  sampledModels.some((pattern) => pattern.test(modelId))

/** The comparator of a job that names none: the operator's choice, else what suits the model. */
export const defaultComparator = (
  { default_comparator: chosen }: Pick<Network, 'default_comparator'>,
  modelId: string,
): ComparatorId => chosen ?? byDecoding[isSampled(modelId) ? 'sampled' : 'steered']
