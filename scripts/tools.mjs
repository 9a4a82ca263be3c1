import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { root } from './bun-binary.mjs'

const cache = process.env.SVC_TOOLS_DIR ?? join(homedir(), '.cache', 'svc-tools')
const executable = (name) => (process.platform === 'win32' ? `${name}.exe` : name)

/** A Go program that only tests need: its source, and the path of the build of exactly this source. */
const goTool = (name, module, { folder: sourceFolder, files, target = '.', ldflags = '' }) => {
  const source = join(root, 'tests', 'tools', sourceFolder)
  const texts = files.map((file) => readFileSync(join(source, file)))
  const [version] = new RegExp(`(?<=${module} )v[\\d.]+`).exec(texts[0].toString()) ?? ['unknown']
  const hash = createHash('sha256').update(Buffer.concat(texts)).digest('hex').slice(0, 12)
  const folder = join(cache, `${sourceFolder}-${version}-${hash}`)
  return {
    name,
    source,
    version,
    folder,
    target,
    ldflags,
    path: join(folder, executable(sourceFolder)),
  }
}

/** FerretDB, which speaks MongoDB's protocol. */
export const ferretDb = () =>
  goTool('FerretDB', 'FerretDB/FerretDB', {
    folder: 'ferretdb',
    files: ['go.mod', 'go.sum', 'main.go'],
  })

/** Kubo, the IPFS daemon: its own program, built from the modules in go.mod. */
export const kubo = () =>
  goTool('Kubo', 'ipfs/kubo', {
    folder: 'kubo',
    files: ['go.mod', 'go.sum'],
    target: 'github.com/ipfs/kubo/cmd/ipfs',
    ldflags: '-s -w',
  })

/** A Python environment with the packages for the tests of the Python client. */
export const pythonClient = () => {
  const source = join(root, 'client', 'python', 'requirements.txt')
  const hash = createHash('sha256').update(readFileSync(source)).digest('hex').slice(0, 12)
  const folder = join(cache, `python-client-${hash}`)
  const bin = process.platform === 'win32' ? 'Scripts' : 'bin'
  return { name: 'Python client', source, folder, path: join(folder, bin, executable('python')) }
}
