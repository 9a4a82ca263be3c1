/*
 * Problem: providers report one error in many ways. The status of HTTP may be 200 or a general 400 while the body names another one. The
 * error is an object, a text or a list, alone or in a choice of an answer or in an event of a stream. Each vendor has its own names.
 *
 * Idea: one reader for all places. A name that says the cause counts most, then a status that says it, then the status in the body.
 *
 * Failure cases: words may quote the prompt, so they decide only where they begin the message, or where both readings are the client's to
 * act on. They are never shown above DEBUG.
 */

import { z } from 'zod'
import { causesOf, type ProviderCode, ProviderFault } from './provider-fault.ts'
import { begunCause, isTooLongIn, namedCause } from './provider-words.ts'

const Name = z
  .union([z.string(), z.number().transform(String)])
  .nullish()
  .catch(undefined)
const Detail = z.object({ reason: Name, retryDelay: Name, error_code: Name }).catch({})
const Reported = z.object({
  message: z.unknown().optional(),
  code: Name,
  type: Name,
  status: Name,
  param: z.string().nullish().catch(undefined),
  // Anthropic's is one, Google's is a list.
  details: z
    .union([Detail.array(), Detail.transform((one) => [one])])
    .optional()
    .catch(undefined),
  innererror: z.object({ code: Name }).optional().catch(undefined),
  // OpenRouter's: the error of the provider behind it, and whether it refused the prompt.
  metadata: z
    .object({ raw: z.unknown().optional(), flagged_input: z.unknown().optional() })
    .optional()
    .catch(undefined),
})

/** The place of an error: the status of HTTP, and the headers. */
type Place = Pick<Response, 'status'> & { readonly headers?: Headers | undefined }

/** An error that a provider reports. */
export class ProviderReport extends Error {
  /** The status of HTTP. */
  readonly status: number
  readonly headers: Headers | undefined
  /** The provider's names for the error, and numbers, as texts. */
  readonly names: readonly string[]
  /** The field of the request that is wrong, as OpenAI names it. */
  readonly param: string | undefined
  /** May quote the prompt. */
  readonly words: string
  /** Google's `retryDelay`. */
  readonly retryDelay: string | undefined

  constructor(error: unknown, { status, headers }: Place) {
    // The SDKs look for timeouts in messages.
    super('the provider reports an error')
    const { data = Reported.parse({}) } = Reported.safeParse(error)
    const { code, type, details = [], innererror, metadata } = data
    const flagged = metadata?.flagged_input === undefined ? undefined : 'content_filter'
    const reasons = details.flatMap(({ reason, error_code: named }) => [reason, named])
    this.names = [code, type, data.status, innererror?.code, ...reasons, flagged]
      .filter((name) => typeof name === 'string')
      .filter((name) => name !== '')
    this.status = status
    this.headers = headers
    this.param = data.param || undefined
    this.retryDelay = details.find(({ retryDelay }) => retryDelay)?.retryDelay ?? undefined
    const words = [data.message ?? error, metadata?.raw].filter((one) => one !== undefined)
    this.words = words
      .map((one) => (typeof one === 'string' ? one : JSON.stringify(one)))
      .join(' ')
      .slice(0, maxCharacters)
  }

  /** The cause. */
  get code(): ProviderCode {
    return causeOf(this)
  }

  /** The provider's name for the kind of error. */
  get kind(): string | undefined {
    const numbers = this.names.filter((name) => name !== String(this.status))
    return this.names.find((name) => statusIn(name) === undefined) ?? numbers[0]
  }
}

const maxCharacters = 10_000

/** Returns the error that a body or an event reports, undefined when it reports none. */
export function errorIn(body: unknown): unknown {
  const [first] = Array.isArray(body) ? body : [body]
  if (typeof first !== 'object' || first === null) return undefined
  if ('error' in first && first.error) {
    const error = Array.isArray(first.error) ? first.error[0] : first.error
    return typeof error === 'string' ? { message: error, ...first } : error
  }
  const { object, type } = first as { readonly object?: unknown; readonly type?: unknown }
  return object === 'error' || type === 'error' ? first : undefined
}

/** Throws the error that an answer under status 200, or a part of one, reports. */
export function throwReported(part: unknown, place: Place = { status: 200 }): void {
  const error = errorIn(part)
  if (error !== undefined) throw new ProviderReport(error, place)
}

const statusIn = (name: string): number | undefined =>
  /^[45]\d\d$/.test(name) ? Number(name) : undefined

// What these say is no more general than what the body says.
const plainStatuses = [401, 402, 403, 404, 429, 529]

function causeOf({ status, names, words }: ProviderReport): ProviderCode {
  const named = namedCause(names)
  if (named) return named
  if (status === 413) return 'provider-prompt-too-long'
  const inBody = names.map(statusIn).find((one) => one !== undefined)
  const said = plainStatuses.includes(status) ? status : (inBody ?? status)
  const cause = ofStatus(said)
  if (said === 413 || (mayBeTooLong.includes(cause) && isTooLongIn(words))) {
    return 'provider-prompt-too-long'
  }
  const begun = begunCause(words)
  if (begun) return begun
  // A firewall's page says nothing of the key.
  if (said === 403 && /^\s*</.test(words)) return 'provider-unavailable'
  return said < 400 ? ofWords(names, words) : cause
}

const mayBeTooLong: readonly ProviderCode[] = ['provider-refused', 'provider-unavailable']

function ofStatus(status: number): ProviderCode {
  if (status === 402) return 'provider-quota-used-up'
  if (status === 401 || status === 403) return 'provider-key-refused'
  if (status === 404) return 'provider-model-unknown'
  if (status === 429) return 'provider-rate-limited'
  const isRefusal = status >= 400 && status < 500 && status !== 408 && status !== 409
  return isRefusal ? 'provider-refused' : 'provider-unavailable'
}

/** Reads an error that no status explains. */
function ofWords(names: readonly string[], words: string): ProviderCode {
  if (/^(rate limit|too many requests)/i.test(words)) return 'provider-rate-limited'
  const isInvalid = names.some((name) => /^(invalid_|bad_?request)/i.test(name))
  return isInvalid ? 'provider-refused' : 'provider-unavailable'
}

/** Returns the fault or the report within an SDK's error, which wraps what its fetch throws. */
export const failureIn = (error: unknown): ProviderFault | ProviderReport | undefined =>
  causesOf(error).find((one) => one instanceof ProviderFault || one instanceof ProviderReport)
