// npm run scenarios [-- --seed N] [--scenario-jobs N] [--jobs N]
// What the service sees of nodes that cheat, one way after another; with --jobs, a tenth of all nodes at fault at random.
import { parseArgs } from 'node:util'
import { table } from '../bench/table.ts'
import { facesOf, faultyTenth } from './faulty-tenth.ts'
import { headings, rowOf } from './report.ts'
import { playScenario, scenarios } from './scenarios.ts'

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    'scenario-jobs': { type: 'string', default: '120' },
    jobs: { type: 'string' },
  },
})
const seed = Number(values.seed)
const print = (text: string) => process.stdout.write(`${text}\n`)

if (values.jobs === undefined) {
  const jobs = Number(values['scenario-jobs'])
  const rows: (readonly string[])[] = [headings]
  for (const scenario of Object.values(scenarios)) {
    const { outcome, diary } = await playScenario(scenario, seed, { jobs })
    const row = await rowOf(scenario.name, outcome)
    rows.push(row)
    const told =
      diary.refusals.length > 0 ? `, refused: ${[...new Set(diary.refusals)].join(' ')}` : ''
    print(`${scenario.name}: ${jobs} jobs, seed ${seed}${told}, peeked: ${diary.peeked.length}`)
    if (outcome.broken.length > 0) throw new Error(outcome.broken.join('\n'))
  }
  print(`\n${table(rows)}`)
} else {
  const jobs = Number(values.jobs)
  const startedAt = performance.now()
  const report = await faultyTenth({ seed, jobs, nodes: 70 })
  print(facesOf(report))
  print(`${((performance.now() - startedAt) / 1000).toFixed(0)} s`)
  process.exitCode = report.problems.length === 0 && report.wrong === 0 ? 0 : 1
}
process.exit()
