import type { ReputationEvent } from '../../lib/reputation.ts'
import type { Client } from '../rules/client.ts'
import type { Node } from '../rules/eligibility.ts'
import type { Job } from '../rules/job.ts'

export type Document = Job | Node | Client | ReputationEvent

const bigintTag = '$bigint'

/** A document as text: JSON, with each bigint as `{"$bigint": "<decimal>"}`. */
export const encodeDocument = (document: Partial<Document>): string => encoded(document, 2)

// A document is never changed in place, and most of its parts are those of the version before.
const texts = new WeakMap<object, string>()

/** An object as JSON has it, with the parts of so many levels kept for the next document that has them. */
function encoded(value: object, levels: number): string {
  const known = texts.get(value)
  if (known !== undefined) return known
  const text = levels === 0 ? encodedWhole(value) : encodedByParts(value, levels - 1)
  texts.set(value, text)
  return text
}

function encodedByParts(value: object, levels: number): string {
  if (Array.isArray(value)) {
    const entries = value.map((part) =>
      isObject(part) ? encoded(part, levels) : encodedWhole([part]).slice(1, -1),
    )
    return `[${entries.join(',')}]`
  }
  // One call for all that is no object: a call for each costs more than what it encodes.
  const rest: Record<string, unknown> = Object.create(null)
  let text = ''
  for (const [key, part] of Object.entries(value)) {
    if (isObject(part)) text += `,${JSON.stringify(key)}:${encoded(part, levels)}`
    else rest[key] = typeof part === 'bigint' ? { [bigintTag]: part.toString() } : part
  }
  const first = JSON.stringify(rest)
  return first === '{}' ? `{${text.slice(1)}}` : `${first.slice(0, -1)}${text}}`
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

function encodedWhole(value: object): string {
  try {
    return JSON.stringify(value)
  } catch {
    // It has a bigint, as few have. A function for each value would cost all others four times as much.
    return JSON.stringify(value, (_, part: unknown) =>
      typeof part === 'bigint' ? { [bigintTag]: part.toString() } : part,
    )
  }
}

/** A document from its text; throws SyntaxError when the text was not made by `encodeDocument`. */
export const decodeDocument = <T extends Document>(text: string): T =>
  untagged(JSON.parse(text)) as T

/** As `decodeDocument`; throws, too, when the document is not the one with this id. */
export function decodeDocumentOf<T extends Document>(id: unknown, text: string): T {
  const document = decodeDocument<T>(text)
  const isIts =
    typeof document === 'object' &&
    document !== null &&
    ('address' in document ? document.address : document.id) === id
  if (!isIts) throw new SyntaxError('The text is not that of this document')
  return document
}

/** Puts bigints in the place of their tags; JSON.parse would call a function for each value for that, which takes four times as long. */
function untagged(parsed: unknown): unknown {
  if (typeof parsed !== 'object' || parsed === null) return parsed
  const object = parsed as Record<string, unknown>
  for (const key in object) {
    const inner = object[key]
    if (isTagged(inner)) object[key] = BigInt(inner[bigintTag])
    else untagged(inner)
  }
  return parsed
}

const isTagged = (value: unknown): value is { readonly [bigintTag]: string } =>
  typeof value === 'object' &&
  value !== null &&
  bigintTag in value &&
  typeof value[bigintTag] === 'string'
