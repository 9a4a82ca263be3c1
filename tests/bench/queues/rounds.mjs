// Answers each line of input, a number of jobs, by the processor time of this process for them.
import { createInterface } from 'node:readline'

const clients = 48

/** Runs a round for each line of input: `runJob` resolves once a job is done. */
export async function serveRounds(runJob) {
  process.stdout.write(`${JSON.stringify({ ready: true })}\n`)
  for await (const line of createInterface({ input: process.stdin })) {
    let left = Number(line)
    const startedAt = performance.now()
    const before = process.cpuUsage()
    const work = async () => {
      while (left-- > 0) await runJob()
    }
    await Promise.all(Array.from({ length: clients }, work))
    const { user, system } = process.cpuUsage(before)
    const seconds = (performance.now() - startedAt) / 1000
    process.stdout.write(`${JSON.stringify({ cpuMicros: user + system, seconds })}\n`)
  }
  process.exit(0)
}
