import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { runCommand } from '../../lib/host/run-command.ts'
import { readLock } from './lock.ts'
import type { Target } from './targets.ts'

const downloadTimeoutMs = 300_000

/** The source of a target's runtime. */
export type RuntimeSource = {
  /** The project's folder. Its package-lock.json names the version of the runtime. */
  readonly root: string
  /** The folder of downloaded packages. */
  readonly cacheFolder: string
  readonly onDownload: (what: string) => void
  readonly signal?: AbortSignal | undefined
}

/** Returns the path of a target's Bun runtime. Unpacks it into `folder` unless npm has installed it. Throws an Error with the reason. */
export async function runtimeOf(
  target: Target,
  source: RuntimeSource,
  folder: string,
): Promise<string> {
  const { version, integrity } = await lockedPackage(source.root, target.runtimePackage)
  const name = target.bunTarget.includes('windows') ? 'bun.exe' : 'bun'
  const installed = join(source.root, 'node_modules', target.runtimePackage, 'bin', name)
  if (await Bun.file(installed).exists()) return installed
  const fileName = target.runtimePackage.replace('@', '').replace('/', '-')
  const cached = join(source.cacheFolder, `${fileName}-${version}.tgz`)
  const bytes =
    (await readFile(cached).catch(() => undefined)) ??
    (await download(`${target.runtimePackage}@${version}`, cached, source))
  try {
    checkIntegrity(bytes, integrity)
  } catch (error) {
    await rm(cached, { force: true })
    throw error
  }
  const file = (await new Bun.Archive(bytes).files()).get(`package/bin/${name}`)
  if (file === undefined) throw new Error(`${target.runtimePackage} holds no bin/${name}`)
  const path = join(folder, `runtime-${target.name}`)
  await writeFile(path, new Uint8Array(await file.arrayBuffer()), { mode: 0o755 })
  return path
}

/** Compares a package with an integrity of package-lock.json. Throws when they differ. */
export function checkIntegrity(bytes: Uint8Array, integrity: string): void {
  const [algorithm = ''] = integrity.split('-', 1)
  const found = `${algorithm}-${createHash(algorithm).update(bytes).digest('base64')}`
  if (found !== integrity) throw new Error(`it is not what package-lock.json names: ${found}`)
}

async function lockedPackage(root: string, name: string) {
  const { version, integrity } = (await readLock(root)).packages[`node_modules/${name}`] ?? {}
  if (version === undefined || integrity === undefined) {
    throw new Error(`package-lock.json does not name ${name}`)
  }
  if (version !== Bun.version) {
    throw new Error(`${name} is ${version} in package-lock.json, but this Bun is ${Bun.version}`)
  }
  return { version, integrity }
}

/** Downloads with npm, so that its registry, proxy and credentials apply. The file appears whole or not at all. */
async function download(spec: string, path: string, source: RuntimeSource): Promise<Uint8Array> {
  source.onDownload(spec)
  await mkdir(dirname(path), { recursive: true })
  const folder = await mkdtemp(`${path}.`)
  try {
    const options = ['--pack-destination', folder, '--ignore-scripts', '--loglevel=error']
    const { npm_node_execpath: node, npm_execpath: cli } = process.env
    const npm: readonly [string, ...string[]] =
      node !== undefined && cli?.endsWith('.js') ? [node, cli] : ['npm']
    const { code, stderr } = await runCommand([...npm, 'pack', spec, ...options], {
      timeoutMs: downloadTimeoutMs,
      env: { ...process.env, npm_config_json: 'false', npm_config_dry_run: 'false' },
      signal: source.signal,
    })
    const file = (await readdir(folder)).find((name) => name.endsWith('.tgz'))
    if (code !== 0 || file === undefined) {
      const words = stderr.trim().split('\n').slice(0, 3).join(' ')
      throw new Error(`npm pack ${spec} ended with ${code ?? 'its time limit'}: ${words}`)
    }
    await rename(join(folder, file), path)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
  return await readFile(path)
}
