import { describe, expect, it } from 'vitest'
import { endsAtHangup } from '../../../node/commands/context.ts'

const ends = (input: boolean, output: boolean, isWatched: boolean) =>
  endsAtHangup({ terminal: { input: { isTTY: input }, output: { isTTY: output } }, isWatched })

describe('SIGHUP', () => {
  it('ends a daemon that has a terminal on any stream, and no other', () => {
    expect(ends(false, false, false)).toBe(false)
    expect(ends(true, false, false)).toBe(true)
    expect(ends(false, true, false)).toBe(true)
    expect(ends(false, false, true)).toBe(true)
  })
})
