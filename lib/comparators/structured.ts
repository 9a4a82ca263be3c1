/*
 * Problem: programs execute tool calls and JSON. Similar ones are not the same: a path may differ by one letter.
 *
 * Idea: nodes write answer documents in canonical form (lib/answer.ts). Calls and JSON match when the documents are equal. A text, which a
 * model may always answer with, is compared by `similar/2`.
 *
 * Invariants:
 * - The digest covers the whole document, so what is delivered is what was compared, with its finish reason.
 * - Documents of different kinds never match: calls or JSON, a text, a truncated text.
 *
 * Failure cases: a text that is no answer document is compared for equality.
 */

import { parseAnswer } from '../answer.ts'
import { evidenceOfWhole } from '../evidence.ts'
import { isContainer } from '../is-json.ts'
import { parseJson } from '../parse-json.ts'
import type { Evidence } from '../schemas/evidence.ts'
import { defineComparator, explainEqual } from './define-comparator.ts'
import { similar } from './similar.ts'

const id = 'structured/1'

// The prefix of a sketch names the kind of its text. It encodes three bytes, so that the sketch stays base64url.
const prefixes = { stop: 'stop', length: 'cut_' } as const

/** Answer documents match when their calls or their JSON are equal, or their texts similar; not measured on models. */
export const structured = defineComparator({
  id,
  canBeInconclusive: true,
  async evidenceOf({ text, prompt, key }) {
    const whole = { comparator: id, ...(await evidenceOfWhole(key, text)) } as const
    const answer = parseAnswer(text)
    if (!answer || 'tool_calls' in answer || isContainer(parseJson(answer.content))) {
      return whole
    }
    const { content, finish_reason: reason } = answer
    const { sketch = '', tokens, units } = await similar.evidenceOf({ text: content, prompt, key })
    return { ...whole, sketch: prefixes[reason] + sketch, tokens, units }
  },
  malformation(evidence) {
    const text = textIn(evidence)
    if (text === undefined) return undefined
    const isKnown = Object.values<string>(prefixes).includes(text.kind)
    return isKnown ? similar.malformation(text.likeness) : 'its sketch is of no known kind'
  },
  explain(a, b) {
    const [one, other] = [textIn(a), textIn(b)]
    if (one?.kind !== other?.kind) return { outcome: 'no-match', why: 'the kinds of answer differ' }
    if (one && other) return similar.explain(one.likeness, other.likeness)
    return explainEqual(a, b, 'calls or JSON')
  },
})

/** Returns the kind of a text, and its evidence as `similar/2` makes it; undefined for calls and JSON. */
function textIn(evidence: Evidence) {
  const { sketch } = evidence
  if (sketch === undefined) return undefined
  const kind = sketch.slice(0, 4)
  return { kind, likeness: { ...evidence, comparator: similar.id, sketch: sketch.slice(4) } }
}
