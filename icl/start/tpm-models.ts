import { z } from 'zod'
import { lettersOf } from '../attestation/tpm-letters.ts'

/** `MANUFACTURER` or `MANUFACTURER/MODEL`, separated by commas. The manufacturer is its letters, or `id:` and hex. */
export const TpmModels = z
  .string()
  .regex(/^[^,/]+(\/[^,/]+)?(,[^,/]+(\/[^,/]+)?)*$/, 'must be MANUFACTURER or MANUFACTURER/MODEL')
  .transform((text) =>
    text.split(',').map((entry) => {
      const [manufacturer = '', model] = entry.split('/').map((part) => part.trim())
      return { manufacturer: lettersOf(manufacturer), model }
    }),
  )
