import { createHash } from 'node:crypto'
import { rmSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type RuntimeSource, runtimeOf } from './bun-runtime.ts'
import { type BuildFacts, compile } from './compile.ts'
import type { Target } from './targets.ts'

/** A built executable. */
export type Built = {
  readonly target: string
  readonly path: string
  readonly bytes: number
  readonly sha256: string
}

/** The options of a build, besides the target. */
export type BuildOptions = RuntimeSource & {
  /** The folder for the executables. */
  readonly folder: string
  readonly facts: BuildFacts
}

/** The name of the executable for this machine. */
export const hereName: string = process.platform === 'win32' ? 'svc-node.exe' : 'svc-node'

/** Builds for a target, or for this machine. The file appears whole or not at all. A failure removes an older one. */
export async function build(options: BuildOptions, target?: Target): Promise<Built> {
  const { folder } = options
  const name = target?.file ?? hereName
  const path = join(folder, name)
  await mkdir(folder, { recursive: true })
  const scratch = await mkdtemp(join(folder, '.building-'))
  const clean = () => rmSync(scratch, { recursive: true, force: true })
  process.once('exit', clean)
  try {
    const compileTarget = target && {
      target: target.bunTarget,
      executablePath: await runtimeOf(target, options, scratch),
    }
    // The executable contains its name: under another name it would have other bytes.
    const outfile = join(scratch, name)
    await compile(options, outfile, compileTarget)
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

/** Exits at a signal in order, which removes what is half-built. */
export function exitInOrder(): void {
  process.once('SIGINT', () => process.exit(130)).once('SIGTERM', () => process.exit(143))
}
