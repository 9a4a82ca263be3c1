import type { PcrPolicy } from './pcr-policy.ts'
import type { Certificate } from './x509.ts'

/** Which TPMs the ICL's operator trusts, and for what. */
export type TpmTrust = {
  /** The vendors' root certificates. Every endorsement key has to lead to one. */
  readonly roots: readonly Certificate[]
  /** The accepted models; all when undefined. An entry without a model accepts every model of the manufacturer. */
  readonly models:
    | readonly { readonly manufacturer: string; readonly model: string | undefined }[]
    | undefined
  readonly policy: PcrPolicy
  /** The highest tier that a node may serve by its TPM. */
  readonly highestTier: number
}
