// Writes docs/api/client.md from the docstrings of the client: npm run docs:api

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readSymbols } from './read-symbols.ts'
import { renderReference } from './render.ts'

const clientModule = 'lib/client/mod.ts'

/** The file of the reference. */
export const referenceFile = 'docs/api/client.md'

/** Renders the reference of the client from its present docstrings. */
export async function clientReference(root: string): Promise<string> {
  const deno = join(root, 'node_modules', '.bin', 'deno')
  return renderReference(clientModule, await readSymbols(deno, join(root, clientModule)))
}

if (import.meta.main) {
  const root = join(import.meta.dirname, '..', '..')
  await writeFile(join(root, referenceFile), await clientReference(root))
  console.log(`${referenceFile} is made from ${clientModule}`)
}
