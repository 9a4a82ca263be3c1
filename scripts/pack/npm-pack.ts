import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Packs the package in a folder as npm would publish it. Returns the path of the file, in another folder. */
export async function npmPack(place: string, to: string): Promise<string> {
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', to]
  const { stdout } = await run('npm', args, { cwd: place, shell: process.platform === 'win32' })
  const [packed] = JSON.parse(stdout) as readonly { readonly filename: string }[]
  if (packed === undefined) throw new Error('npm has packed nothing')
  return join(to, packed.filename)
}
