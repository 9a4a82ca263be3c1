import { type Benchmark, byForm, type Findings, type Form } from './benchmark.ts'
import { historyFigures, historyGoal, historyTable, measureHistory } from './history.ts'

async function run(form: Form, say: (progress: string) => void): Promise<Findings> {
  const sizes = [1_000, 1_000_000]
  const plan = byForm(form, {
    short: { sizes, rounds: 2, jobs: 150, mostMs: 3_000 },
    long: { sizes, rounds: 5, jobs: 1_000, mostMs: 30_000 },
  })
  const history = await measureHistory(plan, say)
  return {
    method:
      'As the history of `scale`, on a file whose rows are copies of those of a thousand jobs, each with ids of its own and the first 900 characters of its document.',
    tables: [historyTable(history)],
    figures: historyFigures(history),
    goals: [historyGoal(history)],
    skipped: [],
  }
}

export const million: Benchmark = { title: 'A million stored jobs', run }
