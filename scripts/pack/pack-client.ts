import { cp, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import manifest from '../../package.json' with { type: 'json' }
import { bundle, root } from './bundle.ts'
import { declarationOf, declare } from './declarations.ts'
import { npmPack } from './npm-pack.ts'
import { packageNames } from './packages.ts'

const entry = 'lib/client/mod.ts'
/** Makes proofs in workers. Only clients that encrypt on a public network need it and its FHE code. */
const prover = 'lib/coprocessor/worker-prover.ts'
const worker = 'lib/coprocessor/prove-worker.ts'
const wasm = 'tfhe_bg.wasm'
/** Packages that the types refer to. Only zod stays an import: to load all of viem takes Node longer than the rest. */
const shared = ['viem', 'zod'] as const

/** Packs the client library into a folder. Returns the path of the file. */
export async function packClient(folder: string): Promise<string> {
  const place = join(folder, 'client')
  await rm(place, { recursive: true, force: true })
  const modules = join(place, 'dist')
  // Node has no `self`, on which a dependency of the SDK looks for randomness.
  const define = { self: 'globalThis' }
  const built = { folder: modules, target: 'browser', external: ['zod'], define } as const
  await bundle({ ...built, entrypoints: [entry, prover, worker] })
  await cp(join(root, 'node_modules', 'tfhe', wasm), join(modules, wasm))
  await declare([entry, prover], join(place, 'types'))
  await writeFile(join(place, 'README.md'), readme)
  return await npmPack(place, folder, {
    name: packageNames.client,
    description: 'The client of a confidential, quorum-checked inference service',
    sideEffects: false,
    exports: {
      '.': exported(entry),
      './prover': exported(prover),
      './prove-worker.js': moduleOf(worker),
      [`./${wasm}`]: `./dist/${wasm}`,
    },
    types: typesOf(entry),
    files: ['dist', 'types'],
    dependencies: Object.fromEntries(
      shared.map((name) => [name, `^${manifest.dependencies[name]}`]),
    ),
  })
}

const moduleOf = (source: string): string => `./dist/${basename(source, '.ts')}.js`
const typesOf = (source: string): string => `./types/${declarationOf(source)}`
const exported = (source: string) => ({ types: typesOf(source), default: moduleOf(source) })

const readme = `# ${packageNames.client}

\`\`\`ts
import { createClient } from '${packageNames.client}'
import { privateKeyToAccount } from 'viem/accounts'

const client = await createClient({ icl, rpcUrl, account: privateKeyToAccount(key) })
const result = await client.infer('Why is the sky blue?', { model: 'openai:gpt-4o' })
if (result.status === 'accepted') console.log(result.output)
\`\`\`

An ICL answers a page of another origin if its setting \`SVC_ICL_ALLOW_ORIGINS\` has that origin.

## Proofs

On a public network, prompts are encrypted with proofs, which take ten seconds and are made in workers. Give
\`createClient\` a \`prover\`. With Vite and webpack:

\`\`\`ts
import { createWorkerProver } from '${packageNames.client}/prover'

const prover = createWorkerProver({
  startWorker: () =>
    new Worker(new URL('${packageNames.client}/prove-worker.js', import.meta.url), { type: 'module' }),
  wasmUrl: new URL('${packageNames.client}/${wasm}', import.meta.url).href,
})
\`\`\`

esbuild leaves such URLs as they are. Build the worker as a second entry, and copy the code for encryption beside it:

\`\`\`sh
npx esbuild main=src/main.js prove-worker=${packageNames.client}/prove-worker.js --bundle --format=esm --splitting --minify --outdir=dist
cp node_modules/${packageNames.client}/dist/${wasm} dist
\`\`\`

\`\`\`ts
import { createWorkerProver } from '${packageNames.client}/prover'

const prover = createWorkerProver({
  startWorker: () => new Worker(new URL('prove-worker.js', import.meta.url), { type: 'module' }),
  wasmUrl: new URL('${wasm}', import.meta.url).href,
})
\`\`\`
`
