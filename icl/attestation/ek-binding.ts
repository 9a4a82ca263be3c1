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

/** The address that a TPM is enrolled with, if any. */
export const findEkHolder = ({ store, clock }: Held, ek: string): Promise<string | undefined> =>
  store.findKey(keyOf('ek', ek), clock.now())

/** Throws `ek-taken` when the TPM is enrolled with another address. */
export async function checkEkFree(held: Held, ek: string, address: Address): Promise<void> {
  const holder = await findEkHolder(held, ek)
  if (holder !== undefined && holder !== address) throw ekTaken()
}

/** The write that gives a TPM to an address; it is refused when another has it. */
export const ekWriteOf = ({ clock }: Pick<Held, 'clock'>, ek: string, address: Address) =>
  ({
    kind: 'key',
    key: keyOf('ek', ek),
    value: address,
    now: clock.now(),
    expiresAt: forever,
  }) as const

/** The write that lets another address enrol a TPM; it is refused when it is not this address's. */
export const ekReleaseOf = ({ id, address }: EkBinding) =>
  ({ kind: 'release-key', key: keyOf('ek', id), value: address }) as const

/** Ends what stands on a TPM and lets another address enrol it; false when it was not that address's. */
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
  // Where several processes save, an enrolment may have found the TPM still its own just before.
  await endEnrollment(held, binding)
  return didRelease
}

/** In one save, so that an attestation under way finds either no enrolment or another version of the node. */
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

/** Every TPM that is enrolled, with its address. */
export async function listEkBindings({ store, clock }: Held): Promise<readonly EkBinding[]> {
  const held = await store.listKeys(prefix, clock.now())
  return held.map(({ key, value }) => ({
    id: key.slice(prefix.length),
    address: Address.parse(value),
  }))
}

/** The refusal of a TPM that another address has. */
export const ekTaken = () =>
  new ProblemError(
    'ek-taken',
    'This TPM is enrolled with another address, which has to release it first, or the operator of this ICL',
  )
