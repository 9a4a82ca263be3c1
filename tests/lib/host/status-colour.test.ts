import { describe, expect, it } from 'vitest'
import { withStatusColour } from '../../../lib/host/status-colour.ts'

const terminal = { isTTY: true }

describe('the status of a line', () => {
  it('has a colour on a terminal, and only the first word', () => {
    const colour = withStatusColour(terminal, { TERM: 'xterm' })
    expect(colour('FAIL    icl  is away')).toBe('\u001b[31mFAIL\u001b[0m    icl  is away')
    expect(colour('ok      icl  is ok now')).toBe('\u001b[32mok\u001b[0m      icl  is ok now')
    expect(colour('okay: FAIL ok')).toBe('okay: FAIL ok')
  })

  it('has none in a file, with NO_COLOR, or on a terminal without', () => {
    const line = 'error: no'
    for (const colour of [
      withStatusColour({}, { TERM: 'xterm' }),
      withStatusColour(terminal, { TERM: 'xterm', NO_COLOR: '1' }),
      withStatusColour(terminal, { TERM: 'dumb' }),
    ]) {
      expect(colour(line)).toBe(line)
    }
  })
})
