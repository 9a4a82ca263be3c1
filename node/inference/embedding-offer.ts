import type { Fetch } from '../../lib/api.ts'
import type { Clock } from '../../lib/clock.ts'
import type { ComparatorId } from '../../lib/codecs.ts'
import { comparators } from '../../lib/comparators/all.ts'
import type { Embed } from '../../lib/comparators/comparator.ts'
import { embeddingModel } from '../../lib/comparators/semantic/embedding-model.ts'
import type { Config, Environment } from '../config.ts'
import type { Log } from '../log.ts'
import { findProvider, keyOf, type ProviderSettings } from './providers.ts'

/** The embedding model for `semantic/1`; undefined without a key for it. */
export async function offerEmbedding(
  config: EmbeddingConfig,
  environment: Environment,
  clock: Clock,
  log: Pick<Log, 'debug'>,
  fetch?: Fetch,
): Promise<Embed | undefined> {
  // The key of another server that speaks OpenAI's language must not be shown to OpenAI.
  const { embedding_base_url: baseUrl, providers } = config
  const isOwnKey = providers[embeddingModel.provider]?.base_url === undefined
  const apiKey =
    environment.SVC_EMBEDDING_API_KEY ||
    (isOwnKey || baseUrl !== undefined
      ? keyOf(findProvider(embeddingModel.provider, config), environment)
      : undefined)
  if (!apiKey) return undefined
  // The SDK is loaded only by the nodes that use it.
  const { createEmbedding } = await import('./embedding.ts')
  return createEmbedding({ apiKey, baseUrl, clock, log, ...(fetch && { fetch }) })
}

type EmbeddingConfig = Pick<Config, 'embedding_base_url'> & ProviderSettings

/** The comparators that a node can work by, with or without an embedding model. */
export const comparatorsWith = (embed: Embed | undefined): readonly ComparatorId[] =>
  Object.values(comparators)
    .filter(({ needsEmbedding }) => !needsEmbedding || embed !== undefined)
    .map(({ id }) => id)
