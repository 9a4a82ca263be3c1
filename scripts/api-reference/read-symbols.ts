import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { z } from 'zod'
import { declarationText } from './declaration-text.ts'

const run = promisify(execFile)
const maxBytes = 64 * 1024 * 1024
const timeoutMs = 120_000

const Declaration = z.object({
  location: z.object({ filename: z.string(), line: z.int() }),
  kind: z.enum(['function', 'typeAlias', 'interface', 'class', 'variable']),
  jsDoc: z.object({ doc: z.string().optional() }).optional(),
})

const Documentation = z.object({
  nodes: z.record(
    z.string(),
    z.object({
      module_doc: z.object({ doc: z.string() }),
      symbols: z.array(
        z.object({ name: z.string(), declarations: z.array(Declaration).min(1).max(2) }),
      ),
    }),
  ),
})

/** An export of a module. */
export type ApiSymbol = {
  readonly name: string
  readonly kind: z.output<typeof Declaration>['kind']
  readonly doc: string
  /** Its declaration, without function bodies. */
  readonly text: string
}

/** Reads a module's exports and their docstrings with Deno. Needs no network. */
export async function readSymbols(
  deno: string,
  module: string,
): Promise<{ readonly about: string; readonly symbols: readonly ApiSymbol[] }> {
  const args = ['doc', '--json', '--quiet', '--no-remote', module]
  const { stdout } = await run(deno, args, {
    maxBuffer: maxBytes,
    timeout: timeoutMs,
    env: { ...process.env, NO_COLOR: '1', DENO_NO_UPDATE_CHECK: '1' },
  })
  const [found] = Object.values(Documentation.parse(JSON.parse(stdout)).nodes)
  if (found === undefined) throw new TypeError(`Deno says nothing about ${module}`)
  return {
    about: found.module_doc.doc.trim(),
    symbols: found.symbols.map(({ name, declarations }) => {
      // A schema and its output type have the same name and docstring.
      const [first, second] = declarations
      const doc = first?.jsDoc?.doc ?? second?.jsDoc?.doc ?? ''
      const { kind = 'variable', location } = first ?? {}
      // Deno counts lines from 0.
      const { filename = '', line = 0 } = location ?? {}
      const source = readFileSync(fileURLToPath(filename), 'utf8')
      return { name, kind, doc: doc.trim(), text: declarationText(source, line + 1) }
    }),
  }
}
