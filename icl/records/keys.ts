import type { z } from 'zod'
import type { Address, JobId } from '../../lib/codecs.ts'
import { SvcError } from '../../lib/svc-error.ts'

/*
 * Every kind of key that the store has, with what follows the kind. A key belongs to one fact at a time: its value says
 * whose it is, or what is known, and most have an end.
 */
type KeyParts = {
  /** A command of the operator: its time in milliseconds with leading zeros, and a random part. */
  readonly audit: readonly [time: string, unique: string]
  readonly ban: readonly [Address]
  /** A nonce that was used to attest. */
  readonly challenge: readonly [nonce: string]
  /** The pool that lists are drawn from. */
  readonly 'current-pool': readonly []
  /** Which ICL may work without the database: one, or none of those that share it. */
  readonly 'database-lock': readonly []
  /** One of a client's jobs of a day (days since 1970). */
  readonly daily: readonly [Address, day: number, place: number]
  /** What the operator's doctor writes, to see whether it can. */
  readonly doctor: readonly [unique: string]
  /** The address that a TPM is enrolled with. */
  readonly ek: readonly [ek: string]
  /** An enrolment that waits for its first quote. */
  readonly enrollment: readonly [Address, nonce: string]
  /** A blob that the operator has erased. */
  readonly erased: readonly [cid: string]
  /** The event that has brought a member of an agreement a gain on a day. */
  readonly gain: readonly [day: number, members: string, Address]
  /** Some replica was there: its end says when. */
  readonly 'icl-seen': readonly []
  readonly 'keyring:generation': readonly [generation: number]
  readonly 'keyring:public': readonly [kid: string]
  readonly 'keyring:withdrawn': readonly [kid: string]
  /** Work that one replica at a time does. */
  readonly leader: readonly [work: string]
  /** A nonce that a wallet has signed a request with. */
  readonly nonce: readonly [Address, nonce: string]
  /** A time in which the ICL was away, from here on (milliseconds). */
  readonly outage: readonly [from: number]
  /** A time in which a pool was the current one, from here on (milliseconds). */
  readonly pool: readonly [cid: string, from: number]
  /** The job of a prompt key. */
  readonly 'prompt-key': readonly [high: bigint, low: bigint]
  readonly replica: readonly [id: string]
  /** The process that joined last. */
  readonly 'replica-newest': readonly []
  readonly revoked: readonly [kind: string, id: string]
  /** One of the jobs that a client has at the same time. */
  readonly running: readonly [Address, place: number]
  /** The address of a session key. */
  readonly session: readonly [thumbprint: string]
  /** The blob of a prompt key, or of a node's turn to deliver. */
  readonly upload: readonly [high: bigint, low: bigint] | readonly [JobId, fence: number]
}

type KeyKind = keyof KeyParts

/** The key of a fact. */
export const keyOf = <K extends KeyKind>(kind: K, ...parts: KeyParts[K]): string =>
  [kind, ...parts].join(':')

/** What the keys of a kind begin with, or those of a kind that have the same first parts. */
export const prefixOf = (kind: KeyKind, ...first: readonly (string | number)[]): string =>
  `${[kind, ...first].join(':')}:`

/** What the value of a key says, as JSON; throws SvcError `store-corrupt` that names it as `what`. */
export function parseHeld<T>(
  schema: z.ZodType<T>,
  value: string,
  what: string,
  hint = 'Restore the last backup.',
): T {
  try {
    return schema.parse(JSON.parse(value))
  } catch (cause) {
    throw new SvcError('store-corrupt', `${what} in the store cannot be read`, { hint, cause })
  }
}
