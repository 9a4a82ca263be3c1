import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { declarationText } from '../../scripts/api-reference/declaration-text.ts'
import { clientReference, referenceFile } from '../../scripts/api-reference/main.ts'

const root = join(import.meta.dirname, '..', '..')

describe('the API reference', () => {
  it('is what the docstrings say now (npm run docs:api makes it again)', async () => {
    const kept = await readFile(join(root, referenceFile), 'utf8')
    const made = await clientReference(root)
    const sections = (text: string) => new Set(text.split(/^(?=### )/m))
    expect([...sections(made)].filter((part) => !sections(kept).has(part))).toEqual([])
    expect(kept === made).toBe(true)
    const undocumented = [...sections(made)].filter((part) => /^### \w+\n\n\n/.test(part))
    expect(undocumented).toEqual([])
  })

  it('shows functions without their bodies, and types whole', () => {
    const source = `export async function read(
  from: { readonly file: string },
  done: () => void = () => {},
): Promise<{ readonly text: string }> {
  return { text: '' }
}

export const join = (left: string, right: string): string => left + right
export type Pair = {
  /** One. */
  readonly left: string

  readonly right: string
}
export const two = 2
`
    const at = (start: string) => source.split('\n').findIndex((line) => line.startsWith(start)) + 1
    expect(declarationText(source, at('export async'))).toBe(
      `async function read(
  from: { readonly file: string },
  done: () => void = () => {},
): Promise<{ readonly text: string }>`,
    )
    expect(declarationText(source, at('export const join'))).toBe(
      'const join = (left: string, right: string): string',
    )
    expect(declarationText(source, at('export type'))).toContain('readonly right: string\n}')
    expect(declarationText(source, at('export const two'))).toBe('const two = 2')
  })
})
