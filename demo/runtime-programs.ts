import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/** The runtimes of the ICL. */
export const iclRuntimes = ['bun', 'node', 'deno', 'workerd'] as const
export type IclRuntime = (typeof iclRuntimes)[number]

/** The runtimes of the demo's ICL. With `wrangler`, Cloudflare's tool, it runs as it is deployed there. */
export const demoRuntimes = [...iclRuntimes, 'wrangler'] as const
export type DemoRuntime = (typeof demoRuntimes)[number]

const modules = join(import.meta.dirname, '..', 'node_modules')

/** Finds the program in the package of a scope that npm installed for this machine. */
function programIn(scope: string, file: string): string | undefined {
  const folders = existsSync(join(modules, scope)) ? readdirSync(join(modules, scope)) : []
  return folders.map((name) => join(modules, scope, name, file)).find((path) => existsSync(path))
}

const end = process.platform === 'win32' ? '.exe' : ''

/** Returns the program of a runtime, for Node the one in SVC_NODE_BIN if set, for wrangler npm, which fetches it. Undefined when npm has not installed it. */
export function programOf(runtime: DemoRuntime): string | undefined {
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
    case 'wrangler':
      return 'npm'
  }
}
