import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { root } from './bun-binary.mjs'

const cache = process.env.SVC_TOOLS_DIR ?? join(homedir(), '.cache', 'svc-tools')
const executable = (name) => (process.platform === 'win32' ? `${name}.exe` : name)

/** Where a tool that is made from exactly these files goes. */
const folderOf = (name, texts) => {
  const hash = createHash('sha256').update(Buffer.concat(texts)).digest('hex').slice(0, 12)
  return join(cache, `${name}-${hash}`)
}

/** Kubo, the IPFS daemon, which only tests need: its own program, built with Go from the modules in go.mod. */
export const kubo = () => {
  const source = join(root, 'tests', 'tools', 'kubo')
  const texts = ['go.mod', 'go.sum'].map((file) => readFileSync(join(source, file)))
  const [version] = /(?<=ipfs\/kubo )v[\d.]+/.exec(texts[0].toString()) ?? ['unknown']
  const folder = folderOf(`kubo-${version}`, texts)
  return { name: 'Kubo', source, version, folder, path: join(folder, executable('kubo')) }
}

/** A Python environment with the packages of a file. */
const pythonTool = (name, folderName, ...path) => {
  const source = join(root, ...path, 'requirements.txt')
  const folder = folderOf(folderName, [readFileSync(source)])
  const bin = process.platform === 'win32' ? 'Scripts' : 'bin'
  return { name, source, folder, path: join(folder, bin, executable('python')) }
}

/** Python with SecantusDB, which speaks MongoDB's protocol. */
export const secantusDb = () =>
  pythonTool('SecantusDB', 'secantusdb', 'tests', 'tools', 'secantusdb')

/** Python with the packages for the tests of the client in Python. */
export const pythonClient = () => pythonTool('Python client', 'python-client', 'client', 'python')
