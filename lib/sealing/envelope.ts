/*
 * Problem: with CoFHE 0.1 anyone can obtain a prompt's key K, and blobs are public. A prompt must stay closed all the same. A client must
 * not be able to leave a node of the list out.
 *
 * Idea: under K lies an envelope. It holds the prompt under a key of the job's secret S, and S wrapped for each node of the list. The
 * ephemeral key of the wraps is derived from S, so that a node that opens its own wrap can make all others again.
 *
 * Layout: 02, the number n of members (1 byte), SHA-256("svc-secret-v1" || S) (32), the ephemeral public key (32), then for each member in
 * the order of the list its reading key (32), its wallet's signature (65) and its wrap (48), then the inner seal.
 *
 * Invariants: every part but the inner seal is a function of S, the context and the grants. A reader needs a grant on chain for K, and the
 * wallet of a listed node or of the client.
 *
 * Failure cases: a wrong part is `envelope-invalid`, a blame of the client. A wrong K or a damaged blob is `blob-unreadable`.
 */

import { bytesToHex, hexToBytes } from 'viem'
import type { Address } from '../codecs.ts'
import { concatBytes, equalBytes, fromBase64Url, sha256Hex, toBase64Url, utf8 } from '../digest.ts'
import type { Random } from '../random.ts'
import { ReadingGrant } from '../schemas/reading.ts'
import { maxListLength, minListLength } from '../schemas/terms.ts'
import { seal, sealBytes, textOf, unseal } from '../sealing.ts'
import { SvcError } from '../svc-error.ts'
import type { RecoverKey } from '../wallet-signature.ts'
import { ephemeralSeedOf, promptKeyOf, secretCheckOf } from './job-secret.ts'
import {
  deriveKeyPair,
  publicBytes,
  type ReadingKey,
  verifyReading,
  wrapFor,
} from './reading-key.ts'

type Bytes = Uint8Array<ArrayBuffer>

const version = 2
const headBytes = 2 + 32 + 32
const wrapBytes = 48
const memberBytes = 32 + 65 + wrapBytes

/** How many bytes both seals and the envelope add to a prompt, at most. */
export const envelopeBytes: number = 2 * sealBytes + headBytes + maxListLength * memberBytes

/** The stored prompt key that an envelope belongs to, and who may open it. */
export type EnvelopeOf = {
  readonly chainId: number
  /** PromptKeyStore. */
  readonly store: Address
  readonly client: Address
  readonly highHandle: bigint
  readonly lowHandle: bigint
  readonly list: readonly Address[]
}

const infoFor = (of: EnvelopeOf, node: Address): string =>
  ['svc-wrap-v1', of.chainId, of.store, of.highHandle, of.lowHandle, of.client, node].join(':')

const outerLabel = (of: EnvelopeOf): string => `svc-envelope-v1:${of.client}`

/** The inner seal binds the list by SHA-256 of its addresses, 20 bytes each. */
async function innerLabel(of: EnvelopeOf): Promise<string> {
  const hash = await sha256Hex(concatBytes(...of.list.map((node) => hexToBytes(node))))
  return ['svc-prompt-v2', of.client, of.highHandle, of.lowHandle, hash].join(':')
}

/** Makes the part of an envelope before the inner seal. Rejects for a grant that nothing can be wrapped for. */
async function headOf(
  secret: Bytes,
  of: EnvelopeOf,
  grants: readonly ReadingGrant[],
): Promise<Bytes> {
  const ephemeral = await deriveKeyPair(await ephemeralSeedOf(secret))
  const members = await Promise.all(
    grants.map(async ({ key, signature }, index) => {
      const wrap = await wrapFor(key, secret, ephemeral, infoFor(of, of.list[index] as Address))
      return concatBytes(fromBase64Url(key), hexToBytes(signature), wrap)
    }),
  )
  return concatBytes(
    Uint8Array.of(version, grants.length),
    await secretCheckOf(secret),
    await publicBytes(ephemeral),
    ...members,
  )
}

/** A prompt's text, its two secrets, and the grants of the list's members in the list's order, which the caller has verified. */
export type SealingPrompt = {
  readonly text: string
  readonly key: Bytes
  readonly secret: Bytes
  readonly of: EnvelopeOf
  readonly grants: readonly ReadingGrant[]
}

/** Seals a prompt twice: in an envelope for the nodes of its list, and under its key. */
export async function sealPromptText(prompt: SealingPrompt, random: Random): Promise<Bytes> {
  const { text, key, secret, of, grants } = prompt
  if (grants.length !== of.list.length) throw new TypeError('Each member needs one reading key')
  const label = await innerLabel(of)
  const inner = await seal(utf8(text), await promptKeyOf(secret), label, random)
  const envelope = concatBytes(await headOf(secret, of, grants), inner)
  return seal(envelope, key, outerLabel(of), random)
}

