import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { clientEnvironment } from '../../demo/client-environment.ts'
import { createProcesses, type Processes } from '../../demo/processes.ts'
import { chooseProvider } from '../../demo/provider.ts'
import { startWorld, type World } from '../../demo/world.ts'
import { inEmptyFolder } from '../empty-folder.ts'
import { type Benchmark, byForm, type Findings, type Form } from './benchmark.ts'
import type { Counts } from './gateway/probe.ts'
import { median, ratio } from './table.ts'

const model = 'openai:gpt-4o-mini'
const root = resolve(import.meta.dirname, '..', '..')
const probe = join(import.meta.dirname, 'gateway', 'probe.ts')
/** Another checkout, whose gateway is measured in the same run. */
const baseline = process.env.SVC_BENCH_BASELINE

/** A gateway under a probe, and what its jobs took. */
type Measured = {
  readonly name: string
  readonly url: string
  readonly probeUrl: string
  readonly costs: { readonly requests: number; readonly cpuMs: number; readonly p50Ms: number }[]
  names: Counts['names']
}

async function started(
  processes: Processes,
  world: World,
  [name, folder]: readonly [string, string],
): Promise<Measured> {
  const env = await clientEnvironment(world)
  const args = ['--preload', probe, join(folder, 'client/gateway/main.ts'), '--port', '0']
  const running = processes.start({ name, args, env })
  const lineOf = async (start: string): Promise<string> => {
    for (let look = 0; look < 600 && !running.hasExited(); look++) {
      const log = await readFile(running.logFile, 'utf8')
      const found = new RegExp(`^${start} (http:\\S+)$`, 'm').exec(log)?.[1]
      if (found) return found
      await Bun.sleep(100)
    }
    throw new Error(await readFile(running.logFile, 'utf8'))
  }
  const [probeUrl, url] = [await lineOf('Probe at'), await lineOf('Gateway at')]
  return { name, url, probeUrl, costs: [], names: {} }
}

async function ask(url: string): Promise<number> {
  const began = performance.now()
  const response = await fetch(`${url}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Name one colour.' }] }),
    signal: AbortSignal.timeout(120_000),
  })
  const text = await response.text()
  if (!response.ok) throw new Error(`The gateway answered ${response.status}: ${text}`)
  return performance.now() - began
}

const countsOf = async (gateway: Measured, query = ''): Promise<Counts> =>
  (await fetch(`${gateway.probeUrl}${query}`)).json() as Promise<Counts>

async function round(gateway: Measured, jobs: number): Promise<void> {
  await countsOf(gateway)
  const times: number[] = []
  for (let job = 0; job < jobs; job++) times.push(await ask(gateway.url))
  const { requests, cpuMs } = await countsOf(gateway)
  gateway.costs.push({ requests: requests / jobs, cpuMs: cpuMs / jobs, p50Ms: median(times) })
}

async function name(gateway: Measured, jobs: number): Promise<void> {
  await countsOf(gateway, '?names')
  for (let job = 0; job < jobs; job++) await ask(gateway.url)
  gateway.names = (await countsOf(gateway)).names
}

async function runGateway(form: Form, say: (progress: string) => void): Promise<Findings> {
  const { warm, jobs, rounds } = byForm(form, {
    short: { warm: 5, jobs: 10, rounds: 2 },
    long: { warm: 20, jobs: 20, rounds: 7 },
  })
  const provider = chooseProvider(model, {})
  say('starting the service')
  const world = await startWorld({ models: [model], providerEnv: provider.envOf, standIn: true })
  try {
    return await inEmptyFolder(async (folder) => {
      const processes = createProcesses(folder)
      try {
        const sources: (readonly [string, string])[] = [['now', root]]
        if (baseline) sources.unshift(['baseline', resolve(baseline)])
        const gateways: Measured[] = []
        for (const source of sources) gateways.push(await started(processes, world, source))
        for (const gateway of gateways) {
          for (let job = 0; job < warm; job++) await ask(gateway.url)
        }
        for (let at = 1; at <= rounds; at++) {
          say(`round ${at} of ${rounds}`)
          for (const gateway of gateways) await round(gateway, jobs)
        }
        for (const gateway of gateways) await name(gateway, warm)
        return findingsOf(gateways, warm)
      } finally {
        await processes.close()
      }
    })
  } finally {
    await world.stop()
  }
}

function findingsOf(gateways: readonly Measured[], named: number): Findings {
  const middles = gateways.map(({ costs }) => ({
    requests: median(costs.map(({ requests }) => requests)),
    cpuMs: median(costs.map(({ cpuMs }) => cpuMs)),
    p50Ms: median(costs.map(({ p50Ms }) => p50Ms)),
  }))
  const [first, now] = [middles[0], middles.at(-1)]
  const heads = gateways.map((gateway) => gateway.name)
  const row = (what: string, of: (middle: (typeof middles)[number]) => number) => [
    what,
    ...middles.map((middle) => of(middle).toFixed(1)),
    ...(first && now ? [ratio(of(now), of(first))] : []),
  ]
  const calls = [...new Set(gateways.flatMap(({ names }) => Object.keys(names)))].toSorted((a, b) =>
    a.localeCompare(b),
  )
  const perJob = (count = 0) => (count / named).toFixed(1)
  return {
    method:
      'One job after another through a gateway, in a service on this machine: a local chain, the ICL, three nodes and a stand-in that answers at once. With `SVC_BENCH_BASELINE`, the folder of another checkout, its gateway is measured in turn.',
    tables: [
      {
        title: 'What a job costs the gateway process',
        rows: [
          ['', ...heads, 'ratio'],
          row('requests', ({ requests }) => requests),
          row('processor time, ms', ({ cpuMs }) => cpuMs),
          row('latency, p50 ms', ({ p50Ms }) => p50Ms),
        ],
      },
      {
        title: 'Calls of a job, those of a batch apart',
        rows: [
          ['', ...heads],
          ...calls.map((call) => [call, ...gateways.map(({ names }) => perJob(names[call]))]),
        ],
        isDetail: true,
      },
    ],
    figures: {
      gateway_requests_per_job: now?.requests ?? Number.NaN,
      gateway_cpu_ms: now?.cpuMs ?? Number.NaN,
      gateway_latency_p50_ms: now?.p50Ms ?? Number.NaN,
    },
    goals: [
      ...goal('requests of the gateway for a job', now?.requests, 'requests', 25),
      ...goal('processor time of the gateway for a job', now?.cpuMs, 'ms', 30),
    ],
    skipped: [],
  }
}

const goal = (what: string, found = Number.NaN, unit: string, limit: number) =>
  [{ what, found, unit, limit, better: 'lower' }] as const

export const gateway: Benchmark = { title: 'Cost of a job at the gateway', run: runGateway }
