import type { Address } from '../../lib/codecs.ts'
import { ProblemError } from '../../lib/problem.ts'
import { listEkBindings, releaseEk } from '../attestation/ek-binding.ts'
import type { Dependencies } from '../dependencies.ts'
import { revokeCertificate } from '../records/bans.ts'
import { checkNotBanned } from './attest-node.ts'

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
