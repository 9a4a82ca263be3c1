import { z } from 'zod'
import { option, WholeNumber } from '../../lib/host/program/option.ts'
import { runOnly } from '../run-program.ts'
import { jobOperations, linesOf, runReplicas } from './replicas.ts'

await runOnly('npm run test:replicas --', {
  summary:
    'Serve jobs by three replicas of three runtimes over one MongoDB, each step by another one.',
  options: z.object({ jobs: option(WholeNumber(1, 1_000_000).default(100), 'N', 'How many') }),
  run: async ({ jobs }, { print }) => {
    const { accepted, operations, seconds } = await runReplicas(jobs, (done) => {
      if (done % 20 === 0) print(`${done} jobs accepted`)
    })
    for (const line of linesOf(operations)) print(line)
    const served = jobOperations.every((id) => {
      const counts = operations.get(id)
      return counts !== undefined && Object.values(counts).every((count) => count > 0)
    })
    print(
      `${accepted} of ${jobs} jobs accepted in ${seconds.toFixed(1)} s; every replica served some of every operation: ${served ? 'yes' : 'no'}`,
    )
    return accepted === jobs && served ? 0 : 1
  },
})
