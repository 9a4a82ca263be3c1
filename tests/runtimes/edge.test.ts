import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freePort } from '../../demo/free-port.ts'
import { createProcesses, lastLogLines, type Processes } from '../../demo/processes.ts'
import { programOf } from '../../demo/runtime-programs.ts'
import { buildEdge, edgeFolder, runtimeImports } from '../../icl/start/build-edge.ts'
import { Settings } from '../../icl/start/settings.ts'
import { Problem } from '../../lib/problem.ts'
import { eventually } from '../eventually.ts'
import { sampleSettings } from '../sample-settings.ts'
import { openWireServer, whyNoWireServer } from '../store/wire-server/open.ts'

const driver = 'mongodb-driver.mjs'

let folder: string
let bundle: string
let processes: Processes
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-edge-'))
  bundle = join(folder, 'edge')
  processes = createProcesses(folder)
  await buildEdge(bundle)
}, 60_000)
afterAll(async () => {
  await processes.close()
  await rm(folder, { recursive: true, force: true })
})

describe('the edge bundle', () => {
  it("imports none of the host's node: modules but in MongoDB's driver", async () => {
    const names = (await readdir(bundle)).filter((name) => name.endsWith('.mjs'))
    expect(names).toContain('icl-edge.mjs')
    for (const name of names) {
      const imports = runtimeImports(await readFile(join(bundle, name), 'utf8'))
      if (name === driver) expect(imports).toContain('node:module')
      else expect({ name, imports }).toEqual({ name, imports: [] })
    }
    // What the search would see.
    expect(runtimeImports('import "node:fs"; const tls = await import("tls")')).toEqual([
      'node:fs',
      'tls',
    ])
  })

  it('has the driver loaded only by the parts that are loaded for MongoDB', async () => {
    const entry = await readFile(join(bundle, 'icl-edge.mjs'), 'utf8')
    expect(entry).not.toContain(`from"./${driver}"`)
    expect(entry).not.toContain(`from "./${driver}"`)
  })

  it('is what wrangler builds and deploys, for the same host as workerd', async () => {
    const packaged = join(import.meta.dirname, '..', '..', 'packaging', 'edge')
    const text = await readFile(join(packaged, 'wrangler.jsonc'), 'utf8')
    const config = JSON.parse(text.replace(/^ *\/\/.*$/gm, ''))
    expect(config.build.command).toContain(' icl/start/build-edge.ts')
    expect(join(packaged, config.main)).toBe(join(edgeFolder, 'icl-edge.mjs'))
    const [{ class_name: name }] = config.durable_objects.bindings
    expect(config.migrations).toEqual([{ tag: 'v1', new_sqlite_classes: [name] }])
    const workerd = await readFile(join(packaged, 'icl.capnp'), 'utf8')
    expect(workerd).toContain(`className = "${name}"`)
    expect(workerd).toContain(`compatibilityDate = "${config.compatibility_date}"`)
    for (const name of Object.keys(config.vars)) expect(Object.keys(Settings.shape)).toContain(name)
  })

  it('gives every setting to the worker', async () => {
    const built = await readFile(join(bundle, 'built.capnp'), 'utf8')
    for (const name of Object.keys(Settings.shape)) {
      expect(built).toContain(`(name = "${name}", fromEnvironment = "${name}")`)
    }
  })
})

// Calls the worker's cron as a host does.
const cron = `
const cron :Workerd.Worker = (
  modules = [(name = "cron.mjs", esModule = "export default { fetch: async (request, { ICL }) => Response.json(await ICL.scheduled({ scheduledTime: new Date(), cron: '* * * * *' })) }")],
  bindings = [(name = "ICL", service = "icl")],
  compatibilityDate = "2026-11-01",
  compatibilityFlags = ["service_binding_extra_handlers"],
);
`

