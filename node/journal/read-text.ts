import { readFileSync } from 'node:fs'

/** Reads a file, empty when there is none. Throws file system errors. */
export function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return ''
    throw error
  }
}
