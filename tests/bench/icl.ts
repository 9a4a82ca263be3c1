import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type IclRuntime, programOf } from '../../demo/runtime-programs.ts'
import type { NodeSigner } from '../../lib/request-signature.ts'
import { openWireServer, whyNoWireServer } from '../store/wire-server/open.ts'
import { type Benchmark, byForm, type Findings, type Form } from './benchmark.ts'
import { type Contender, type Measured, measureScenario } from './icl-rounds.ts'
import { type ScenarioName, scenarioNames } from './icl-scenarios.ts'
import type { ServerOptions } from './server/options.ts'
import { createRoster, entriesOf } from './server/roster.ts'
import { type ServerProcess, startServer } from './server/server-process.ts'

const goalMicros = 90
const memory = 'memory:'
const unmixed = ['heartbeat', 'poll', 'claim'] as const

type Plan = {
  readonly warmUp: number
  readonly rounds: number
  readonly mostMs: number
  readonly requests: number
  readonly nodes: number
}

const planOf = (form: Form): Plan =>
  byForm(form, {
    short: { warmUp: 2, rounds: 3, mostMs: 9_000, requests: 1_200, nodes: 10_000 },
    long: { warmUp: 2, rounds: 9, mostMs: 90_000, requests: 3_000, nodes: 10_000 },
  })

/** What is started for one comparison: a name and how its server differs. */
type Wanted = Partial<ServerOptions> & {
  readonly name: string
  readonly kind: ServerOptions['kind']
  readonly share?: number
}

type Results = ReadonlyMap<ScenarioName, ReadonlyMap<string, Measured>>

/** Starts servers side by side, measures every scenario on all of them, and ends them. */
async function compare(
  runtime: IclRuntime,
  wanted: readonly Wanted[],
  scenarios: readonly ScenarioName[],
  roster: readonly NodeSigner[],
  plan: Plan,
): Promise<Results> {
  const servers: ServerProcess[] = []
  try {
    const contenders: Contender[] = []
    // Spread over the whole roster, so that a mixed round meets nodes from everywhere.
    const step = Math.max(1, Math.floor(roster.length / plan.requests))
    const asking = roster.filter((_, index) => index % step === 0).slice(0, plan.requests)
    for (const { name, kind, share = 1, databaseUrl = memory, ...rest } of wanted) {
      const server = await startServer({ kind, databaseUrl, workers: false, ...rest }, runtime)
      servers.push(server)
      const isIcl = kind === 'icl' || kind === 'open'
      const known = share === 1 ? roster : asking.slice(0, Math.ceil(asking.length * share) + 3)
      if (isIcl) await server.call('nodes', { nodes: entriesOf(known) })
      contenders.push({ name, server, isIcl, share })
    }
    const results = new Map<ScenarioName, ReadonlyMap<string, Measured>>()
    for (const name of scenarios) {
      results.set(name, await measureScenario(name, contenders, asking, plan))
    }
    return results
  } finally {
    await Promise.all(servers.map((server) => server.stop()))
  }
}

/** On Bun, over every store there is. */
async function compareStores(roster: readonly NodeSigner[], plan: Plan, skipped: string[]) {
  const folder = await mkdtemp(join(tmpdir(), 'svc-bench-icl-'))
  const missing = await whyNoWireServer()
  if (missing !== undefined) skipped.push(`icl over mongodb: ${missing}`)
  const wire = missing === undefined ? await openWireServer() : undefined
  try {
    const sqlite = (name: string) => `sqlite:${join(folder, `${name}.db`)}`
    return await compare(
      'bun',
      [
        { name: 'bare', kind: 'bare' },
        { name: 'hono', kind: 'hono' },
        { name: 'open memory', kind: 'open' },
        { name: 'icl memory', kind: 'icl' },
        ...(plan.warmUp === 0
          ? []
          : [
              { name: 'open sqlite', kind: 'open' as const, databaseUrl: sqlite('open') },
              { name: 'icl sqlite', kind: 'icl' as const, databaseUrl: sqlite('icl') },
            ]),
        ...(wire
          ? [
              {
                name: 'icl mongodb',
                kind: 'icl' as const,
                databaseUrl: wire.freshUrl(),
                share: 0.04,
              },
            ]
          : []),
      ],
      scenarioNames,
      roster,
      plan,
    )
  } finally {
    await wire?.close()
    await rm(folder, { recursive: true, force: true })
  }
}

const nameOf = (contender: string, scenario: string) =>
  `${contender} ${scenario}`.replaceAll(' ', '_')