/** Starts workerd with the packaged configuration, and a worker beside it that calls the cron. */
async function startEdge(databaseUrl: string, more: Readonly<Record<string, string>> = {}) {
  const [port, cronPort] = [await freePort(), await freePort()]
  const packaged = join(import.meta.dirname, '..', '..', 'packaging', 'edge', 'icl.capnp')
  const config = (await readFile(packaged, 'utf8'))
    .replace('../../dist/edge/', '')
    .replace('(name = "icl", worker = .icl),', (own) => `${own} (name = "cron", worker = .cron),`)
    .replace(
      'service = "icl")],',
      `service = "icl"), (name = "cron", address = "127.0.0.1:${cronPort}", http = (), service = "cron")],`,
    )
  const file = join(bundle, `icl-${port}.capnp`)
  await writeFile(file, config + cron)
  const store = join(folder, `store-${port}`)
  await mkdir(store, { mode: 0o700 })
  const running = processes.start({
    name: `workerd-${port}`,
    program: programOf('workerd') ?? '',
    args: [
      ...['serve', '--experimental', file],
      ...['--socket-addr', `http=127.0.0.1:${port}`, '--directory-path', `store=${store}`],
    ],
    env: {
      ...sampleSettings,
      SVC_ICL_DATABASE_URL: databaseUrl,
      ...more,
    },
  })
  const ask = (path: string, at = port) =>
    eventually(`workerd's answer (${running.logFile})`, () =>
      fetch(`http://127.0.0.1:${at}${path}`).catch(() => undefined),
    )
  return {
    ask,
    callCron: async () => (await ask('/', cronPort)).json(),
    log: () => lastLogLines(running.logFile),
    stop: () => processes.stop([running], 500),
  }
}

const program = programOf('workerd')
const noWorkerd = program !== undefined && existsSync(program) ? undefined : 'workerd is missing'
if (noWorkerd && process.env.CI === 'true') throw new Error(noWorkerd)

const noServer = await whyNoWireServer()

describe('the ICL on an edge host', () => {
  if (noWorkerd) {
    it.skip(noWorkerd, () => {})
    return
  }

  it("is started by the host's cron", async () => {
    const edge = await startEdge('memory:')
    expect(await edge.callCron()).toMatchObject({ outcome: 'ok' })
    expect(await edge.log()).toContain('"ICL started"')
    await edge.stop()
  })

  it.each([
    ['a sqlite file', 'sqlite:/x.db', {}, 'An edge host has no disk for a sqlite file'],
    ['a file', 'memory:', { SVC_ICL_LOCAL_COPY: '/var/x' }, 'no disk for SVC_ICL_LOCAL_COPY'],
    ['a missing setting', 'memory:', { SVC_ICL_SECRET: '' }, 'SVC_ICL_SECRET is missing'],
  ])('says so when it cannot have %s', async (_, url, more, words) => {
    const edge = await startEdge(url, { SVC_ICL_ALLOW_ORIGINS: '*', ...more })
    const answer = await edge.ask('/v1/network')
    expect(answer.status).toBe(503)
    expect(answer.headers.get('access-control-allow-origin')).toBe('*')
    expect(answer.headers.get('retry-after')).toBe('5')
    expect(Problem.parse(await answer.json())).toMatchObject({ code: 'unavailable' })
    expect(await edge.callCron()).toMatchObject({ outcome: 'exception' })
    expect(await edge.log()).toContain(words)
    await edge.stop()
  })

  if (noServer) {
    it.skip(noServer, () => {})
    return
  }

  it('keeps what it has in MongoDB beyond its end', async () => {
    const server = await openWireServer()
    try {
      const url = server.freshUrl()
      // What an ICL with one secret published, one with another secret can only know from the database.
      const keysOf = async (secret: string): Promise<readonly unknown[]> => {
        const edge = await startEdge(url, { SVC_ICL_SECRET: secret.repeat(32) })
        const ready = await edge.ask('/readyz')
        expect(ready.status).toBe(200)
        const { keys } = await (await edge.ask('/.well-known/jwks.json')).json()
        expect(await edge.log()).toContain('There is no file on an edge host')
        await edge.stop()
        return keys
      }
      const first = await keysOf('ab')
      const second = await keysOf('cd')
      expect(first.length).toBeGreaterThan(0)
      expect(second.length).toBeGreaterThan(first.length)
      expect(second).toEqual(expect.arrayContaining([...first]))
    } finally {
      await server.close()
    }
  })
})
