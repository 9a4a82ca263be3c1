import type { z } from 'zod'
import type { Address, JobId } from '../../lib/codecs.ts'
import { SvcError } from '../../lib/svc-error.ts'

/*
 * Every kind of key in the store, with the parts that follow the kind. A key stands for one fact at a time. Its value names
 * the owner or the fact, and most keys expire.
 */
type KeyParts = {
  /** A command of the operator: its time in milliseconds with leading zeros, and a random part. */
  readonly audit: readonly [time: string, unique: string]
  readonly ban: readonly [Address]
  /** A nonce that was used to attest. */
  readonly challenge: readonly [nonce: string]
  /** The pool that lists are drawn from. */
  readonly 'current-pool': readonly []
  /** The place of one of a client's jobs of a day (days since 1970). */
  readonly daily: readonly [Address, day: number, place: number]
  /** A prompt key that grew old while its draw waited, and whose list was signed since. */
  readonly drawn: readonly [high: bigint, low: bigint]
  /** A test write of the operator's command `doctor`. */
  readonly doctor: readonly [unique: string]
  /** The address that a TPM is enrolled with, by the TPM's hash. */
  readonly ek: readonly [ek: string]
  /** An enrolment that waits for its first quote. */
  readonly enrollment: readonly [Address, nonce: string]
  /** The event that gave a member of an agreement its gain of a day. */
  readonly gain: readonly [day: number, members: string, Address]
  /** The mark that a replica was running: its expiry says when. */
  readonly 'icl-seen': readonly []
  readonly 'keyring:generation': readonly [generation: number]
  readonly 'keyring:public': readonly [kid: string]
  readonly 'keyring:withdrawn': readonly [kid: string]
  /** The lease for work that one replica at a time does. */
  readonly leader: readonly [work: string]
  /** A nonce of a request that a wallet has signed. */
  readonly nonce: readonly [Address, nonce: string]
  /** An outage of the ICL, by its start (milliseconds). */
  readonly outage: readonly [from: number]
  /** A period in which a pool was the current one, by its start (milliseconds). */
  readonly pool: readonly [cid: string, from: number]
  /** The job of a prompt key. */
  readonly 'prompt-key': readonly [high: bigint, low: bigint]
  readonly replica: readonly [id: string]
  readonly revoked: readonly [kind: string, id: string]
  /** The place of one of a client's running jobs. */
  readonly running: readonly [Address, place: number]
  /** The address of a session key. */
  readonly session: readonly [thumbprint: string]
  /** The blob of a prompt key, or of a node's turn to deliver. */
  readonly upload:
    | readonly [high: bigint, low: bigint]
    | readonly [JobId, fence: number, kind: 'output' | 'shown']
}

type KeyKind = keyof KeyParts

/** Returns the key of a fact. */
export const keyOf = <K extends KeyKind>(kind: K, ...parts: KeyParts[K]): string =>
  [kind, ...parts].join(':')

/** Returns the prefix of all keys of a kind, or of those with the same first parts. */
export const prefixOf = (kind: KeyKind, ...first: readonly (string | number)[]): string =>
  `${[kind, ...first].join(':')}:`

/** Parses the JSON value of a key; throws SvcError `store-corrupt`, whose message names the key as `what`. */
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
