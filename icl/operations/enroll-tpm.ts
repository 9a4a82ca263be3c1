import type { Address } from '../../lib/codecs.ts'
import { fromBase64Url, toBase64Url } from '../../lib/digest.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { EnrollmentRequest } from '../../lib/schemas/attestation.ts'
import { toHex } from '../../lib/tpm/hex.ts'
import { nameOf } from '../../lib/tpm/public-area.ts'
import { checkAttestationKey } from '../attestation/attestation-key.ts'
import { backendRefused } from '../attestation/binding.ts'
import { burnNonce, createNonce } from '../attestation/challenge.ts'
import { checkEkFree, listEkBindings, releaseEk } from '../attestation/ek-binding.ts'
import { checkEndorsementKey } from '../attestation/endorsement-key.ts'
import { makeCredential } from '../attestation/make-credential.ts'
import { activationSecretOf, rememberEnrollment } from '../attestation/pending-enrollment.ts'
import { checkNotRevoked } from '../attestation/tpm-evidence.ts'
import type { Dependencies } from '../dependencies.ts'
import { revokeCertificate } from '../records/bans.ts'
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
  const { ek_certificate, ek_chain = [], ak_public: akPublic } = request
  const now = deps.clock.now()
  const endorsement = await checkEndorsementKey(deps.tpm, ek_certificate, ek_chain, now)
  const { hash: ek, model, root, validUntil } = endorsement
  await checkNotRevoked(deps, { ek, ak: '' })
  await checkEkFree(deps, ek, address)
  const name = await nameOf(checkAttestationKey(fromBase64Url(akPublic)))
  const enrollment = { ek, ak: toHex(name), akPublic, ...model, root, validUntil }
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

/**
 * Frees every TPM of an address for another one, at the request of its wallet. The address loses its certificate first. Throws
 * `node-banned`: a banned machine would come back with another wallet.
 */
export async function releaseTpm(deps: Dependencies, caller: Address, address: Address) {
  if (caller !== address) {
    throw new ProblemError('forbidden', 'Only the wallet that a TPM is enrolled with releases it')
  }
  await checkNotBanned(deps, address)
  const enrolled = (await deps.store.findNode(address))?.document.enrollment?.ek
  // After a broken-off enrolment or release, node and binding may name different TPMs.
  const bound = (await listEkBindings(deps)).filter((one) => one.address === address)
  const eks = new Set([...bound.map(({ id }) => id), ...(enrolled === undefined ? [] : [enrolled])])
  if (eks.size > 0) await revokeCertificate(deps, address)
  const released: string[] = []
  for (const ek of eks) {
    if (!(await releaseEk(deps, { id: ek, address }))) continue
    released.push(ek)
    deps.log.info('TPM released', { node: address, ek })
  }
  return { released }
}
