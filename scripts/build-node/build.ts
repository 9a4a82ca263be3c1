import { createHash } from 'node:crypto'
import { rmSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type RuntimeSource, runtimeOf } from './bun-runtime.ts'
import { type BuildFacts, compile } from './compile.ts'
import type { Target } from './targets.ts'

/** An executable that was built. */
export type Built = {
  readonly target: string
  readonly path: string
  readonly bytes: number
  readonly sha256: string
}

/** What building needs besides a target. */
export type BuildOptions = RuntimeSource & {
  /** Gets the executables. */
  readonly folder: string
  readonly facts: BuildFacts
}

/** The name under which the executable of this machine is built. */
export const hereName: string = process.platform === 'win32' ? 'svc-node.exe' : 'svc-node'

/** Builds for a target, or for this machine; the file appears whole or not at all, and no older one outlives a failure. */
export async function build(options: BuildOptions, target?: Target): Promise<Built> {
  const { root, folder, facts } = options
  const name = target?.file ?? hereName
  const path = join(folder, name)
  await mkdir(folder, { recursive: true })
  const scratch = await mkdtemp(join(folder, '.building-'))
  const clean = () => rmSync(scratch, { recursive: true, force: true })
  process.once('exit', clean)
  try {
    const runtime = target && (await runtimeOf(target, options, scratch))
    // The name goes into the file: built under another, it would be another file.
    const outfile = join(scratch, name)
    await compile({
      root,
      outfile,
      facts,
      ...(target && runtime && { target: { target, runtime } }),
    })
    const bytes = await readFile(outfile)
    await rename(outfile, path)
    const sha256 = createHash('sha256').update(bytes).digest('hex')
    return { target: target?.name ?? 'this machine', path, bytes: bytes.length, sha256 }
  } catch (error) {
    await rm(path, { force: true })
    throw error
  } finally {
    process.off('exit', clean)
    clean()
  }
}
