import type { ReputationEvent } from '../../lib/reputation.ts'
import type { Node } from '../rules/eligibility.ts'
import type { Job } from '../rules/job.ts'

type Document = Job | Node | ReputationEvent

const bigintTag = '$bigint'

/** A document as text: JSON, with each bigint as `{"$bigint": "<decimal>"}`. */
export const encodeDocument = (document: Document): string =>
  JSON.stringify(document, (_, value: unknown) =>
    typeof value === 'bigint' ? { [bigintTag]: value.toString() } : value,
  )

/** A document from its text; throws SyntaxError when the text was not made by `encodeDocument`. */
export const decodeDocument = <T extends Document>(text: string): T =>
  JSON.parse(text, (_, value: unknown) => (isTagged(value) ? BigInt(value[bigintTag]) : value)) as T

const isTagged = (value: unknown): value is { readonly [bigintTag]: string } =>
  typeof value === 'object' &&
  value !== null &&
  bigintTag in value &&
  typeof value[bigintTag] === 'string'
