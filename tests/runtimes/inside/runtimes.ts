import { execFile, spawn } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { freePort } from '../../../demo/free-port.ts'
import type { IclRuntime } from '../../../demo/runtime-programs.ts'
import { bundle, bundleSuite } from './bundle.ts'
import type { CaseResult } from './case.ts'

const run = promisify(execFile)
const patienceMs = 100_000
const root = fileURLToPath(new URL('../../..', import.meta.url))
const script = join(import.meta.dirname, 'run.ts')

/** Runs every case inside a runtime. It reaches a server whose answers are packed. */
export function runInside(
  runtime: IclRuntime,
  program: string,
  packedUrl: string,
): Promise<readonly CaseResult[]> {
  switch (runtime) {
    case 'bun':
      return printed(program, ['--no-env-file', script, packedUrl])
    case 'node':
      return printed(program, [script, packedUrl])
    case 'deno':
      // It may do nothing at all outside itself but read the sources, and ask that server.
      return printed(program, [
        'run',
        '--no-prompt',
        '--no-config',
        '--node-modules-dir=manual',
        `--allow-net=${new URL(packedUrl).host}`,
        script,
        packedUrl,
      ])
    case 'workerd':
      return runOnWorkerd(program, packedUrl)
  }
}

async function printed(program: string, args: string[]): Promise<readonly CaseResult[]> {
  const { stdout } = await run(program, args, { cwd: root, timeout: patienceMs })
  return JSON.parse(stdout)
}

/** Bundles the cases, serves them with workerd, and asks once. */
const runOnWorkerd = (program: string, packedUrl: string): Promise<readonly CaseResult[]> =>
  serveOnce(program, `?packed=${packedUrl}`, (place) =>
    bundle('worker.ts', 'esm', join(place, 'worker.js')),
  )

/** Runs the store suite inside a Durable Object of workerd, whose storage is in a folder. */
export const runStoreSuite = (program: string): Promise<readonly CaseResult[]> =>
  serveOnce(
    program,
    '',
    async (place) => {
      await bundleSuite(place)
      await mkdir(join(place, 'store'), { mode: 0o700 })
    },
    {
      module: 'object-worker.js',
      // For vitest's expect. That the ICL's own bundle needs nothing of Node has a test of its own.
      worker: `
      compatibilityFlags = ["nodejs_compat"],
      bindings = [(name = "SUITE", durableObjectNamespace = "Suite")],
      durableObjectNamespaces = [(className = "Suite", uniqueKey = "suite", enableSql = true)],
      durableObjectStorage = (localDisk = "store"),`,
      services: '(name = "store", disk = (path = "store", writable = true)),',
    },
  )

type Parts = { readonly module: string; readonly worker: string; readonly services: string }

async function serveOnce(
  program: string,
  query: string,
  build: (place: string) => Promise<void>,
  parts: Parts = { module: 'worker.js', worker: '', services: '' },
): Promise<readonly CaseResult[]> {
  const place = await mkdtemp(join(tmpdir(), 'svc-workerd-'))
  try {
    const port = await freePort()
    await build(place)
    await writeFile(join(place, 'worker.capnp'), configOf(port, parts))
    return await askWorker(program, place, `http://127.0.0.1:${port}/${query}`)
  } finally {
    await rm(place, { recursive: true, force: true })
  }
}

// No nodejs_compat: what runs here has the web's interfaces only.
const configOf = (
  port: number,
  { module, worker, services }: Parts,
): string => `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = (
      modules = [(name = "worker.js", esModule = embed "${module}")],
      compatibilityDate = "2026-01-01",${worker}
    )),
    (name = "internet", network = (allow = ["local"])),${services}
  ],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")],
);
`

async function askWorker(program: string, place: string, url: string) {
  const child = spawn(program, ['serve', join(place, 'worker.capnp')], {
    cwd: place,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let said = ''
  child.stderr.on('data', (chunk) => {
    said = (said + chunk).slice(-4_000)
  })
  let isOver = false
  const exited = new Promise<void>((resolve) =>
    child.once('close', () => {
      isOver = true
      resolve()
    }),
  )
  try {
    const untilMs = performance.now() + patienceMs
    for (;;) {
      const answer = await fetch(url).catch(() => undefined)
      if (answer?.ok) return (await answer.json()) as readonly CaseResult[]
      if (answer) throw new Error(`workerd answers ${answer.status}: ${said}`)
      if (isOver || performance.now() > untilMs) throw new Error(`workerd does not start: ${said}`)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  } finally {
    child.kill('SIGKILL')
    await exited
  }
}
