import { decodeJwt } from 'jose/jwt/decode'
import { z } from 'zod'

const Claims = z.object({
  att: z.object({ backend: z.literal('tpm'), ek: z.string(), ak: z.string(), reset: z.int() }),
})

/** Returns the TPM that a certificate of this node names, for display: it verifies nothing. Undefined when it names none. */
export function tpmOfCertificate(
  certificate: string,
): { readonly ek: string; readonly ak: string; readonly reset: number } | undefined {
  try {
    const { ek, ak, reset } = Claims.parse(decodeJwt(certificate)).att
    return { ek, ak, reset }
  } catch {
    return undefined
  }
}
