import { SvcError } from '../../../lib/svc-error.ts'
import { tpmAlgorithm } from '../../../lib/tpm/algorithms.ts'
import { createTpmWriter } from '../../../lib/tpm/bytes.ts'
import { flushing } from './contexts.ts'
import { endorsementHierarchy, type TpmKey } from './primary-keys.ts'
import { kindOf, responseCode, TpmRefusedError } from './response-code.ts'
import { emptyPassword, type Tpm } from './tpm-command.ts'

const nullHandle = 0x4000_0007
const policySession = 1
const nonceBytes = 16
const continueSession = 1
const nothing = new Uint8Array()

/** A secret encrypted for one TPM and one of its keys (the contents of TPM2B_ID_OBJECT and TPM2B_ENCRYPTED_SECRET). */
export type Credential = { readonly blob: Uint8Array; readonly encryptedSecret: Uint8Array }

/** Recovers the secret. Only a TPM with both keys can. Throws SvcError `tpm-activation-failed` when it is for another. */
export async function activateCredential(
  tpm: Tpm,
  attestationKey: TpmKey,
  endorsementKey: TpmKey,
  credential: Credential,
): Promise<Uint8Array<ArrayBuffer>> {
  const session = await startPolicySession(tpm)
  return await flushing(tpm, session, async () => {
    await allowByEndorsementHierarchy(tpm, session)
    try {
      const { parameters } = await tpm.send({
        name: 'ActivateCredential',
        handles: [attestationKey.handle, endorsementKey.handle],
        authorizations: [emptyPassword, { session, attributes: continueSession }],
        parameters: createTpmWriter()
          .sized(credential.blob)
          .sized(credential.encryptedSecret)
          .done(),
      })
      return parameters.sized(64)
    } catch (error) {
      throw isForOthers(error) ? notForThisTpm(error) : error
    }
  })
}

async function startPolicySession(tpm: Tpm): Promise<number> {
  const { handle } = await tpm.send({
    name: 'StartAuthSession',
    handles: [nullHandle, nullHandle],
    parameters: createTpmWriter()
      .sized(tpm.random.bytes(nonceBytes))
      .sized(nothing)
      .u8(policySession)
      .u16(tpmAlgorithm.none)
      .u16(tpmAlgorithm.sha256)
      .done(),
    givesHandle: true,
  })
  return handle
}

/** Satisfies the endorsement key's policy. */
async function allowByEndorsementHierarchy(tpm: Tpm, session: number): Promise<void> {
  const noExpiry = 0
  await tpm.send({
    name: 'PolicySecret',
    handles: [endorsementHierarchy, session],
    authorizations: [emptyPassword],
    parameters: createTpmWriter().sized(nothing).sized(nothing).sized(nothing).u32(noExpiry).done(),
  })
}

const isForOthers = (error: unknown): boolean =>
  error instanceof TpmRefusedError &&
  [responseCode.integrity, responseCode.value].some((code) => code === kindOf(error.responseCode))

const notForThisTpm = (cause: unknown): SvcError =>
  new SvcError(
    'tpm-activation-failed',
    'the TPM cannot open what the ICL encrypted for it: the certificate shown is not of this TPM',
    {
      hint: 'Check tpm_certificates (SVC_TPM_CERTIFICATES), and that SVC_TPM names the right TPM.',
      cause,
    },
  )
