import { setTimeout as sleep } from 'node:timers/promises'
import { type IclRuntime, programOf } from '../../demo/runtime-programs.ts'
import type { NodeSigner } from '../../lib/request-signature.ts'
import { type Benchmark, byForm, type Findings, type Form } from './benchmark.ts'
import {
  historyFigures,
  historyGoal,
  historyNodes,
  historyTable,
  measureHistory,
} from './history.ts'
import { holdPolls } from './load/held-polls.ts'
import { measurePickUps } from './pickup.ts'
import { createRoster, entriesOf } from './server/roster.ts'
import { startServer } from './server/server-process.ts'
import type { Usage } from './server/usage.ts'
import { spreadOf } from './spread.ts'

/** What has a runtime collect its garbage when it is told to. */
const collecting: Readonly<Partial<Record<IclRuntime, readonly string[]>>> = {
  node: ['--expose-gc'],
  deno: ['--v8-flags=--expose-gc'],
}

/** Bytes of memory that a server needs more for each long-poll that it holds. */
async function measureMemory(
  kind: 'icl' | 'held',
  nodes: readonly NodeSigner[],
  runtime: IclRuntime = 'bun',
): Promise<number> {
  const options = { kind, databaseUrl: 'memory:', workers: true }
  const server = await startServer(options, runtime, collecting[runtime])
  try {
    if (kind === 'icl') await server.call('nodes', { nodes: entriesOf(nodes) })
    // What the first requests bring about once does not count.
    const first = await holdPolls(server.port, nodes.slice(0, 20))
    await sleep(200)
    const before = await server.call<Usage>('usageAfterCollection')
    const end = await holdPolls(server.port, nodes.slice(20))
    if (kind === 'icl') await untilHeld(() => server.call<number>('held'), nodes.length)
    else await sleep(500)
    const after = await server.call<Usage>('usageAfterCollection')
    end()
    first()
    return (after.residentBytes - before.residentBytes) / Math.max(nodes.length - 20, 1)
  } finally {
    await server.kill()
  }
}

async function untilHeld(count: () => Promise<number>, wanted: number): Promise<void> {
  for (let tries = 0; (await count()) < wanted; tries++) {
    if (tries > 600) throw new Error(`Only ${await count()} of ${wanted} polls are held`)
    await sleep(50)
  }
}

async function measurePickUp(nodes: readonly NodeSigner[], jobs: number, mostMs: number) {
  const server = await startServer({ kind: 'icl', databaseUrl: 'memory:', workers: true })
  try {
    await server.call('nodes', { nodes: entriesOf(nodes) })
    const { claimed } = await measurePickUps(server.port, nodes, jobs, mostMs)
    return spreadOf(claimed)
  } finally {
    await server.stop()
  }
}

async function run(form: Form, say: (progress: string) => void): Promise<Findings> {
  const plan = byForm(form, {
    short: {
      waiting: [1_000, 5_000, 15_000],
      jobs: 40,
      mostMs: 4_000,
      history: { sizes: [1_000, 100_000], rounds: 2, jobs: 150, mostMs: 3_000 },
    },
    long: {
      waiting: [1_000, 5_000, 15_000],
      jobs: 400,
      mostMs: 20_000,
      history: {
        sizes: [1_000, 10_000, 100_000],
        rounds: 5,
        jobs: 400,
        mostMs: 15_000,
      },
    },
  })
  const roster = await createRoster(plan.waiting.at(-1) ?? 0)
  const waiting = []
  for (const count of plan.waiting) {
    say(`${count.toLocaleString('en')} waiting nodes`)
    const nodes = roster.slice(0, count)
    waiting.push({
      count,
      icl: (await measureMemory('icl', nodes)) / 1024,
      bare: (await measureMemory('held', nodes)) / 1024,
      pickUp: await measurePickUp(nodes, plan.jobs, plan.mostMs),
    })
  }
  const others = []
  for (const runtime of ['node', 'deno'] as const) {
    if (programOf(runtime) === undefined) continue
    say(`${roster.length.toLocaleString('en')} waiting nodes on ${runtime}`)
    others.push({ runtime, kib: (await measureMemory('icl', roster, runtime)) / 1024 })
  }
  return findingsOf(waiting, others, await measureHistory(plan.history, say))
}

type Waiting = {
  readonly count: number
  readonly icl: number
  readonly bare: number
  readonly pickUp: ReturnType<typeof spreadOf>
}

type Other = { readonly runtime: IclRuntime; readonly kib: number }

function findingsOf(
  waiting: readonly Waiting[],
  others: readonly Other[],
  history: Awaited<ReturnType<typeof measureHistory>>,
): Findings {
  const figures: Record<string, number> = {}
  for (const { count, icl, bare, pickUp } of waiting) {
    figures[`waiting_${count}_icl_kib`] = icl
    figures[`waiting_${count}_bare_kib`] = bare
    figures[`waiting_${count}_pickup_p50_ms`] = pickUp.p50
    figures[`waiting_${count}_pickup_p99_ms`] = pickUp.p99
  }
  for (const { runtime, kib } of others) figures[`waiting_${runtime}_icl_kib`] = kib
  Object.assign(figures, historyFigures(history))
  const most = waiting.at(-1)
  return {
    method: `Memory is what is resident for each held poll after a collection, less what was with 20. Beside it the same for a bare Bun.serve that never responds. Pick-ups are those above, in memory. For the history, the same load runs in turn on files of settled jobs and the events of ${historyNodes} nodes. Those of more than a thousand have copies of rows, with the first 900 characters of each document.`,
    tables: [
      {
        title: 'Waiting nodes',
        rows: [
          ['waiting nodes', 'KiB for each', 'bare Bun.serve', 'pick-up 50 %', '99 %'],
          ...waiting.map(({ count, icl, bare, pickUp }) => [
            count.toLocaleString('en'),
            icl.toFixed(1),
            bare.toFixed(1),
            `${pickUp.p50.toFixed(1)} ms`,
            `${pickUp.p99.toFixed(1)} ms`,
          ]),
          ...others.map(({ runtime, kib }) => [
            `${most?.count.toLocaleString('en')} on ${runtime === 'node' ? 'Node' : 'Deno'}`,
            kib.toFixed(1),
          ]),
        ],
      },
      historyTable(history),
    ],
    figures,
    goals: [
      {
        what: `memory of a waiting node, ${most?.count.toLocaleString('en')} of them`,
        found: most?.icl ?? Number.NaN,
        unit: 'KiB',
        limit: 6,
        better: 'lower',
        heldBackBy: `a bare Bun.serve keeps ${most?.bare.toFixed(1)} KiB of a held request, and the signal that tells of a caller's end comes on top`,
      },
      historyGoal(history),
    ],
    skipped: [],
  }
}

export const scale: Benchmark = { title: 'Scale', run }
