import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { freePort } from '../../demo/free-port.ts'
import { programOf } from '../../demo/runtime-programs.ts'
import { closeContender, loadJobs, openContender } from './jobs.ts'

const run = promisify(execFile)
const postgresFolder = '/usr/lib/postgresql'
const workers = 48

/** Milliseconds of processor time for a job: of the program with its library, and of its server. */
export type Cost = { readonly program: number; readonly server: number }

/** Something that does jobs: this ICL, or a queue that a user might take in its place. */
export type Contender = {
  readonly name: string
  /** Does so many jobs. */
  readonly round: (jobs: number) => Promise<Cost>
  readonly close: () => Promise<void>
}

/** Starts a server, and waits until it logs that it is ready. */
async function startDatabase(program: string, args: readonly string[], as: object, ready: RegExp) {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], ...as })
  let log = ''
  const isReady = Promise.withResolvers<void>()
  const note = (chunk: Buffer) => {
    log = (log + chunk).slice(-4_000)
    if (ready.test(log)) isReady.resolve()
  }
  child.stdout?.on('data', note)
  child.stderr?.on('data', note)
  const exited = once(child, 'exit')
  child.once('error', isReady.reject)
  void exited.then(() => isReady.reject(new Error(`${program} ended: ${log}`)))
  await isReady.promise
  const close = async () => {
    child.kill('SIGINT')
    await exited
  }
  return { pid: child.pid ?? 0, close }
}

/** Starts the program of a queue, which runs a round of jobs for each line that it reads. */
async function startProgram(file: string, args: readonly string[]) {
  const child = spawn(programOf('node') ?? 'node', [file, ...args], {
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const exited = once(child, 'exit')
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  let complaints = ''
  child.stderr.on('data', (chunk: Buffer) => {
    complaints = (complaints + chunk).slice(-2_000)
  })
  const next = async () => {
    const { value, done } = await lines.next()
    if (done) throw new Error(`${file} ended: ${complaints}`)
    return JSON.parse(value)
  }
  await next()
  return {
    round: (jobs: number): Promise<{ readonly cpuMicros: number }> => {
      child.stdin.write(`${jobs}\n`)
      return next()
    },
    close: async () => {
      child.stdin.end()
      await exited
    },
  }
}

type Database = Awaited<ReturnType<typeof startDatabase>>

/** Puts a queue's program and server together. */
async function contender(
  name: string,
  server: Database,
  file: string,
  args: readonly string[],
): Promise<Contender> {
  const program = await startProgram(file, args).catch(async (error: unknown) => {
    await server.close()
    throw error
  })
  return {
    name,
    round: async (jobs) => {
      const before = processorMs(server.pid)
      const { cpuMicros } = await program.round(jobs)
      return {
        program: cpuMicros / 1000 / jobs,
        server: (processorMs(server.pid) - before) / jobs,
      }
    },
    close: async () => {
      await program.close()
      await server.close()
    },
  }
}

/** Processor time of a process, and of the processes that it started, in milliseconds. */
function processorMs(pid: number): number {
  let ticks = 0
  for (const name of readdirSync('/proc')) {
    const stat = /^\d+$/.test(name) ? statOf(name) : undefined
    if (!stat) continue
    if (Number(name) === pid) ticks += stat.own + stat.waited
    else if (stat.parent === pid) ticks += stat.own
  }
  // Linux tells clients 100 ticks a second on every machine.
  return ticks * 10
}

/** The parent of a process, its ticks, and those of its children that have ended; undefined when it is gone. */
function statOf(pid: string) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    const at = (index: number) => Number(fields[index])
    return { parent: at(1), own: at(11) + at(12), waited: at(13) + at(14) }
  } catch {
    return undefined
  }
}

/** Opens BullMQ in a folder with the installed packages, on a redis that syncs each change. */
export async function openBullMq(folder: string): Promise<Contender> {
  const port = String(await freePort())
  const args = ['--port', port, '--dir', folder, '--appendonly', 'yes', '--appendfsync', 'always']
  const server = await startDatabase('redis-server', args, {}, /Ready to accept connections/)
  return await contender('BullMQ on redis', server, join(folder, 'bullmq.mjs'), [port])
}

/** The programs of the newest Postgres that Debian has installed. */
export function postgresPrograms(): string | undefined {
  const versions = existsSync(postgresFolder) ? readdirSync(postgresFolder) : []
  const newest = versions.toSorted((a, b) => Number(b) - Number(a))[0]
  return newest && join(postgresFolder, newest, 'bin')
}

/** Opens pg-boss, with a table of documents, in a folder with the installed packages. */
export async function openPgBoss(folder: string, bin: string): Promise<Contender> {
  const port = String(await freePort())
  // Postgres refuses to run as root, and its user reads no folder of root.
  const data = await mkdtemp(join(tmpdir(), 'svc-postgres-'))
  const as = process.getuid?.() === 0 ? await userNamed('postgres') : undefined
  if (as) chownSync(data, as.uid, as.gid)
  await run(join(bin, 'initdb'), ['-D', data, '-U', 'bench', '-A', 'trust'], { ...as, cwd: data })
  const args = ['-D', data, '-p', port, '-k', data, '-h', '127.0.0.1']
  const how = { ...as, cwd: data }
  const server = await startDatabase(
    join(bin, 'postgres'),
    args,
    how,
    /ready to accept connections/,
  )
  const file = join(folder, 'pg-boss.mjs')
  const opened = await contender('pg-boss on Postgres', server, file, [port, 'bench'])
  return {
    ...opened,
    close: async () => {
      await opened.close()
      await rm(data, { recursive: true, force: true })
    },
  }
}

async function userNamed(name: string) {
  const id = async (flag: string) => Number((await run('id', [flag, name])).stdout)
  return { uid: await id('-u'), gid: await id('-g') }
}

/** Opens this ICL over a file in a folder. */
export async function openIcl(folder: string): Promise<Contender> {
  const icl = await openContender(`sqlite:${join(folder, 'icl.db')}`)
  return {
    name: 'this ICL over sqlite',
    round: async (jobs) => {
      await icl.beat()
      const { cpuMs } = await loadJobs(icl.server, icl.fleet, { workers, jobs, mostMs: 60_000 })
      return { program: cpuMs, server: 0 }
    },
    close: () => closeContender(icl),
  }
}
