import { z } from 'zod'
import type { Clock } from '../../lib/clock.ts'
import type { Address } from '../../lib/codecs.ts'
import { utf8 } from '../../lib/digest.ts'
import { claimKey } from '../records/claim-key.ts'
import type { IclKeys } from '../records/icl-keys.ts'
import { keyOf, parseHeld } from '../records/keys.ts'
import type { Enrollment } from '../rules/enrollment.ts'
import type { Store } from '../store/store.ts'
import { challengeMs } from './challenge.ts'

type Held = { readonly store: Store; readonly clock: Clock }

const Pending = z.object({
  ek: z.string(),
  ak: z.string(),
  akPublic: z.string(),
  manufacturer: z.string(),
  model: z.string(),
  root: z.string(),
  validUntil: z.number(),
})

/** Stores what a node wants to enrol for twice the time in which a nonce can be used. The node's first quote is under this nonce. */
export async function rememberEnrollment(
  deps: Held,
  address: Address,
  nonce: string,
  enrollment: Enrollment,
): Promise<void> {
  const expiresAt = deps.clock.now() + 2 * challengeMs
  await claimKey(
    deps,
    keyOf('enrollment', address, nonce),
    JSON.stringify(Pending.parse(enrollment)),
    expiresAt,
  )
}

/** Returns what the quote under a nonce enrols; undefined for the nonce of a plain challenge. */
export async function findPendingEnrollment(
  { store, clock }: Held,
  address: Address,
  nonce: string,
): Promise<Enrollment | undefined> {
  const value = await store.findKey(keyOf('enrollment', address, nonce), clock.now())
  if (value === undefined) return undefined
  return parseHeld(Pending, value, 'A pending enrolment', 'The node can enrol again.')
}

/** The secret that only the TPM recovers that enrols under this nonce. It is derived, so that no store holds it. */
export const activationSecretOf = (
  { keys }: { readonly keys: Pick<IclKeys, 'tag'> },
  address: Address,
  nonce: string,
): Promise<Uint8Array<ArrayBuffer>> => keys.tag('activation', utf8(`${address}\n${nonce}`))
