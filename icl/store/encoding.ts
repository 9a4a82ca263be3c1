import type { ReputationEvent } from '../../lib/reputation.ts'
import type { Client } from '../rules/client.ts'
import type { Node } from '../rules/eligibility.ts'
import type { Job } from '../rules/job.ts'

export type Document = Job | Node | Client | ReputationEvent

const bigintTag = '$bigint'

/** A document as text: JSON, with each bigint as `{"$bigint": "<decimal>"}`. */
export const encodeDocument = (document: Document): string =>
  JSON.stringify(document, (_, value: unknown) =>
    typeof value === 'bigint' ? { [bigintTag]: value.toString() } : value,
  )

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
