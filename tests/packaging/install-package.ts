import { execFile } from 'node:child_process'
import { mkdir, readFile, symlink } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { programOf } from '../../demo/runtime-programs.ts'
import { root } from '../../scripts/pack/bundle.ts'
import { packageNames } from '../../scripts/pack/packages.ts'

const run = promisify(execFile)

/** Where programs are but for those that npm put into `node_modules`: the Node there is newer than the oldest that counts. */
export const userPath: string = (process.env.PATH ?? '')
  .split(delimiter)
  .filter((place) => !place.includes('node_modules'))
  .join(delimiter)

/** Packs a package as its command does and unpacks it in a folder as if it were installed, with what it depends on beside it; returns where. */
export async function installPackage(
  kind: keyof typeof packageNames,
  folder: string,
): Promise<string> {
  const script = join(root, 'scripts', 'pack', 'main.ts')
  const { stdout } = await run(programOf('bun') ?? '', [script, kind, folder], { cwd: root })
  const modules = join(folder, 'node_modules')
  const place = join(modules, packageNames[kind])
  await mkdir(place, { recursive: true })
  await run('tar', ['-xzf', stdout.trim(), '-C', place, '--strip-components=1'])
  const { dependencies = {} } = JSON.parse(await readFile(join(place, 'package.json'), 'utf8'))
  for (const name of Object.keys(dependencies)) {
    await symlink(join(root, 'node_modules', name), join(modules, name))
  }
  return place
}
