import { concatBytes, equalBytes, fromBase64Url, toBase64Url, utf8 } from '../../../lib/digest.ts'
import type { TpmEvidence } from '../../../lib/schemas/attestation.ts'
import { tpmAlgorithm, tpmDigest } from '../../../lib/tpm/algorithms.ts'
import { createTpmReader, createTpmWriter } from '../../../lib/tpm/bytes.ts'
import { fromHex, toHex } from '../../../lib/tpm/hex.ts'
import { pcrSelectionBytes } from '../../../lib/tpm/pcr-selection.ts'
import { nameOf, parsePublicArea } from '../../../lib/tpm/public-area.ts'
import { certifyEndorsementKey, derOf, type Vendor } from './tpm-vendor.ts'

type Bytes = Uint8Array<ArrayBuffer>

/** What the service asks an attestation key to be: fixedTPM, fixedParent, sensitiveDataOrigin, userWithAuth, restricted, sign. */
const soundAttributes = 0x00050072

const ecdsa = { name: 'ECDSA', namedCurve: 'P-256' } as const

/** How a quote differs from the one that was asked for. */
export type QuoteChanges = {
  readonly magic?: number
  readonly type?: number
  readonly pcrs?: readonly number[]
  readonly bank?: number
  readonly values?: Readonly<Record<string, string>>
  readonly reset?: number
  readonly restart?: number
  readonly clock?: bigint
}

/**
 * A TPM made of WebCrypto keys, with the structures of a real one built by hand: a verifier cannot tell, so that every attack can be
 * made with it, also those that no real TPM would take part in.
 */
export type SoftwareTpm = Awaited<ReturnType<typeof createSoftwareTpm>>

/** A TPM of a vendor; `attributes` are those of its attestation key. */
export async function createSoftwareTpm(
  vendor: Vendor,
  now: number,
  attributes = soundAttributes,
  nameHash: number = tpmAlgorithm.sha256,
) {
  const endorsement = await certifyEndorsementKey(vendor, now)
  const attestation = await crypto.subtle.generateKey(ecdsa, true, ['sign', 'verify'])
  const akPublic = await publicAreaOf(attestation.publicKey, attributes, nameHash)
  const name = await nameOf(parsePublicArea(akPublic))
  const state = { reset: 5, restart: 1, clock: 1_000n }
  return {
    endorsement,
    certificate: endorsement.der,
    chain: [derOf(vendor.issuer.certificate)],
    akPublic: toBase64Url(akPublic),
    akName: toHex(name),
    state,
    /** TPM2_ActivateCredential; throws when it was made for another object or TPM. */
    activate: (credential: { credential_blob: string; encrypted_secret: string }) =>
      activate(endorsement.keys.privateKey, name, credential),
    /** TPM2_Quote over the registers 0 to 7. */
    quote: async (extraData: Uint8Array, changes: QuoteChanges = {}): Promise<TpmEvidence> => {
      state.clock += 10n
      const pcrs = changes.values ?? bootValues(changes.pcrs ?? bootPcrs)
      const attest = await attestOf(extraData, pcrs, { ...state, ...changes })
      const signature = await signatureOf(attestation.privateKey, attest)
      return {
        backend: 'tpm',
        attest: toBase64Url(attest),
        signature: toBase64Url(signature),
        pcrs,
      }
    },
    /** TPM2_Sign over anything, as only an unrestricted key would. */
    sign: async (bytes: Bytes) => toBase64Url(await signatureOf(attestation.privateKey, bytes)),
  }
}

export const bootPcrs = [0, 1, 2, 3, 4, 5, 6, 7]

/** Values of registers as a boot leaves them. */
export const bootValues = (pcrs: readonly number[]): Record<string, string> =>
  Object.fromEntries(pcrs.map((pcr) => [String(pcr), (pcr + 16).toString(16).repeat(32)]))

async function publicAreaOf(key: CryptoKey, attributes: number, nameHash: number): Promise<Bytes> {
  const point = new Uint8Array(await crypto.subtle.exportKey('raw', key))
  return createTpmWriter()
    .u16(tpmAlgorithm.ecc)
    .u16(nameHash)
    .u32(attributes)
    .sized(new Uint8Array())
    .u16(tpmAlgorithm.none)
    .u16(tpmAlgorithm.ecdsa)
    .u16(tpmAlgorithm.sha256)
    .u16(3)
    .u16(tpmAlgorithm.none)
    .sized(point.slice(1, 33))
    .sized(point.slice(33))
    .done()
}

