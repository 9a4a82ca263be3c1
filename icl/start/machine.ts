import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers'
import { figuresOf } from '../../lib/host/process-figures.ts'
import type { RecoverKey } from '../../lib/wallet-signature.ts'
import type { ReadText } from './deployment-settings.ts'
import type { Host } from './host.ts'
import { openServiceStore } from './open-store.ts'
import type { ReadFolder } from './playground.ts'
import { createWebhookSender } from './webhook-sender.ts'

/** Reads the files of a folder of this machine. */
export const readFolder: ReadFolder = (folder, maxBytes) => {
  const entries = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile())
  return new Map(
    entries.map(({ name }) => {
      const content = new Uint8Array(readFileSync(join(folder, name)))
      if (content.length > maxBytes) throw new RangeError(`${name} is too large`)
      return [name, content] as const
    }),
  )
}

/** Reads a file of this machine as text. */
export const readFileText: ReadText = (file) => readFileSync(file, 'utf8')

/** Where Kubo has its RPC by default. */
export const localKubo = 'http://127.0.0.1:5001'

/** The script that `npm run build:pages` makes. */
const docsScript = join(import.meta.dirname, '..', '..', 'dist', 'docs', 'redoc.js')

/** Returns undefined where the script is not built, or where Deno may not read it: the page then says how to build it. */
function readDocsScript(): string | undefined {
  try {
    return readFileText(docsScript)
  } catch {
    return undefined
  }
}

/** This machine as the host of an ICL, in the same way for Bun, Node and Deno. */
export const createMachine = (write: Host['write']): Host => ({
  write: together(write),
  readText: readFileText,
  openStore: openServiceStore,
  localKubo,
  openWebhooks: createWebhookSender,
  loadRecovery,
  readDocsScript,
  defer: setImmediate,
  figures: figuresOf(process),
})

/** Writes the lines of one turn of the event loop together, to save system calls. The last lines are written when the process exits. */
function together(write: Host['write']): Host['write'] {
  let waiting: string[] | undefined
  const flush = () => {
    const lines = waiting?.splice(0) ?? []
    if (lines.length > 0) write(lines.join(''))
  }
  return (line) => {
    if (waiting === undefined) process.once('exit', flush)
    waiting ??= []
    if (waiting.push(line) === 1) setImmediate(flush)
  }
}

/** Key recovery in WebAssembly, which the package reads from a file beside it. */
export async function loadRecovery(): Promise<RecoverKey> {
  const { recover } = await import('tiny-secp256k1')
  return (hash, rs, parity) => recover(hash, rs, parity, false)
}
