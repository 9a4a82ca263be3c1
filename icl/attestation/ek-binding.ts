import type { Clock } from '../../lib/clock.ts'
import { Address } from '../../lib/codecs.ts'
import { ProblemError } from '../../lib/problem.ts'
import { type Alongside, changeNode, type Nodes } from '../records/change-node.ts'
import { keyOf, prefixOf } from '../records/keys.ts'
import { ended, type Node } from '../rules/eligibility.ts'
import { forever } from '../store/forever.ts'
import type { Store } from '../store/store.ts'

type Held = { readonly store: Store; readonly clock: Clock }

const prefix = prefixOf('ek')

/** An endorsement key and the address that it is enrolled with. */
export type EkBinding = { readonly id: string; readonly address: Address }

/** Returns the address that a TPM is enrolled with; undefined when there is none. */
export const findEkHolder = ({ store, clock }: Held, ek: string): Promise<string | undefined> =>
  store.findKey(keyOf('ek', ek), clock.now())

/** Throws `ek-taken` when the TPM is enrolled with another address. */
export async function checkEkFree(held: Held, ek: string, address: Address): Promise<void> {
  const holder = await findEkHolder(held, ek)
  if (holder !== undefined && holder !== address) throw ekTaken()
}

/** The write that binds a TPM to an address. It is refused when another address has the TPM. */
export const ekWriteOf = ({ clock }: Pick<Held, 'clock'>, ek: string, address: Address) =>
  ({
    kind: 'key',
    key: keyOf('ek', ek),
    value: address,
    now: clock.now(),
    expiresAt: forever,
  }) as const

/** The write that frees a TPM for another address. It is refused when this address does not have the TPM. */
export const ekReleaseOf = ({ id, address }: EkBinding) =>
  ({ kind: 'release-key', key: keyOf('ek', id), value: address }) as const

/** Ends the enrolment and the certificate that rest on a TPM, and frees it for another address. False when the address did not have it. */
export async function releaseEk(held: Held & Nodes, binding: EkBinding): Promise<boolean> {
  let didRelease = true
  await endEnrollment(held, binding, () =>
    didRelease
      ? {
          writes: [ekReleaseOf(binding)],
          onRefused: () => {
            didRelease = false
          },
        }
      : undefined,
  )
  // With several processes, an enrolment may have found the TPM still its own just before the release.
  await endEnrollment(held, binding)
  return didRelease
}

/** One save, so that a concurrent attestation finds either no enrolment or another version of the node. */
const endEnrollment = (
  held: Held & Nodes,
  { id, address }: EkBinding,
  alongside?: () => Alongside | undefined,
) => {
  const change = (node: Node | undefined) => {
    const isEnrolled = node?.enrollment?.ek === id
    const isCertified = node?.certificate.tpm?.ek === id
    if (!node || !(isEnrolled || (isCertified && isLive(node)))) return node
    const { enrollment, ...rest } = node
    return {
      ...rest,
      ...(enrollment && !isEnrolled && { enrollment }),
      certificate: isCertified ? ended(node.certificate) : node.certificate,
    }
  }
  return changeNode(held, address, change, alongside)
}

const isLive = ({ certificate }: Node) => certificate.expiresAt > certificate.issuedAt

/** Returns every enrolled TPM with its address. */
export async function listEkBindings({ store, clock }: Held): Promise<readonly EkBinding[]> {
  const held = await store.listKeys(prefix, clock.now())
  return held.map(({ key, value }) => ({
    id: key.slice(prefix.length),
    address: Address.parse(value),
  }))
}

/** The error for a TPM that another address has. */
export const ekTaken = () =>
  new ProblemError(
    'ek-taken',
    'This TPM is enrolled with another address, which has to release it first, or the operator of this ICL',
  )
