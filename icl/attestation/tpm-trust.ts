import type { PcrPolicy } from './pcr-policy.ts'
import type { Certificate } from './x509.ts'

/** Which TPMs the ICL's operator trusts, and for what. */
export type TpmTrust = {
  /** Vendors' certificates that every endorsement key has to lead to. */
  readonly roots: readonly Certificate[]
  /** The models that are accepted; all when undefined. A missing model stands for every one of the manufacturer. */
  readonly models:
    | readonly { readonly manufacturer: string; readonly model: string | undefined }[]
    | undefined
  readonly policy: PcrPolicy
  /** The highest tier that a node may serve by its TPM. */
  readonly highestTier: number
}
