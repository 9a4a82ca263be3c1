import OpenAI from 'openai'
import { z } from 'zod'
import { remedyFor } from '../../lib/causes.ts'
import type { Embed } from '../../lib/comparators/comparator.ts'
import { embeddingModel } from '../../lib/comparators/semantic/embedding-model.ts'
import { withDeadline } from '../../lib/deadline.ts'
import { retrying } from '../../lib/retry.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { withDefaultPath } from './base-url.ts'
import { askedWaitMsOf, type ProviderOptions } from './provider-call.ts'
import { faultIn } from './provider-fault.ts'
import { providerFetch } from './provider-fetch.ts'

const officialBaseUrl = 'https://api.openai.com/v1'
const attempts = 3
const maxBackoffMs = 10_000

const Answer = z.object({
  data: z
    .array(
      z.object({
        embedding: z.array(z.number().min(-1_024).max(1_024)).length(embeddingModel.dimensions),
      }),
    )
    .length(1),
})

type EmbeddingOptions = Omit<ProviderOptions, 'name' | 'baseUrl' | 'apiKey' | 'keyVariable'> & {
  readonly apiKey: string
  /** OpenAI when left out. */
  readonly baseUrl?: string | undefined
}

/** The pinned embedding model at OpenAI or at any server that offers it; throws SvcError `embedding-refused` or `embedding-unavailable`. */
export function createEmbedding(options: EmbeddingOptions): Embed {
  const { clock, attemptMs = 20_000, firstBackoffMs = 1_000 } = options
  const baseUrl = options.baseUrl && withDefaultPath(options.baseUrl, '/v1')
  const client = new OpenAI({
    apiKey: options.apiKey,
    baseURL: baseUrl ?? officialBaseUrl,
    maxRetries: 0,
    timeout: attemptMs,
    // The SDK would print requests with answers in them.
    logLevel: 'off',
    fetch: providerFetch(options.fetch),
  })
  const policy = { attempts, firstDelayMs: firstBackoffMs, maxDelayMs: maxBackoffMs }
  const ask = async (input: string, signal: AbortSignal): Promise<readonly number[]> => {
    const { model } = embeddingModel
    const request = { model, input, encoding_format: 'float' as const }
    const parsed = Answer.safeParse(await client.embeddings.create(request, { signal }))
    const [first] = parsed.success ? parsed.data.data : []
    if (first) return first.embedding
    throw refused(`gave no vector of ${embeddingModel.dimensions} numbers`)
  }
  return async (text, signal) => {
    try {
      return await retrying(
        clock,
        policy,
        signal,
        (error) => waitMsOf(error, options),
        () => withDeadline(clock, attemptMs, signal, late, (ended) => ask(text, ended)),
      )
    } catch (error) {
      signal.throwIfAborted()
      throw error instanceof SvcError ? error : toSvcError(error)
    }
  }
}

/** Milliseconds to wait before another try, undefined when none is of use. */
function waitMsOf(error: unknown, { clock }: EmbeddingOptions): number | undefined {
  if (error instanceof SvcError) return error.retryable ? 0 : undefined
  if (!isPassing(error)) return undefined
  const waitMs = error instanceof OpenAI.APIError ? askedWaitMsOf(error.headers, clock) : undefined
  return waitMs !== undefined && waitMs > maxBackoffMs ? undefined : (waitMs ?? 0)
}

function isPassing(error: unknown): boolean {
  if (faultIn(error)?.code === 'provider-answer-too-large') return false
  if (!(error instanceof OpenAI.APIError)) return true
  const { status, code } = error
  if (code === 'insufficient_quota') return false
  return status === undefined || status === 408 || status === 409 || status === 429 || status >= 500
}

// The SDK's own words may quote the text.
function toSvcError(error: unknown): SvcError {
  const status = error instanceof OpenAI.APIError ? error.status : undefined
  const said = status === undefined ? 'gave no answer that can be read' : `answered ${status}`
  return isPassing(error) ? unavailable(said) : refused(said)
}

const late = (): SvcError => unavailable('gave no answer in time')

const unavailable = (said: string): SvcError =>
  new SvcError('embedding-unavailable', `the embedding API ${said}`, {
    hint: remedyFor('node operator', 'embedding-unavailable'),
    retryable: true,
  })

const refused = (said: string): SvcError =>
  new SvcError('embedding-refused', `the embedding API ${said}`, {
    hint: `Check SVC_EMBEDDING_API_KEY and SVC_EMBEDDING_BASE_URL: the server has to offer ${embeddingModel.model}.`,
  })
