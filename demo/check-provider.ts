import { AnswerRefused, openAnswer } from '../lib/outgoing.ts'
import { SvcError } from '../lib/svc-error.ts'
import { systemFetch } from '../lib/system-fetch.ts'

/** Where a provider should be, and the variable that says so. */
export type ProviderProbe = { readonly baseUrl: string; readonly urlVariable: string }

const timeoutMs = 10_000

/** Sees that a server answers there, before anything starts. The nodes check the key. Throws SvcError `provider-unreachable`. */
export async function checkProvider(
  { baseUrl, urlVariable }: ProviderProbe,
  signal: AbortSignal,
): Promise<void> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
  try {
    await (await openAnswer(systemFetch, baseUrl, { signal: limit })).body?.cancel()
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof AnswerRefused) return
    throw new SvcError('provider-unreachable', `The provider at ${baseUrl} does not respond`, {
      hint: `Correct ${urlVariable}, or check the network and its proxy settings.`,
      retryable: true,
    })
  }
}
