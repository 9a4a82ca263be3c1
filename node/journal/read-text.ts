import { readFileSync } from 'node:fs'

/** The text of a file; empty when there is none; throws what the file system throws. */
export function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return ''
    throw error
  }
}
