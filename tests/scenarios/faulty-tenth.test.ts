import { expect, it } from 'vitest'
import { facesOf, faultyTenth } from './faulty-tenth.ts'

const seed = Number(process.env.SCENARIO_SEED ?? 1)

it('a hundred jobs all settle, and of a tenth of faulty nodes none is taken for an honest one', async () => {
  const report = await faultyTenth({ seed, jobs: 100, nodes: 40 })
  process.stdout.write(`\n${facesOf(report)}\n`)
  expect([seed, report.problems, report.wrong]).toEqual([seed, [], 0])
  expect(report.outcome.jobs).toHaveLength(100)
}, 600_000)