async function attestOf(
  extraData: Uint8Array,
  values: Readonly<Record<string, string>>,
  options: QuoteChanges & { reset: number; restart: number; clock: bigint },
): Promise<Bytes> {
  const pcrs = Object.keys(values).map(Number)
  const bank = options.bank ?? tpmAlgorithm.sha256
  const inOrder = [...pcrs].sort((a, b) => a - b).map((pcr) => fromHex(values[pcr] ?? ''))
  return createTpmWriter()
    .u32(options.magic ?? 0xff544347)
    .u16(options.type ?? 0x8018)
    .sized(new Uint8Array(34))
    .sized(extraData)
    .u64(options.clock)
    .u32(options.reset)
    .u32(options.restart)
    .u8(1)
    .u64(1n)
    .raw(pcrSelectionBytes({ bank, pcrs }))
    .sized(await tpmDigest(tpmAlgorithm.sha256, concatBytes(...inOrder)))
    .done()
}

async function signatureOf(key: CryptoKey, message: Bytes): Promise<Bytes> {
  const pair = new Uint8Array(
    await crypto.subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, key, message),
  )
  return createTpmWriter()
    .u16(tpmAlgorithm.ecdsa)
    .u16(tpmAlgorithm.sha256)
    .sized(withoutZeros(pair.slice(0, 32)))
    .sized(withoutZeros(pair.slice(32)))
    .done()
}

/** Some TPMs leave out leading zeros. */
const withoutZeros = (integer: Bytes): Bytes =>
  integer.slice(
    Math.max(
      0,
      integer.findIndex((byte) => byte !== 0),
    ),
  )

async function activate(
  key: CryptoKey,
  name: Bytes,
  credential: { credential_blob: string; encrypted_secret: string },
): Promise<Bytes> {
  const seed = new Uint8Array(
    await crypto.subtle.decrypt(
      { name: 'RSA-OAEP', label: utf8('IDENTITY\0') },
      key,
      fromBase64Url(credential.encrypted_secret),
    ),
  )
  const blob = createTpmReader(fromBase64Url(credential.credential_blob))
  const integrity = blob.sized()
  const encrypted = blob.raw(blob.left())
  const integrityKey = await kdfa(seed, 'INTEGRITY', new Uint8Array(), 256)
  if (!equalBytes(await hmac(integrityKey, concatBytes(encrypted, name)), integrity)) {
    throw new Error('TPM_RC_INTEGRITY: the credential was made for another object')
  }
  const plain = await decryptCfb(await kdfa(seed, 'STORAGE', name, 128), encrypted)
  return createTpmReader(plain).sized()
}

async function hmac(key: Bytes, message: Bytes): Promise<Bytes> {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  const imported = await crypto.subtle.importKey('raw', key, algorithm, false, ['sign'])
  return new Uint8Array(await crypto.subtle.sign('HMAC', imported, message))
}

const kdfa = async (seed: Bytes, label: string, context: Bytes, bits: number) =>
  (
    await hmac(
      seed,
      createTpmWriter()
        .u32(1)
        .raw(utf8(`${label}\0`))
        .raw(context)
        .u32(bits)
        .done(),
    )
  ).slice(0, bits / 8)

async function decryptCfb(key: Bytes, message: Bytes): Promise<Bytes> {
  const imported = await crypto.subtle.importKey('raw', key, 'AES-CTR', false, ['decrypt'])
  const blocks: Bytes[] = []
  for (let offset = 0; offset < message.length; offset += 16) {
    const counter = offset === 0 ? new Uint8Array(16) : message.slice(offset - 16, offset)
    const algorithm = { name: 'AES-CTR', counter, length: 128 }
    const block = message.slice(offset, offset + 16)
    blocks.push(new Uint8Array(await crypto.subtle.decrypt(algorithm, imported, block)))
  }
  return concatBytes(...blocks)
}
