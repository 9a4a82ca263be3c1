import { readFileSync } from 'node:fs'
import type { z } from 'zod'
import { parseJson } from '../../lib/parse-json.ts'

/** Parses a text with one JSON document a line. Returns the records, and the number of other lines: a line may be incomplete. */
export function parseLines<T>(
  text: string,
  schema: z.ZodType<T>,
): { readonly records: readonly T[]; readonly skipped: number } {
  const lines = text.split('\n').filter((line) => line !== '')
  const records = lines.flatMap((line) => {
    const parsed = schema.safeParse(parseJson(line))
    return parsed.success ? [parsed.data] : []
  })
  return { records, skipped: lines.length - records.length }
}

/** Reads a file, empty when there is none. Throws file system errors. */
export function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return ''
    throw error
  }
}
