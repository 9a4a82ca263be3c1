import { cp, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import manifest from '../../package.json' with { type: 'json' }
import { bundle, root } from './bundle.ts'
import { npmPack } from './npm-pack.ts'
import { packageNames } from './packages.ts'

/** Each command is the module of its name. The others are the program and a thread for proofs. */
const entrypoints = [
  'client/packed/main.ts',
  'client/packed/infer.ts',
  'client/packed/gateway.ts',
  'client/packed/prove-thread.ts',
  'node/receipt.ts',
]

const [major, minor] = manifest.engines.node.replace('>=', '').split('.')
/** An older Node has to be able to read this file. */
const program = `#!/usr/bin/env node
const [major, minor] = process.versions.node.split('.').map(Number)
if (major > ${major} || (major === ${major} && minor >= ${minor})) {
  import('../dist/main.js')
} else {
  console.error(
    \`${packageNames.command} needs Node ${major}.${minor} or newer, and this is Node \${process.versions.node}. Install a newer one (https://nodejs.org) and run the command again.\`,
  )
  process.exitCode = 1
}
`

/** Packs the commands of the client with all that they need into a folder. Returns the path of the file. */
export async function packCommand(folder: string): Promise<string> {
  const { command } = packageNames
  const place = join(folder, 'command')
  const modules = join(place, 'dist')
  await rm(place, { recursive: true, force: true })
  const define = { SVC_PACKAGE: JSON.stringify(command) }
  await bundle({ entrypoints, folder: modules, target: 'node', minify: true, define })
  await cp(join(root, 'node_modules', 'tfhe', 'tfhe_bg.wasm'), join(modules, 'tfhe_bg.wasm'))
  await mkdir(join(place, 'bin'))
  await writeFile(join(place, 'bin', `${command}.js`), program, { mode: 0o755 })
  return await npmPack(place, folder, {
    name: command,
    description: 'Commands for users of a confidential, quorum-checked inference service',
    bin: { [command]: `bin/${command}.js` },
    files: ['bin', 'dist'],
  })
}
