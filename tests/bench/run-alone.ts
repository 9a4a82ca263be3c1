import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { BenchmarkName } from './all.ts'
import { byForm, type Findings, type Form } from './benchmark.ts'

/** What came of one benchmark: its findings, or why there are none. */
export type Outcome = {
  readonly name: BenchmarkName
  readonly seconds: number
  readonly findings?: Findings
  readonly failure?: string
}

const entry = join(import.meta.dirname, 'main.ts')
const keptText = 3_000

/** Runs one benchmark in a process of its own, so that none disturbs or ends the others; `say` hears how far it is. */
export async function runAlone(
  name: BenchmarkName,
  form: Form,
  say: (progress: string) => void,
): Promise<Outcome> {
  const flags = byForm(form, { short: [], long: ['--long'] })
  const short = name === 'million' ? 1_800_000 : 480_000
  const mostMs = byForm(form, { short, long: 7_200_000 })
  const startedAt = performance.now()
  const args = ['--no-env-file', entry, '--alone', '--only', name, ...flags]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let told = ''
  let complaints = ''
  child.stdout.on('data', (chunk: Buffer) => {
    told += chunk
  })
  child.stderr.on('data', (chunk: Buffer) => {
    complaints = (complaints + chunk).slice(-keptText)
    for (const line of String(chunk).split('\n')) if (line.startsWith('> ')) say(line.slice(2))
  })
  const timer = setTimeout(() => child.kill('SIGKILL'), mostMs)
  const [code, signal] = await once(child, 'close')
  clearTimeout(timer)
  const seconds = (performance.now() - startedAt) / 1000
  if (code === 0) return { name, seconds, findings: JSON.parse(told) }
  const why = signal === 'SIGKILL' ? `it took more than ${mostMs / 1000} s` : complaints
  return { name, seconds, failure: why }
}
