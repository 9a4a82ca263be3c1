import type { Benchmark, Findings } from './benchmark.ts'
import { historyGoal, historyTable, measureHistory } from './history.ts'

async function run(say: (progress: string) => void): Promise<Findings> {
  const history = await measureHistory([1_000, 1_000_000], say)
  return {
    method:
      'As the history of `scale`, on a file whose rows are copies of those of a thousand jobs, each with ids of its own and the first 900 characters of its document.',
    tables: [historyTable(history)],
    goals: [historyGoal(history)],
    skipped: [],
  }
}

export const million: Benchmark = { title: 'A million stored jobs', run }
