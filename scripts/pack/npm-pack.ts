import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import manifest from '../../package.json' with { type: 'json' }

const run = promisify(execFile)
const { version, license, type, engines } = manifest

/** Packs a folder as npm would publish it, with what is `own` of its package.json. Returns the path of the file, in another folder. */
export async function npmPack(place: string, to: string, own: object): Promise<string> {
  const packed = { ...own, version, license, type, engines: { node: engines.node } }
  await writeFile(join(place, 'package.json'), JSON.stringify(packed, undefined, 2))
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', to]
  const { stdout } = await run('npm', args, { cwd: place, shell: process.platform === 'win32' })
  const [made] = JSON.parse(stdout) as readonly { readonly filename: string }[]
  if (made === undefined) throw new Error('npm has packed nothing')
  return join(to, made.filename)
}
