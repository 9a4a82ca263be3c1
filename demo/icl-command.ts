import { existsSync, readFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { SvcError } from '../lib/svc-error.ts'
import { type DemoRuntime, programOf } from './runtime-programs.ts'

const root = join(import.meta.dirname, '..')
const start = (file: string) => join(root, 'icl', 'start', file)

/** The command that starts an ICL on a runtime. */
export type IclCommand = {
  readonly program: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

/** Returns the command that starts an ICL with an environment. The ICL may use only `folder`. Throws SvcError `runtime-missing`. */
export async function iclCommand(
  runtime: DemoRuntime,
  env: Readonly<Record<string, string>>,
  folder: string,
): Promise<IclCommand> {
  const program = programOf(runtime)
  if (program === undefined) {
    throw new SvcError('runtime-missing', `${runtime} is not installed here`, {
      hint: 'npm installs it, where there is one for this machine, with the packages for development.',
    })
  }
  switch (runtime) {
    case 'bun':
      return { program, args: ['--no-env-file', start('bun.ts')], env }
    case 'node':
      return { program, args: [start('node.ts')], env }
    case 'deno':
      return { program, args: [...denoArgs(env, folder), start('deno.ts')], env }
    case 'workerd': {
      const { buildEdge } = await import('../icl/start/build-edge.ts')
      const bundle = join(folder, 'edge')
      if (!existsSync(join(bundle, 'built.capnp'))) await buildEdge(bundle)
      const config = join(root, 'packaging', 'edge', 'icl.capnp')
      const at = `http=${env.SVC_ICL_HOST}:${env.SVC_ICL_PORT}`
      // The configuration expects the bundle beside it.
      const copy = join(bundle, 'icl.capnp')
      await writeFile(copy, readFileSync(config, 'utf8').replace('../../dist/edge/', ''))
      const store = join(folder, `store-${env.SVC_ICL_PORT}`)
      await mkdir(store, { recursive: true, mode: 0o700 })
      const args = ['serve', copy, '--socket-addr', at, '--directory-path', `store=${store}`]
      return { program, args, env: edgeEnv(env) }
    }
    case 'wrangler':
      return { program, ...(await wranglerCommand(edgeEnv(env), folder)) }
  }
}

/** `wrangler dev` gives the worker the settings of a file. npm fetches wrangler, and keeps it for this user. */
async function wranglerCommand(settings: Readonly<Record<string, string>>, folder: string) {
  const file = join(folder, 'wrangler.env')
  const lines = Object.entries(settings).map(([name, value]) => `${name}='${value}'\n`)
  await writeFile(file, lines.join(''), { mode: 0o600 })
  const { SVC_ICL_HOST: ip = '', SVC_ICL_PORT: port = '' } = settings
  const own = ['--ip', ip, '--port', port, '--persist-to', `${file}.state`]
  return {
    args: ['--prefix', root, 'run', '-s', 'wrangler', '--', 'dev', '--env-file', file, ...own],
    env: { ...settings, HOME: homedir(), WRANGLER_SEND_METRICS: 'false' },
  }
}

const hostOf = (url: string): string => /^[\w+]+:\/\/(?:[^@/]*@)?([^/?]+)/.exec(url)?.[1] ?? ''

/** The permissions of an ICL on Deno: its address, chain, database, settings and folder. */
function denoArgs(env: Readonly<Record<string, string>>, folder: string): readonly string[] {
  const { SVC_ICL_DATABASE_URL: database = '', SVC_ICL_RPC_URL: chain = '' } = env
  const hosts = [
    `${env.SVC_ICL_HOST}:${env.SVC_ICL_PORT}`,
    hostOf(chain),
    hostOf(database),
    ...blobHosts(env),
  ]
  return [
    'run',
    '--quiet',
    '--no-prompt',
    `--config=${join(root, 'deno.json')}`,
    `--allow-net=${hosts.filter((host) => host !== '').join(',')}`,
    '--allow-env=SVC_ICL_*,HOME',
    '--ignore-env',
    '--allow-sys=homedir',
    `--allow-read=${[folder, webAssembly, docs, ...filesIn(env), ...filesOf(env.SVC_ICL_PLAYGROUND)].join(',')}`,
    `--allow-write=${folder}`,
  ]
}

/** The script of the API reference. */
const docs = join(root, 'dist', 'docs')

/** The WebAssembly that checks wallet signatures. */
const webAssembly = join(root, 'node_modules', 'tiny-secp256k1', 'lib')

const namesOfFiles = ['TPM_ROOTS', 'TPM_POLICY', 'TPM_REVOKED', 'DEPLOYMENT']

/** The hosts of the Kubo that keeps the blobs. */
const blobHosts = ({ SVC_ICL_BLOBS: location = '' }: Readonly<Record<string, string>>) =>
  location
    .replace(/^(store$|kubo:)/, '')
    .split(',')
    .map(hostOf)

const filesOf = (list: string | undefined): readonly string[] =>
  list === undefined ? [] : list.split(',').map((file) => file.trim())

const filesIn = (env: Readonly<Record<string, string>>): readonly string[] =>
  namesOfFiles.flatMap((name) => filesOf(env[`SVC_ICL_${name}`]))

/** An edge host opens no files: the object's storage is the store in place of a file, and files are passed as texts. */
function edgeEnv(env: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const { SVC_ICL_DATABASE_URL: database = '' } = env
  const texts = namesOfFiles.flatMap((name) => {
    const content = filesOf(env[`SVC_ICL_${name}`]).map((file) => readFileSync(file, 'utf8'))
    if (content.length === 0) return []
    return Object.entries({ [`SVC_ICL_${name}`]: name, [name]: content.join('\n') })
  })
  return {
    ...env,
    SVC_ICL_DATABASE_URL: database.startsWith('sqlite:') ? '' : database,
    ...Object.fromEntries(texts),
  }
}
