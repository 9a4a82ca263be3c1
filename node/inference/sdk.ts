import type { ProviderOptions } from './provider-call.ts'
import { providerFetch } from './provider-fetch.ts'

const longestTimerMs = 2 ** 31 - 1

/** The options that the SDKs of all vendors get. */
export const sdkOptions = ({ fetch }: Partial<ProviderOptions>) => ({
  maxRetries: 0,
  // callProvider ends a try. The SDK's own timer must not fire first.
  timeout: longestTimerMs,
  // Otherwise the SDK would log requests with prompts in them.
  logLevel: 'off' as const,
  fetch: providerFetch(fetch),
})

/** The one header of the key. If left to the SDKs, `..._CUSTOM_HEADERS` of the environment would win over it. */
export const keyHeader = (apiKey: string | undefined) => ({
  authorization: apiKey === undefined ? null : `Bearer ${apiKey}`,
})
