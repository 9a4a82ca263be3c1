import { readdir, rm, writeFile } from 'node:fs/promises'
import { isBuiltin } from 'node:module'
import { join } from 'node:path'
import type { BunPlugin } from 'bun'
import { Settings } from './settings.ts'

const root = join(import.meta.dirname, '..', '..')
const entry = 'icl-edge.mjs'
const driver = 'mongodb-driver.mjs'
/** On an edge host, a setting that otherwise names a file names one of these variables, which holds the text. */
const textNames = ['TPM_ROOTS', 'TPM_POLICY', 'TPM_REVOKED', 'CLIENT_ALLOW_LIST', 'DEPLOYMENT']

/** The output folder of the edge bundle. */
export const edgeFolder = join(root, 'dist', 'edge')

// Without the parts for clusters of processes and for pushing, which need a process.
const prometheusParts = ['Counter', 'Gauge', 'Histogram', 'Registry'].map((name) => {
  const file = join(root, 'node_modules', 'prom-client', 'lib', `${name.toLowerCase()}.js`)
  return `export { default as ${name} } from ${JSON.stringify(file)}`
})

const apart: BunPlugin = {
  name: 'what is apart on an edge host',
  setup: (build) => {
    build.onResolve({ filter: /^mongodb$/ }, () => ({ path: `./${driver}`, external: true }))
    build.onResolve({ filter: /^prom-client$/ }, ({ path }) => ({ path, namespace: 'parts' }))
    build.onLoad({ filter: /.*/, namespace: 'parts' }, () => ({
      contents: prometheusParts.join('\n'),
      loader: 'js',
      resolveDir: root,
    }))
  },
}

/** The modules of the host's runtime that a built module imports. */
export const runtimeImports = (code: string): readonly string[] => {
  const found = new Bun.Transpiler({ loader: 'js' }).scanImports(code).map(({ path }) => path)
  return [...new Set(found)].filter((name) => name.startsWith('node:') || isBuiltin(name))
}

/** Builds the edge bundle: the ICL's own modules, MongoDB's driver as a separate module, and the parts of workerd's configuration. */
export async function buildEdge(folder = edgeFolder): Promise<readonly string[]> {
  await rm(folder, { recursive: true, force: true })
  const common = { outdir: folder, format: 'esm', throw: true } as const
  await Bun.build({
    ...common,
    entrypoints: [join(import.meta.dirname, 'workerd.ts')],
    target: 'browser',
    splitting: true,
    naming: { entry, chunk: 'icl-edge-[hash].mjs' },
    plugins: [apart],
  })
  await Bun.build({
    ...common,
    entrypoints: [join(import.meta.dirname, 'edge-mongodb-driver.ts')],
    target: 'node',
    conditions: ['workerd'],
    // The host gives modules no URL.
    define: { 'import.meta.url': '"file:///mongodb-driver.mjs"' },
    naming: driver,
  })
  const names = (await readdir(folder)).filter((name) => name.endsWith('.mjs'))
  const modules = [entry, ...names.filter((name) => name !== entry).sort()]
  await writeFile(join(folder, 'built.capnp'), partsOf(modules))
  return modules
}

/** The parts of workerd's configuration that follow from the build: the modules, and all settings from workerd's own environment. */
const partsOf = (modules: readonly string[]): string => `@0xc2a5d7b1f09e3468;
using Workerd = import "/workerd/workerd.capnp";
const modules :List(Workerd.Worker.Module) = [
${modules.map((name) => `  (name = "${name}", esModule = embed "${name}"),`).join('\n')}
];
const bindings :List(Workerd.Worker.Binding) = [
  (name = "ICL", durableObjectNamespace = "Icl"),
${[...Object.keys(Settings.shape), ...textNames].map((name) => `  (name = "${name}", fromEnvironment = "${name}"),`).join('\n')}
];
`

if (import.meta.main) {
  for (const name of await buildEdge()) console.log(join('dist', 'edge', name))
}
