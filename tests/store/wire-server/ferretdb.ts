import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'

const startMs = 240_000

/** A FerretDB process. */
export type FerretDb = {
  readonly port: number
  readonly pid: number
  /** Kills it at once, without any tidying. */
  readonly kill: () => Promise<void>
}

type Tools = { readonly ferretDb: () => { readonly path: string; readonly version: string } }

/** Where FerretDB is on this machine, or why it is not. */
export async function findFerretDb(): Promise<
  { readonly path: string } | { readonly missing: string }
> {
  const named = process.env.FERRETDB_BIN
  const tools = (await import(new URL('../../../scripts/tools.mjs', import.meta.url).href)) as Tools
  const { path, version } = named ? { path: named, version: 'named' } : tools.ferretDb()
  if (existsSync(path)) return { path }
  return {
    missing: named
      ? `FERRETDB_BIN names ${named}, which does not exist`
      : `FerretDB ${version} is not built (node scripts/install-tools.mjs builds it), and MONGODB_URL names no other server`,
  }
}

/** Starts FerretDB over the data of a folder, at a port of its own choice unless one is given; it ends with this process. */
export async function startFerretDb(path: string, folder: string, port = 0): Promise<FerretDb> {
  const child = spawn(path, [folder, `127.0.0.1:${port}`], {
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
    const fail = (why: string) => reject(new Error(`FerretDB ${why}: ${complaints}`))
    const timer = setTimeout(() => fail('does not start'), startMs)
    child.once('error', (error) => fail(error.message))
    child.once('exit', (code) => fail(`ended with ${code}`))
    child.stdout.on('data', (chunk: Buffer) => {
      const found = /:(\d+)\//.exec(chunk.toString())
      if (!found) return
      clearTimeout(timer)
      resolve(Number(found[1]))
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
