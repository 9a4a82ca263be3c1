import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/** What the ICL runs on. */
export const iclRuntimes = ['bun', 'node', 'deno', 'workerd'] as const
export type IclRuntime = (typeof iclRuntimes)[number]

const modules = join(import.meta.dirname, '..', 'node_modules')

/** The program of a package that npm chose for this machine among those of a scope. */
function programIn(scope: string, file: string): string | undefined {
  const folders = existsSync(join(modules, scope)) ? readdirSync(join(modules, scope)) : []
  return folders.map((name) => join(modules, scope, name, file)).find((path) => existsSync(path))
}

const end = process.platform === 'win32' ? '.exe' : ''

/** The program of a runtime, for Node the one that SVC_NODE_BIN names; undefined when npm has not installed it. */
export function programOf(runtime: IclRuntime): string | undefined {
  switch (runtime) {
    case 'bun':
      return process.versions.bun ? process.execPath : programIn('@oven', join('bin', `bun${end}`))
    case 'node': {
      const program = process.env.SVC_NODE_BIN ?? join(modules, '.bin', `node${end}`)
      return existsSync(program) ? program : undefined
    }
    case 'deno':
      return programIn('@deno', `deno${end}`)
    case 'workerd':
      return programIn('@cloudflare', join('bin', `workerd${end}`))
  }
}
