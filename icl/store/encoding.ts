import type { ReputationEvent } from '../../lib/reputation.ts'
import type { Client } from '../rules/client.ts'
import type { Node } from '../rules/eligibility.ts'
import type { Job } from '../rules/job.ts'

export type Document = Job | Node | Client | ReputationEvent

/** Returns the id of a document, which is the address of a node or client. */
export const idOfDocument = (document: Document): string =>
  'address' in document ? document.address : document.id

const bigintTag = '$bigint'

/** Returns a document as JSON text, with each bigint as `{"$bigint": "<decimal>"}`. */
export const encodeDocument = (document: Partial<Document>): string => encoded(document, 2)

// Documents are never changed in place, and a new version shares most of its parts with the one before: their texts are reused.
const texts = new WeakMap<object, string>()

/** Returns an object's JSON. Remembers the texts of its parts, down to `levels`, for the next document that contains them. */
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
  // Everything that is no object is encoded in one call: a call for each value would cost more than the encoding.
  const rest: Record<string, unknown> = Object.create(null)
  let text = ''
  for (const [key, part] of Object.entries(value)) {
    if (isObject(part)) text += `,${JSON.stringify(key)}:${encoded(part, levels)}`
    else rest[key] = tagged(part)
  }
  const first = JSON.stringify(rest)
  return first === '{}' ? `{${text.slice(1)}}` : `${first.slice(0, -1)}${text}}`
}

const tagged = (part: unknown): unknown =>
  typeof part === 'bigint' ? { [bigintTag]: part.toString() } : part

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null

function encodedWhole(value: object): string {
  try {
    return JSON.stringify(value)
  } catch {
    // The value contains a bigint, which is rare. A replacer function for every value would make all encoding four times as slow.
    return JSON.stringify(value, (_, part: unknown) => tagged(part))
  }
}

/** Returns the document of a text. Throws SyntaxError when `encodeDocument` did not make the text. */
export const decodeDocument = <T extends Document>(text: string): T =>
  untagged(JSON.parse(text)) as T

/** Does the same as `decodeDocument`, and also throws SyntaxError when the document has another id. */
export function decodeDocumentOf<T extends Document>(id: unknown, text: string): T {
  const document = decodeDocument<T>(text)
  if (isObject(document) && idOfDocument(document) === id) return document
  throw new SyntaxError('The text is not that of this document')
}

/** Replaces tags by bigints, in place. A reviver function of JSON.parse would take four times as long. */
function untagged(parsed: unknown): unknown {
  if (!isObject(parsed)) return parsed
  const object = parsed as Record<string, unknown>
  for (const key in object) {
    const inner = object[key]
    if (isTagged(inner)) object[key] = BigInt(inner[bigintTag])
    else untagged(inner)
  }
  return parsed
}

const isTagged = (value: unknown): value is { readonly [bigintTag]: string } =>
  isObject(value) && bigintTag in value && typeof value[bigintTag] === 'string'
