import type { z } from 'zod'
import { parseJson } from '../../lib/parse-json.ts'

/** The records of a text with one JSON document a line, and how many lines are none of theirs: a line may have been cut off. */
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