/** Opens a prompt of this client, which derives the secret itself; throws SvcError `secret-differs`, `envelope-invalid` or `blob-unreadable`. */
export async function openOwnPrompt(
  blob: Uint8Array,
  { key, secret, of }: Pick<SealingPrompt, 'key' | 'secret' | 'of'>,
): Promise<string> {
  const { inner, check } = split(await unseal(blob, key, outerLabel(of)), of)
  if (!equalBytes(await secretCheckOf(secret), check)) {
    throw new SvcError(
      'secret-differs',
      'The wallet has not given the secret that the job was sealed with',
      {
        hint: 'Start again and sign when the wallet asks. A wallet that signs differently each time cannot open its earlier jobs: use the page or program that submitted them, if it still runs.',
      },
    )
  }
  return textOf(await unseal(inner, await promptKeyOf(secret), await innerLabel(of)))
}

/** Opens a prompt as the member at `position` and checks the whole envelope; throws SvcError `envelope-invalid` or `blob-unreadable`. */
export async function openPromptText(
  blob: Uint8Array,
  reader: {
    readonly key: Bytes
    readonly of: EnvelopeOf
    readonly position: number
    readonly readingKey: ReadingKey
    readonly recover?: RecoverKey | undefined
  },
): Promise<{ readonly text: string; readonly secret: Bytes }> {
  const { of, position, readingKey } = reader
  const envelope = split(await unseal(blob, reader.key, outerLabel(of)), of)
  const { head, members, inner, ephemeral, check } = envelope
  const own = members[position]
  if (own?.grant.key !== readingKey.publicKey) throw invalid('it has another key for this node')
  const info = infoFor(of, of.list[position] as Address)
  const secret = await readingKey.unwrap(own.wrap, ephemeral, info).catch(() => {
    throw invalid('the wrap for this node does not open')
  })
  if (!equalBytes(await secretCheckOf(secret), check)) throw invalid('its secret is another one')
  const grants = members.map(({ grant }) => grant)
  const unsigned = await findUnsigned(of, grants, reader.recover)
  if (unsigned) throw invalid(`${unsigned} has not signed its reading key`)
  const again = await headOf(secret, of, grants).catch(() => {
    throw invalid('a key of a member cannot be used')
  })
  if (!equalBytes(again, head)) throw invalid('a wrap of a member, or their key, is another one')
  const opened = await unseal(inner, await promptKeyOf(secret), await innerLabel(of)).catch(() => {
    throw invalid('the secret does not open its prompt')
  })
  return { text: textOf(opened), secret }
}

/** Returns the first node of the list that has not signed its reading key for this chain. */
export async function findUnsigned(
  { list, chainId }: Pick<EnvelopeOf, 'list' | 'chainId'>,
  grants: readonly ReadingGrant[],
  recover?: RecoverKey,
): Promise<Address | undefined> {
  for (const [index, node] of list.entries()) {
    const grant = grants[index]
    if (!grant || !(await verifyReading(node, chainId, grant, recover))) return node
  }
  return undefined
}

function split(envelope: Bytes, { list }: EnvelopeOf) {
  const count = envelope[1] ?? 0
  const head = envelope.slice(0, headBytes + count * memberBytes)
  const isWhole = envelope.length >= head.length + sealBytes
  if (envelope[0] !== version || !isWhole) throw invalid('it is no envelope of version 2')
  if (count < minListLength || count !== list.length) {
    throw invalid(`it is for ${count} nodes, and the list has ${list.length}`)
  }
  const members = Array.from({ length: count }, (_, index) => {
    const member = head.slice(
      headBytes + index * memberBytes,
      headBytes + (index + 1) * memberBytes,
    )
    const grant = ReadingGrant.safeParse({
      key: toBase64Url(member.subarray(0, 32)),
      signature: bytesToHex(member.subarray(32, 97)),
    })
    if (!grant.success) throw invalid(`the key or signature of member ${index} is malformed`)
    return { grant: grant.data, wrap: member.slice(97) }
  })
  return {
    head,
    members,
    check: head.slice(2, 34),
    ephemeral: head.slice(34, 66),
    inner: envelope.slice(head.length),
  }
}

const invalid = (why: string): SvcError =>
  new SvcError('envelope-invalid', `the envelope of the prompt is invalid: ${why}`, {
    hint: 'The client has to seal its prompt for every node of the list, and submit it under another key.',
  })
