import type { Hex } from 'viem'
import { z } from 'zod'
import { Address, Hash32 } from '../../../lib/codecs.ts'
import { parseJson } from '../../../lib/parse-json.ts'
import { ServiceError } from './service-error.ts'

/** The largest request body in bytes. A list of two values takes 40 KB of hex. */
export const maxBodyBytes: number = 1024 * 1024

const maxListDigits = 512 * 1024
const signatureDigits = /^0x([0-9a-fA-F]{2}){0,1024}$/

const ChainId = z.int().min(1)
const Zone = z.literal(0, { error: 'only security zone 0 is served' })
const Signature = z.string().regex(signatureDigits) as unknown as z.ZodType<Hex, string>
const Uint = (digits: number) =>
  z
    .union([z.int().min(0), z.string().regex(new RegExp(`^[0-9]{1,${digits}}$`))])
    .transform((value) => BigInt(value))

/** A request for the public key or the CRS. */
export const KeyRequest = z.object({ securityZone: Zone })

/** A request to verify a proven list of ciphertexts for an account. */
export const VerifyRequest = z.object({
  packed_list: z
    .string()
    .max(maxListDigits)
    .regex(/^([0-9a-fA-F]{2})+$/, 'must be hex without 0x'),
  account_addr: Address,
  security_zone: Zone,
  chain_id: ChainId,
})

/** The content that a permit's wallet has signed. */
const Permit = z.object({
  issuer: Address,
  expiration: Uint(20).refine((value) => value < 1n << 64n, 'must be a uint64'),
  recipient: Address,
  validatorId: Uint(77),
  validatorContract: Address,
  sealingKey: Hash32,
  issuerSignature: Signature,
  recipientSignature: Signature,
})
export type Permit = z.output<typeof Permit>

/** A request for the value behind a handle, with a permit. */
export const DecryptRequest = z.object({
  ct_tempkey: z
    .string()
    .regex(/^(0x)?[0-9a-fA-F]{1,64}$/)
    .transform((text) => BigInt(`0x${text.replace(/^0x/, '')}`)),
  host_chain_id: ChainId,
  permit: Permit,
})

/** Parses a request. Throws ServiceError 400 that names the wrong part without quoting it. */
export const parseRequest = <T extends z.ZodType>(schema: T, bytes: Uint8Array): z.output<T> => {
  const json = parseJson(bytes)
  if (json === undefined) throw new ServiceError(400, 'bad_request', 'the body is not JSON')
  const parsed = schema.safeParse(json)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  const where = issue === undefined || issue.path.length === 0 ? 'body' : issue.path.join('.')
  throw new ServiceError(400, 'bad_request', `${where}: ${issue?.message ?? 'is malformed'}`)
}
