import { describe, expect, it } from 'vitest'
import type { Actor } from '../../lib/causes/cause.ts'
import { lineOf } from '../../lib/causes/line.ts'
import { type CauseCode, causes, remedyFor } from '../../lib/causes.ts'
import { AbortReason, AssignmentReason, JobReason, VerdictReason } from '../../lib/schemas/jobs.ts'
import { whyText } from '../../web/console/format.ts'

const causeLine = (reader: Actor | undefined, code: CauseCode, model?: string) =>
  lineOf(causes[code], reader, model)

const codes = Object.keys(causes) as CauseCode[]
const model = 'openai:gpt-4o-mini'
const readers = ['client', 'node operator', 'service operator', undefined] as const

describe('the table of causes', () => {
  it('explains whatever the wire says of a failure', () => {
    const wire = [...AssignmentReason.options, ...JobReason.options, ...VerdictReason.options]
    const failures = wire.filter((code) => code !== 'quorum-agreed')
    expect(codes).toEqual(expect.arrayContaining(failures))
  })

  it.each(readers)('gives no two causes the same line (reader: %s)', (reader) => {
    for (const text of [causeLine, remedyFor]) {
      const lines = codes.map((code) => text(reader, code, model))
      expect(lines.filter((line, index) => lines.indexOf(line) !== index)).toEqual([])
    }
  })

  it('names in each line who has to act and what to do, unless the reader is the one', () => {
    const label = /^(Client|Node operator|Service operator|Provider): \w.{8,}\.$/
    const plain = /^[A-Z].{8,}\.$/
    for (const code of codes) {
      const { who } = causes[code]
      expect(remedyFor(undefined, code, model), code).toMatch(who === 'nobody' ? plain : label)
      for (const reader of ['client', 'node operator'] satisfies Actor[]) {
        const remedy = remedyFor(reader, code, model)
        if (who === reader || who === 'nobody') expect(remedy, code).toMatch(plain)
        else expect(remedy, code).toMatch(label)
      }
    }
  })

  it('fills in the model and, at its node, the variable of its key, and leaves no gap without a model', () => {
    for (const code of codes) {
      expect(causeLine('client', code, model)).not.toMatch(/[{}]/)
      expect(causeLine('client', code)).not.toMatch(/[{}]|undefined| {2}/)
    }
    expect(causeLine('client', 'provider-key-refused', model)).toBe(
      "The provider refused the node's API key. Node operator: set the API key of openai to a key that the provider accepts.",
    )
    expect(remedyFor('node operator', 'provider-key-refused', 'ollama:x', 'OUR_KEY')).toMatch(
      /^Set OUR_KEY to a key/,
    )
  })

  it('is what the console shows of every reason to give work back', () => {
    for (const code of AbortReason.options) {
      expect(whyText(code, model)).toBe(causeLine(undefined, code, model))
    }
    expect(whyText('quorum-agreed', model)).toBe('quorum agreed')
  })
})
