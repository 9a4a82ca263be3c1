import { join } from 'node:path'
import { readSymbols } from './read-symbols.ts'
import { renderReference } from './render.ts'

/** What the reference is about. */
export const clientModule = 'lib/client/mod.ts'

/** Where the reference is kept. */
export const referenceFile = 'docs/api/client.md'

/** The reference of the client as its docstrings have it now. */
export async function clientReference(root: string): Promise<string> {
  const deno = join(root, 'node_modules', '.bin', 'deno')
  return renderReference(clientModule, await readSymbols(deno, join(root, clientModule)))
}
