import { z } from 'zod'
import { named } from './named.ts'

const HttpUrl = z
  .url({ protocol: /^https?$/, error: 'must be an http or https URL', abort: true })
  .max(2_048)
  .overwrite((text) => text.replace(/\/+$/, ''))

/** The URLs of a coprocessor network: its public keys, the verifier of proofs, and the threshold network that decrypts. */
export const CoprocessorUrls = named('CoprocessorUrls', {
  cofhe_url: HttpUrl,
  verifier_url: HttpUrl,
  threshold_network_url: HttpUrl,
})
export type CoprocessorUrls = z.output<typeof CoprocessorUrls>

const urlsOf = (text: string): unknown => {
  const parts = text.split(',').map((part) => part.trim())
  const [cofhe, verifier = cofhe, threshold = cofhe] = parts
  if (parts.length !== 1 && parts.length !== 3) return undefined
  return { cofhe_url: cofhe, verifier_url: verifier, threshold_network_url: threshold }
}

/** The URLs as an operator writes them: one for all three, or three with commas (keys, verifier, threshold network), or an object. */
export const CoprocessorSetting = z.preprocess(
  (value) => (typeof value === 'string' ? urlsOf(value) : value),
  z.strictObject(CoprocessorUrls.shape, {
    error: 'must be one address such as https://cofhe.example, or the three of the coprocessor',
  }),
)
