// Three replicas of three runtimes over one MongoDB serve 100 jobs, each step another one; `--jobs N` for another number.
import { jobOperations, linesOf, runReplicas } from './replicas.ts'

const at = process.argv.indexOf('--jobs')
const jobs = at < 0 ? 100 : Number(process.argv[at + 1])
const { accepted, operations, seconds } = await runReplicas(jobs, (done) => {
  if (done % 20 === 0) process.stdout.write(`${done} jobs accepted\n`)
})
for (const line of linesOf(operations)) process.stdout.write(`${line}\n`)
const served = jobOperations.every((id) => {
  const counts = operations.get(id)
  return counts !== undefined && Object.values(counts).every((count) => count > 0)
})
process.stdout.write(
  `${accepted} of ${jobs} jobs accepted in ${seconds.toFixed(1)} s; every replica served some of every operation: ${served ? 'yes' : 'no'}\n`,
)
process.exitCode = accepted === jobs && served ? 0 : 1
