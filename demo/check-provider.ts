import { openAnswer } from '../lib/outgoing.ts'
import type { ProviderApi } from '../lib/providers.ts'
import { SvcError } from '../lib/svc-error.ts'
import { systemFetch } from '../lib/system-fetch.ts'

/** How to probe a provider. */
export type ProviderProbe = {
  readonly baseUrl: string
  readonly urlVariable: string
  readonly api: ProviderApi
  /** Undefined for a server that takes no key. */
  readonly key: string | undefined
  readonly keyVariable: string
}

const timeoutMs = 10_000

/** Lists a provider's models, which costs nothing. Throws SvcError `provider-unreachable` or `provider-key-refused`. */
export async function checkProvider(
  { baseUrl, urlVariable, api, key, keyVariable }: ProviderProbe,
  signal: AbortSignal,
): Promise<void> {
  const headers: Record<string, string> =
    api === 'openai'
      ? { authorization: `Bearer ${key}` }
      : { 'x-api-key': key ?? '', 'anthropic-version': '2023-06-01' }
  const url = `${baseUrl.replace(/\/+$/, '').replace(/\/v1$/, '')}/v1/models`
  const status = await openAnswer(systemFetch, url, {
    headers: key === undefined ? {} : headers,
    signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
  }).then(
    async (response) => {
      await response.body?.cancel()
      return response.status
    },
    () => undefined,
  )
  signal.throwIfAborted()
  if (status === undefined) {
    throw new SvcError('provider-unreachable', `The provider at ${baseUrl} does not respond`, {
      hint: `Correct ${urlVariable}, or check the network and its proxy settings.`,
      retryable: true,
    })
  }
  if (key !== undefined && (status === 401 || status === 403)) {
    throw new SvcError('provider-key-refused', `The provider at ${baseUrl} refuses the key`, {
      hint: `Correct ${keyVariable}, or unset it to use the local stand-in.`,
    })
  }
}
