import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const startMs = 240_000
const program = fileURLToPath(new URL('../../tools/secantusdb/serve.py', import.meta.url))

/** A SecantusDB process. */
export type SecantusDb = {
  readonly port: number
  readonly pid: number
  /** Kills it at once, without any tidying. */
  readonly kill: () => Promise<void>
}

type Tools = { readonly secantusDb: () => { readonly path: string } }

/** Where the Python with SecantusDB is on this machine, or why it is not. */
export async function findSecantusDb(): Promise<
  { readonly path: string } | { readonly missing: string }
> {
  const tools = (await import(new URL('../../../scripts/tools.mjs', import.meta.url).href)) as Tools
  const { path } = tools.secantusDb()
  if (existsSync(path)) return { path }
  return { missing: 'SecantusDB is not installed (node scripts/install-tools.mjs installs it)' }
}

/** Starts SecantusDB over the data of a folder, at a port of its own choice unless one is given; it ends with this process. */
export async function startSecantusDb(path: string, folder: string, port = 0): Promise<SecantusDb> {
  const child = spawn(path, ['-B', program, folder, String(port)], {
    cwd: folder,
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  child.stdin.on('error', () => {})
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  let complaints = ''
  child.stderr.on('data', (chunk: Buffer) => {
    complaints = (complaints + chunk).slice(-2_000)
  })
  const listening = new Promise<number>((resolve, reject) => {
    const fail = (why: string) => reject(new Error(`SecantusDB ${why}: ${complaints}`))
    const timer = setTimeout(() => fail('does not start'), startMs)
    child.once('error', (error) => fail(error.message))
    child.once('exit', (code) => fail(`ended with ${code}`))
    child.stdout.once('data', (chunk: Buffer) => {
      clearTimeout(timer)
      resolve(Number(chunk.toString()))
    })
  })
  const kill = async () => {
    child.kill('SIGKILL')
    await exited
  }
  try {
    return { port: await listening, pid: child.pid ?? 0, kill }
  } catch (error) {
    await kill()
    throw error
  }
}
