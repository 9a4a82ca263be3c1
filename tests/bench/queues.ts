import { execFile, spawnSync } from 'node:child_process'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { inEmptyFolder } from '../empty-folder.ts'
import { type Benchmark, byForm, type Findings, type Form } from './benchmark.ts'
import {
  type Contender,
  type Cost,
  openBullMq,
  openIcl,
  openPgBoss,
  postgresPrograms,
} from './queue-contenders.ts'
import { median } from './table.ts'

const run = promisify(execFile)

/** Milliseconds of processor time for a job, by contender. */
type Costs = ReadonlyMap<Contender['name'], Cost>

/** Opens what this machine has the programs for. */
async function openAll(folder: string, opened: Contender[], skipped: string[]): Promise<void> {
  opened.push(await openIcl(folder))
  if (spawnSync('redis-server', ['--version']).error) {
    skipped.push("BullMQ: there is no redis-server; install Debian's package redis-server")
  } else opened.push(await openBullMq(folder))
  const bin = postgresPrograms()
  if (bin === undefined) {
    skipped.push("pg-boss: there is no Postgres; install Debian's package postgresql")
  } else opened.push(await openPgBoss(folder, bin))
}

async function measure(form: Form, folder: string, say: (progress: string) => void) {
  const { warmUp, jobs, rounds } = byForm(form, {
    short: { warmUp: 1_000, jobs: 200, rounds: 3 },
    long: { warmUp: 2_000, jobs: 500, rounds: 7 },
  })
  const skipped: string[] = []
  const opened: Contender[] = []
  const found = new Map<string, Cost[]>()
  try {
    await openAll(folder, opened, skipped)
    for (let round = 0; round <= rounds; round++) {
      for (const { name, round: work } of opened) {
        say(round === 0 ? `${name}: warm-up` : `round ${round} of ${rounds}: ${name}`)
        const cost = await work(round === 0 ? warmUp : jobs)
        if (round > 0) found.set(name, [...(found.get(name) ?? []), cost])
      }
    }
  } finally {
    await Promise.all(opened.map(({ close }) => close()))
  }
  const middle = (costs: readonly Cost[], part: keyof Cost) =>
    median(costs.map((cost) => cost[part]))
  const costs = [...found].map(
    ([name, all]) =>
      [name, { program: middle(all, 'program'), server: middle(all, 'server') }] as const,
  )
  return { costs: new Map(costs), skipped }
}

async function runQueues(form: Form, say: (progress: string) => void): Promise<Findings> {
  if (process.platform !== 'linux') {
    return findingsOf({
      costs: new Map(),
      skipped: [
        'queues: the processor time of their servers is read from /proc, which needs Linux',
      ],
    })
  }
  return await inEmptyFolder(async (folder) => {
    cpSync(join(import.meta.dirname, 'queues'), folder, { recursive: true })
    say('installing BullMQ and pg-boss')
    await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: folder })
    return findingsOf(await measure(form, folder, say))
  })
}

const sumOf = ({ program, server }: Cost): number => program + server

function findingsOf({ costs, skipped }: Awaited<ReturnType<typeof measure>>): Findings {
  const entries = [...(costs as Costs)]
  const [first] = entries.map(([, cost]) => sumOf(cost))
  const ms = (value: number) => `${value.toFixed(2)} ms`
  const rows = entries.map(([name, cost]) => {
    const [program, server, sum] = [cost.program, cost.server, sumOf(cost)]
    return [name, ms(program), ms(server), ms(sum), `x${((first ?? 0) / sum).toFixed(2)}`]
  })
  const pgBoss = costs.get('pg-boss on Postgres')
  const figure = (name: string) => `queue_${name.replaceAll(/[^a-z]+/gi, '_').toLowerCase()}_cpu_ms`
  return {
    method:
      'A job of a quorum, with as many changes of state and texts as long: 13 saves of the ICL, 19 changes on BullMQ, 17 on pg-boss, whose table holds a document for each job. The queues have no HTTP between their actors, no signatures and no receipts. redis syncs each change (`appendfsync always`), Postgres has its defaults. In turn in one run, 48 clients each.',
    tables: [
      {
        title: 'Processor time of a job',
        rows: [['', 'program', 'its server', 'together', 'the ICL, of this'], ...rows],
      },
    ],
    figures: Object.fromEntries(entries.map(([name, cost]) => [figure(name), sumOf(cost)])),
    goals:
      pgBoss && first !== undefined
        ? [
            {
              what: 'processor time of the ICL for a job over sqlite, of that of pg-boss with a document',
              found: first / sumOf(pgBoss),
              unit: 'x',
              limit: 1,
              better: 'lower',
            },
          ]
        : [],
    skipped,
  }
}

export const queues: Benchmark = { title: 'Queues in place of an ICL', run: runQueues }