/** A row for each contender: microseconds of processor time for a request, and requests a second. */
function rowsOf(results: Results, names: readonly string[]): string[][] {
  const scenarios = [...results.keys()]
  const cell = (contender: string, scenario: ScenarioName) => {
    const found = results.get(scenario)?.get(contender)
    return found ? `${found.cpuMicros.toFixed(0)} us, ${found.perSecond.toFixed(0)}/s` : ''
  }
  return [
    ['', ...scenarios],
    ...names.map((name) => [name, ...scenarios.map((scenario) => cell(name, scenario))]),
  ]
}

function runtimeRows(runtimes: ReadonlyMap<IclRuntime, Results>): string[][] {
  const tables = [...runtimes].map(([runtime, results]) =>
    rowsOf(results, [`${runtime} hono`, `${runtime} open`, `${runtime} icl`]),
  )
  return [...(tables[0]?.slice(0, 1) ?? []), ...tables.flatMap(([, ...rows]) => rows)]
}

async function run(form: Form, say: (progress: string) => void): Promise<Findings> {
  const plan = planOf(form)
  const skipped: string[] = [
    'icl on workerd: there the ICL lives in a Durable Object with its chain built in, so that no instant chain can be put in its place',
  ]
  say(`making ${plan.nodes} nodes`)
  const roster = await createRoster(plan.nodes)
  say('stores on Bun')
  const stores = await compareStores(roster, plan, skipped)
  const runtimes = new Map<IclRuntime, Results>()
  for (const runtime of ['node', 'deno'] as const) {
    if (programOf(runtime) === undefined) {
      skipped.push(`icl on ${runtime}: npm has not installed it`)
      continue
    }
    say(runtime)
    const wanted = [
      { name: `${runtime} hono`, kind: 'hono' },
      { name: `${runtime} open`, kind: 'open' },
      { name: `${runtime} icl`, kind: 'icl' },
    ] as const
    runtimes.set(runtime, await compare(runtime, wanted, ['heartbeat', 'mixed'], roster, plan))
  }
  return findingsOf(stores, runtimes, skipped)
}

function findingsOf(
  stores: Results,
  runtimes: ReadonlyMap<IclRuntime, Results>,
  skipped: readonly string[],
): Findings {
  const figures: Record<string, number> = {}
  for (const results of [stores, ...runtimes.values()]) {
    for (const [scenario, found] of results) {
      for (const [contender, { cpuMicros, perSecond }] of found) {
        figures[`${nameOf(contender, scenario)}_cpu_us`] = cpuMicros
        figures[`${nameOf(contender, scenario)}_per_core_second`] = 1e6 / cpuMicros
        figures[`${nameOf(contender, scenario)}_per_second`] = perSecond
      }
    }
  }
  for (const store of storesWithBoth(stores)) {
    for (const scenario of unmixed) {
      figures[`${nameOf(store, scenario)}_signature_us`] = addedMicros(stores, scenario, store)
    }
  }
  const contenders = [...(stores.get('mixed')?.keys() ?? [])]
  return {
    method:
      'Another process signs the requests beforehand and sends them over 32 connections, to all servers in turn, round after round. The medians count. Processor time is that of the whole server process. `bare` is Bun.serve, `hono` an empty Hono application, `open` the ICL with authentication off. Mixed traffic is what 10,000 nodes send that poll every 5 s, beat every 60 s and run ten jobs a second. The ICL has its own settings, log and metrics. Its chain responds at once, and its rate limits are off.',
    tables: [
      {
        title: 'On Bun: processor time of a request, and requests a second',
        rows: rowsOf(stores, contenders),
      },
      ...(runtimes.size === 0
        ? []
        : [{ title: 'On other runtimes, in memory', rows: runtimeRows(runtimes) }]),
    ],
    figures,
    goals: authenticationGoals(stores),
    skipped,
  }
}

/** What a node's MAC and the look-up of the node add to one kind of request, in microseconds of processor time. */
const addedMicros = (results: Results, scenario: ScenarioName, store: string): number => {
  const found = results.get(scenario)
  const of = (kind: string) => found?.get(`${kind} ${store}`)?.cpuMicros ?? Number.NaN
  return of('icl') - of('open')
}

/** A goal for each store that was measured with authentication on and off: the worst of the kinds of requests counts. */
const authenticationGoals = (stores: Results): Findings['goals'] =>
  storesWithBoth(stores).map((store) => ({
    what: `processor time that a node's MAC and look-up add to a request, ${store}, icl less open, the worst of heartbeat, poll and claim`,
    found: Math.max(...unmixed.map((name) => addedMicros(stores, name, store))),
    unit: 'us',
    limit: goalMicros,
    better: 'lower' as const,
  }))

const storesWithBoth = (stores: Results): readonly string[] =>
  ['memory', 'sqlite'].filter((store) => stores.get('heartbeat')?.has(`open ${store}`))

export const icl: Benchmark = { title: 'Requests', run }
