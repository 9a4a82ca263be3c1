import type { Address } from '../../lib/codecs.ts'
import { fromBase64Url, toBase64Url } from '../../lib/digest.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { EnrollmentRequest } from '../../lib/schemas/attestation.ts'
import { toHex } from '../../lib/tpm/hex.ts'
import { nameOf } from '../../lib/tpm/public-area.ts'
import { checkAttestationKey } from '../attestation/attestation-key.ts'
import { backendRefused } from '../attestation/binding.ts'
import { burnNonce, createNonce } from '../attestation/challenge.ts'
import { checkEkFree } from '../attestation/ek-binding.ts'
import { checkEndorsementKey } from '../attestation/endorsement-key.ts'
import { makeCredential } from '../attestation/make-credential.ts'
import { activationSecretOf, rememberEnrollment } from '../attestation/pending-enrollment.ts'
import { checkNotRevoked } from '../attestation/tpm-evidence.ts'
import type { Dependencies } from '../dependencies.ts'
import { checkNotBanned } from './attest-node.ts'

/**
 * Checks a node's TPM and returns a secret that only this TPM can recover. Nothing is enrolled yet, because anybody can present a
 * certificate. The TPM becomes the node's only with the quote that proves the secret.
 */
export async function enrollTpm(deps: Dependencies, caller: Address, request: EnrollmentRequest) {
  const address = request.operator_address
  if (caller !== address) {
    throw new ProblemError('forbidden', 'The wallet that signed is not the one that enrols')
  }
  await burnNonce(deps, address, request.nonce)
  await checkNotBanned(deps, address)
  if (!deps.tpm) throw backendRefused(deps.network, 'tpm')
  const endorsement = await checkEndorsementKey(
    deps.tpm,
    request.ek_certificate,
    request.ek_chain ?? [],
    deps.clock.now(),
  )
  const { hash: ek, model, root, validUntil } = endorsement
  await checkNotRevoked(deps, { ek, ak: '' })
  await checkEkFree(deps, ek, address)
  const area = checkAttestationKey(fromBase64Url(request.ak_public))
  const name = await nameOf(area)
  const enrollment = {
    ek,
    ak: toHex(name),
    akPublic: request.ak_public,
    ...model,
    root,
    validUntil,
  }
  await checkNotRevoked(deps, enrollment)
  const { nonce, expires_at } = await createNonce(deps, address)
  const secret = await activationSecretOf(deps, address, nonce)
  const credential = await makeCredential(endorsement.key, name, secret, deps.random)
  await rememberEnrollment(deps, address, nonce, enrollment)
  return {
    nonce,
    credential_blob: toBase64Url(credential.credentialBlob),
    encrypted_secret: toBase64Url(credential.encryptedSecret),
    expires_at,
  }
}
