import * as base64url from 'jose/base64url'
import { z } from 'zod'
import { isStrongKey } from './strong-key.ts'

const hexString = (digits: number) =>
  z.string().regex(new RegExp(`^0x[0-9a-fA-F]{${digits}}$`), `must be 0x and ${digits} hex digits`)

/** Hex text that was parsed or made as one kind of value. Kinds are not assignable to one another, and each is a `0x${string}`. */
type Branded<Kind extends string> = `0x${string}` & { readonly '(kind)': Kind }

const branded = <Kind extends string>(digits: number, id: Kind) =>
  hexString(digits)
    .toLowerCase()
    .meta({ id, examples: [`0x${'5a'.repeat(digits / 2)}`] }) as unknown as z.ZodType<
    Branded<Kind>,
    string
  >

/** A chain address: 20 bytes as 0x and hex, any case in, lower case out. */
export const Address = branded(40, 'Address')
export type Address = z.output<typeof Address>

/** 32 bytes as 0x and 64 hex digits. */
export const Hash32 = branded(64, 'Hash32')
export type Hash32 = z.output<typeof Hash32>

/** A job's id everywhere, from the wire to the chain: 32 bytes, made by `jobIdOf`. */
export const JobId = branded(64, 'JobId')
export type JobId = z.output<typeof JobId>

/** Visible ASCII, which has the same bytes in every encoding. */
export const Visible = (maxLength: number) =>
  z.string().regex(new RegExp(`^[\\x21-\\x7e]{1,${maxLength}}$`), 'must be visible ASCII')

/** The origin of an ICL, as URLs spell it. */
export const IclOrigin = Visible(512).meta({ examples: ['https://icl.example'] })

/** A uint256: decimal or 0x text in, decimal text out, because JSON numbers lose precision above 2^53. */
export const Uint256 = z.codec(
  z
    .string()
    .regex(/^(0x[0-9a-fA-F]{1,64}|0|[1-9][0-9]{0,77})$/)
    .meta({ examples: ['1000'] }),
  z
    .bigint()
    .min(0n)
    .max(2n ** 256n - 1n),
  { decode: (text) => BigInt(text), encode: (value) => value.toString() },
)

/** The number of a block, as Uint256 spells it. Chain RPCs fail for numbers that no chain reaches. */
export const BlockNumber = Uint256.refine(
  (number) => number <= BigInt(Number.MAX_SAFE_INTEGER),
  'must be the number of a block',
)

/** A whole number of a query: digits without a sign or leading zeros in, a number out. */
export const QueryInt = (min: number, max: number) =>
  z
    .codec(
      z.string().regex(/^(0|[1-9][0-9]{0,14})$/, 'must be a whole number'),
      z.int().min(min).max(max),
      { decode: Number, encode: String },
    )
    .meta({ type: 'integer', minimum: min, maximum: max, pattern: undefined })

// The first character after the prefix also ends the digest's length, and the last has two bits that no byte uses: they must be zero.
const cid = /^bafkrei[a-h][a-z2-7]{50}[aeimquy4]$/
/** A CIDv1 of a raw block hashed with sha2-256, in base32: the only kind this service makes (one block of at most 1 MiB). Each has one spelling. */
export const Cid = z
  .string()
  .regex(cid, 'must be a CIDv1 of a raw sha2-256 block (bafkrei...)')
  .meta({ id: 'Cid', examples: [`bafkreia${'a'.repeat(51)}`] })

// The last character of base64url has bits that no byte uses. They must be zero, or a value would have several spellings.
const lastOfTwo = '[AQgw]'
const lastOfThree = '[AEIMQUYcgkosw048]'
const base64Url = (wholeGroups: string) =>
  `(?:[A-Za-z0-9_-]{4})${wholeGroups}(?:[A-Za-z0-9_-]${lastOfTwo}|[A-Za-z0-9_-]{2}${lastOfThree})?`

/** Bytes as base64url without padding, in canonical spelling. */
export const Base64Url = (maxBytes: number) =>
  z
    .string()
    .max(Math.ceil((maxBytes * 4) / 3))
    .regex(new RegExp(`^${base64Url('*')}$`), 'must be base64url')
    .meta({ examples: ['AAECAwQFBgcICQoLDA0ODw'] })

const base64Url32 = new RegExp(`^[A-Za-z0-9_-]{42}${lastOfThree}$`)
/** 32 bytes in base64url. */
export const Base64Url32 = z
  .string()
  .regex(base64Url32, 'must be 32 bytes in base64url')
  .meta({ examples: ['AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8'] })

/** The cursor of a list's next page; null after the last one. */
export const NextCursor = Base64Url(256).nullable()

/** Seconds since the Unix epoch. */
export const UnixSeconds = z
  .int()
  .min(0)
  .max(99_999_999_999)
  .meta({ examples: [1_800_000_000] })

/** The longest wait that a node names: a day. */
export const longestRetrySeconds = 86_400

/** For how many seconds a provider asks its node to wait. */
export const RetryAfter = z.int().min(1).max(longestRetrySeconds)

/** `<provider>:<model_name>` (spec 2.4). */
export const ModelId = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,31}:[A-Za-z0-9._:/@+-]{1,96}$/, 'must be <provider>:<model_name>')
  .meta({ id: 'ModelId', examples: ['openai:gpt-4o'] })

/** Decides whether two pieces of evidence show the same answer; versioned. */
export const ComparatorId = z
  .enum(['exact', 'similar/2', 'structured/1'])
  .meta({ id: 'ComparatorId' })
export type ComparatorId = z.output<typeof ComparatorId>

/** What checkers say of a delivered text besides their verdict; versioned. */
export const CheckId = z.enum(['teacher/1']).meta({ id: 'CheckId' })
export type CheckId = z.output<typeof CheckId>

/** The comparator of a job when neither its client nor the ICL's operator chose one. */
export const defaultComparator: ComparatorId = 'similar/2'

/** A model tier (spec 2.2). */
export const ModelTier = z.int().min(0).max(255)

/** The highest s that a signature of a wallet may have (EIP-2). */
export const halfCurveOrder = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n

/** An Ethereum signature in canonical spelling: r, the lower s, and v as 1b or 1c. */
export const WalletSignature = z
  .string()
  .regex(/^0x[0-9a-f]{128}(1b|1c)$/, {
    error: 'must be r, s and v (1b or 1c) in lower-case hex',
    // The next check parses hex, and throws on other text.
    abort: true,
  })
  .refine((text) => BigInt(`0x${text.slice(66, 130)}`) <= halfCurveOrder, {
    message: 'must have the lower s',
  })
  .meta({ examples: [`0x${'5a'.repeat(64)}1b`] }) as unknown as z.ZodType<`0x${string}`, string>

/** An Ed25519 signature, 64 bytes in base64url. */
export const SessionSignature = z
  .string()
  .regex(new RegExp(`^[A-Za-z0-9_-]{85}${lastOfTwo}$`), 'must be 64 bytes in base64url')
  .meta({ examples: ['A'.repeat(86)] })

/** An Ed25519 public key that `isStrongKey` accepts, 32 bytes in base64url. */
export const SessionPublicKey = z
  .string()
  .regex(base64Url32, { error: 'must be 32 bytes in base64url', abort: true })
  .refine((text) => isStrongKey(base64url.decode(text)), {
    message: 'must be canonical and not of small order',
  })
  .meta({ id: 'SessionPublicKey', examples: ['1UIH2hlJd9z0atv-wrwudbUtWopCGE_t_cAAJPDj6No'] })
