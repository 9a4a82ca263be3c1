import { join } from 'node:path'
import type { BunPlugin } from 'bun'

const root = join(import.meta.dirname, '..', '..')

/** Gives all packages the project's zod: CoFHE's SDK brings an older one of its own. */
export const oneZod: BunPlugin = {
  name: 'one zod',
  setup: (build) => {
    build.onResolve({ filter: /^zod$/ }, () => ({ path: Bun.resolveSync('zod', root) }))
  },
}
