import { z } from 'zod'

const HttpUrl = z
  .url({ protocol: /^https?$/, error: 'must be an http or https URL', abort: true })
  .max(2_048)
  .overwrite((text) => text.replace(/\/+$/, ''))

/** Where a coprocessor network is reached: its public keys, the verifier of proofs, and those who decrypt. */
export const CoprocessorUrls = z
  .object({
    cofhe_url: HttpUrl,
    verifier_url: HttpUrl,
    threshold_network_url: HttpUrl,
  })
  .meta({ id: 'CoprocessorUrls' })
export type CoprocessorUrls = z.output<typeof CoprocessorUrls>

const urlsOf = (text: string): unknown => {
  const parts = text.split(',').map((part) => part.trim())
  const [cofhe, verifier = cofhe, threshold = cofhe] = parts
  if (parts.length !== 1 && parts.length !== 3) return undefined
  return { cofhe_url: cofhe, verifier_url: verifier, threshold_network_url: threshold }
}

/** The addresses as an operator writes them: one for all three, or three with commas (keys, verifier, threshold network), or an object. */
export const CoprocessorSetting = z.preprocess(
  (value) => (typeof value === 'string' ? urlsOf(value) : value),
  z.strictObject(CoprocessorUrls.shape, {
    error: 'must be one address such as https://cofhe.example, or the three of the coprocessor',
  }),
)
