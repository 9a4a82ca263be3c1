import { describe, expect, it } from 'vitest'
import { fitHelp } from '../../../lib/host/fit-help.ts'

const words = (count: number) => Array.from({ length: count }, () => 'word').join(' ')

describe('a help text', () => {
  it('stays as it is up to 100 columns', () => {
    const text = `Usage: x\n\n  --flag  ${'y'.repeat(90)}\n`
    expect(fitHelp(text)).toBe(text)
    const full = 'y'.repeat(100)
    expect(fitHelp(`${full} `)).toBe(full)
  })

  it('goes on below what a list says of an entry, in lines of 100 columns at most', () => {
    const lines = fitHelp(`  --flag N  ${words(50)}`).split('\n')
    expect(lines.length).toBeGreaterThan(2)
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(100)
    for (const line of lines.slice(1)) expect(line).toMatch(/^ {12}word/)
    expect(lines.join(' ').replaceAll(/ +/g, ' ')).toBe(` --flag N ${words(50)}`)
  })

  it('keeps a word that is longer than a line whole', () => {
    const word = 'z'.repeat(150)
    expect(fitHelp(word)).toBe(word)
    expect(fitHelp(`  --flag  ${word} end`)).toContain(word)
  })
})
