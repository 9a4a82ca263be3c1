import fc from 'fast-check'
import { describe, expect } from 'vitest'
import { promptOfText, readPrompt, writePrompt } from '../../../lib/prompt.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { samplePrompt } from '../../sample-prompt.ts'
import { forAll, itHolds } from './runs.ts'

/** Reads what was sealed, and is sure that a failure is the one that a node gives back, without the text in it. */
const read = (sealed: string) => {
  try {
    return readPrompt(sealed)
  } catch (error) {
    expect(error).toBeInstanceOf(SvcError)
    const { code, cause } = error as SvcError
    expect([code, cause]).toEqual(['prompt-unreadable', undefined])
    return undefined
  }
}

const isSame = (sealed: string) => {
  const prompt = read(sealed)
  // Whatever is read can be written and read again.
  if (prompt !== undefined) expect(readPrompt(writePrompt(prompt))).toEqual(prompt)
}

describe('prompt documents', () => {
  itHolds('hold any text', () =>
    forAll(300, fc.string({ unit: 'binary', minLength: 1 }), (text) => {
      expect(readPrompt(writePrompt(promptOfText(text)))).toEqual(promptOfText(text))
    }),
  )

  itHolds('are read, or refused as unreadable, whatever was sealed', () =>
    forAll(300, fc.oneof(fc.string(), fc.json()), isSame),
  )

  itHolds('are so with any of their values exchanged', async () => {
    const parts = JSON.stringify(samplePrompt).split(/("[^"]*"|\d+|true)/)
    const values = parts.flatMap((_, at) => (at % 2 === 1 ? [at] : []))
    await forAll(500, fc.constantFrom(...values), fc.json({ maxDepth: 2 }), (at, value) => {
      isSame(parts.with(at, value).join(''))
    })
  })
})
