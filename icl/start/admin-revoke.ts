import { z } from 'zod'
import { Address } from '../../lib/codecs.ts'
import { option } from '../../lib/host/program/option.ts'
import { type Command, usageError } from '../../lib/host/program/program.ts'
import { type AdminContext, noPool } from '../admin/context.ts'
import { findEndorsementKeys, releaseEndorsementKey } from '../admin/nodes.ts'
import { revokeCertificate } from '../records/bans.ts'
import { type Revocable, revoke, unrevoke } from '../records/revocations.ts'
import { type AdminTerminal, done, nothingThere, recorded, storeCommand } from './admin-command.ts'

const Hex = (pattern: RegExp) =>
  z
    .string()
    .regex(pattern)
    .transform((text) => text.replace(/^0x/i, '').toLowerCase())
const EndorsementKey = Hex(/^(0x)?[0-9a-f]{64}$/i)
// A name is the id of a hash, then its 32 or 48 bytes.
const AttestationKey = Hex(/^(0x)?([0-9a-f]{68}|[0-9a-f]{100})$/i)
const CertificateId = z.string().regex(/^[A-Za-z0-9_-]{1,64}$/)
// A TPM to release, by its endorsement key or by the address that enrolled it.
const Bound = z.union([
  Address.transform((address) => ({ address })),
  EndorsementKey.transform((id) => ({ id })),
])
const ek = option(EndorsementKey.optional(), 'HASH', 'A TPM, by the SHA-256 of its endorsement key')
const ak = option(AttestationKey.optional(), 'NAME', 'An attestation key')
const jti = option(CertificateId.optional(), 'ID', 'A certificate')

/** The commands that revoke certificates, TPMs and attestation keys, and release TPMs. */
export const revokeCommands: readonly Command<AdminTerminal>[] = [
  storeCommand({
    name: 'revoke',
    summary:
      "End a node's certificate now. The node attests again by itself. --ek refuses a TPM from now on, --ak an attestation key. --jti ends one certificate",
    args: { address: option(Address.optional(), 'ADDRESS') },
    options: { ek, ak, jti },
    prepare: ({ address: node, ...ids }) => {
      const things = thingsIn(ids)
      if (things.length + (node ? 1 : 0) !== 1) throw notOne('ADDRESS, --ek, --ak or --jti')
      return (context) =>
        node ? revokeNode(context, node) : revokeThing(context, things[0] as Revocable)
    },
  }),
  storeCommand({
    name: 'unrevoke',
    summary: 'Let a TPM or an attestation key that was revoked attest again',
    options: { ek, ak },
    prepare: (ids) => {
      const [thing, another] = thingsIn(ids)
      if (thing === undefined || another) throw notOne('--ek or --ak')
      const name = `${thing.kind} ${thing.id}`
      return (context) =>
        recorded(context, `unrevoke --${name}`, async () => {
          if (await unrevoke(context, thing)) return done(`${name} may attest again`, { thing })
          throw nothingThere(
            `${name} is not revoked here`,
            'What SVC_ICL_TPM_REVOKED names is taken out of that file.',
          )
        })
    },
  }),
  storeCommand({
    name: 'release-ek',
    summary:
      'Let the TPM with this endorsement key (its SHA-256), or of this node, enrol with another address',
    args: { bound: option(Bound, 'EK_OR_ADDRESS') },
    prepare: ({ bound }) => {
      const name = Object.values(bound).join()
      return (context) =>
        recorded(context, `release-ek ${name}`, async () => {
          const released = []
          for (const one of await findEndorsementKeys(context, bound)) {
            if (await releaseEndorsementKey(context, one)) released.push(one)
          }
          if (released.length === 0)
            throw nothingThere(`Nothing is bound to ${name}`, 'No TPM was enrolled with it.')
          return {
            json: released,
            lines: released.map((one) => `${one.id} is no longer bound to ${one.address}`),
          }
        })
    },
  }),
]

const thingsIn = (
  ids: { readonly [Kind in Revocable['kind']]?: string | undefined },
): readonly Revocable[] =>
  (['ek', 'ak', 'jti'] as const).flatMap((kind) => {
    const id = ids[kind]
    return id === undefined ? [] : [{ kind, id }]
  })

const notOne = (names: string) =>
  usageError(`name one thing: ${names}`, '`npm run icl -- admin --help` lists the commands.')

const revokeThing = (context: AdminContext, thing: Revocable) =>
  recorded(context, `revoke --${thing.kind} ${thing.id}`, async () => {
    const ended = await revoke({ ...context, pool: noPool }, thing)
    const whose = ended.length === 0 ? 'no certificate stood on it' : ended.join(', ')
    return done(`${thing.kind} ${thing.id} is revoked; ended: ${whose}`, { thing, ended })
  })

const revokeNode = (context: AdminContext, node: Address) =>
  recorded(context, `revoke ${node}`, async () => {
    const revoked = await revokeCertificate({ ...context, pool: noPool }, node)
    const told = revoked ? 'has no certificate any more' : 'had no certificate'
    return done(`${node} ${told}`, { address: node, revoked })
  })
