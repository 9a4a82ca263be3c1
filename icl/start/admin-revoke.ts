import { z } from 'zod'
import { Address } from '../../lib/codecs.ts'
import { noPool } from '../admin/context.ts'
import { findEndorsementKeys, releaseEndorsementKey } from '../admin/nodes.ts'
import { revokeCertificate } from '../records/bans.ts'
import { type Revocable, revoke, unrevoke } from '../records/revocations.ts'
import {
  type AdminCommand,
  type AdminFlags,
  done,
  nothingThere,
  recorded,
  typedAs,
  usageError,
} from './admin-command.ts'

const Hex = (pattern: RegExp) =>
  z
    .string()
    .regex(pattern)
    .transform((text) => text.replace(/^0x/i, '').toLowerCase())
const EndorsementKey = Hex(/^(0x)?[0-9a-f]{64}$/i)
// A name is the id of a hash, then its 32 or 48 bytes.
const AttestationKey = Hex(/^(0x)?([0-9a-f]{68}|[0-9a-f]{100})$/i)
const CertificateId = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/)
const ids = { ek: EndorsementKey, ak: AttestationKey, jti: CertificateId }

/** The commands that revoke certificates, TPMs and attestation keys, and release TPMs. */
export const revokeCommands: readonly AdminCommand[] = [
  {
    usage: 'revoke [address] [--ek HASH] [--ak NAME] [--jti ID]',
    summary:
      "End a node's certificate now. The node attests again by itself. --ek refuses a TPM from now on, --ak an attestation key. --jti ends one certificate",
    prepare: ([text], flags) => {
      const thing = thingIn(text, flags)
      if (thing) {
        return (context) =>
          recorded(context, `revoke --${thing.kind} ${thing.id}`, async () => {
            const ended = await revoke({ ...context, pool: noPool }, thing)
            const whose = ended.length === 0 ? 'no certificate stood on it' : ended.join(', ')
            return done(`${thing.kind} ${thing.id} is revoked; ended: ${whose}`, { thing, ended })
          })
      }
      const node = typedAs(Address, text, 'An address')
      return (context) =>
        recorded(context, `revoke ${node}`, async () => {
          const revoked = await revokeCertificate({ ...context, pool: noPool }, node)
          const told = revoked ? 'has no certificate any more' : 'had no certificate'
          return done(`${node} ${told}`, { address: node, revoked })
        })
    },
  },
  {
    usage: 'unrevoke [--ek HASH] [--ak NAME]',
    summary: 'Let a TPM or an attestation key that was revoked attest again',
    prepare: (_, flags) => {
      const thing = thingIn(undefined, flags)
      if (!thing) throw usageError('unrevoke needs --ek or --ak')
      return (context) =>
        recorded(context, `unrevoke --${thing.kind} ${thing.id}`, async () => {
          if (await unrevoke(context, thing)) {
            return done(`${thing.kind} ${thing.id} may attest again`, { thing })
          }
          throw nothingThere(
            `${thing.kind} ${thing.id} is not revoked here`,
            'What SVC_ICL_TPM_REVOKED names is taken out of that file.',
          )
        })
    },
  },
  {
    usage: 'release-ek <ek or address>',
    summary:
      'Let the TPM with this endorsement key (its SHA-256), or of this node, enrol with another address',
    prepare: ([text]) => {
      const asAddress = Address.safeParse(text)
      const which = asAddress.success
        ? { address: asAddress.data }
        : { id: typedAs(EndorsementKey, text, 'An endorsement key or address') }
      return (context) =>
        recorded(context, `release-ek ${text}`, async () => {
          const bound = await findEndorsementKeys(context, which)
          const released = []
          for (const one of bound) if (await releaseEndorsementKey(context, one)) released.push(one)
          if (released.length === 0)
            throw nothingThere(`Nothing is bound to ${text}`, 'No TPM was enrolled with it.')
          return {
            json: released,
            lines: released.map((one) => `${one.id} is no longer bound to ${one.address}`),
          }
        })
    },
  },
]

/** The single thing that a flag names; undefined for an address. Throws SvcError `usage` unless exactly one thing is named. */
function thingIn(address: string | undefined, flags: AdminFlags): Revocable | undefined {
  const things = (['ek', 'ak', 'jti'] as const)
    .filter((kind) => flags[kind] !== undefined)
    .map((kind) => ({ kind, id: typedAs(ids[kind], flags[kind], `The --${kind}`) }))
  const count = things.length + (address === undefined ? 0 : 1)
  if (count !== 1) throw usageError('Name one thing: an address, --ek, --ak or --jti')
  return things[0]
}
