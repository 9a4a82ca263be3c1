import { describe, expect, it } from 'vitest'
import { errorMessage } from '../../../lib/error-message.ts'
import { readCommandLine } from '../../../lib/host/command-line.ts'

const options = {
  model: { type: 'string' },
  receipt: { type: 'string' },
  keep: { type: 'boolean' },
} as const

const mistakeOf = (...args: readonly string[]): string => {
  try {
    readCommandLine({ args: [...args], options, allowPositionals: true }, (said) => Error(said))
  } catch (error) {
    return errorMessage(error)
  }
  return 'none'
}

describe('a wrong command line', () => {
  it.each([
    ['--modell', 'There is no option --modell. Did you mean --model?'],
    ['--recept', 'There is no option --recept. Did you mean --receipt?'],
    ['--nothing-like-it', 'There is no option --nothing-like-it'],
    ['-z', 'There is no option -z'],
  ])('%s is told with what was meant, if anything is near', (typed, said) => {
    expect(mistakeOf(typed)).toBe(said)
  })

  it('is told in one line otherwise', () => {
    expect(mistakeOf('--model')).toMatch(/^Option '--model <value>' argument missing/)
    expect(mistakeOf('--keep=yes')).toContain("'--keep'")
  })
})
