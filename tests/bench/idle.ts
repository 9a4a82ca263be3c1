import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { chooseProvider } from '../../demo/provider.ts'
import { startWorld, type World } from '../../demo/world.ts'
import { compileLine } from './empty-program.ts'

// The kernel tells user space of processor time in these, whatever its own clock is.
const ticksPerSecond = 100
const settleMs = 5_000
const model = 'openai:gpt-4o-mini'

/** What a process took while it had nothing to do. */
export type Idle = Awaited<ReturnType<typeof memoryOf>> & {
  readonly name: string
  readonly processorSeconds: number
}

/** What idle daemons cost against a real chain and ICL on this machine; an empty program is the last. Needs Linux. */
export async function measureIdle(
  nodeBinary: string,
  seconds: number,
  say: (progress: string) => void,
): Promise<readonly Idle[]> {
  say('a chain, the ICL and three daemons')
  const { standIn, envOf } = chooseProvider(model, {})
  const world = await startWorld({ models: [model], nodeBinary, standIn, providerEnv: envOf })
  try {
    say(`watching them for ${seconds} s`)
    return await watch(world, seconds)
  } finally {
    await world.stop()
  }
}

async function watch({ folder, nodes }: World, seconds: number): Promise<readonly Idle[]> {
  const empty = await compileLine(folder, 'empty', 'setInterval(() => {}, 5_000)')
  const beside = spawn(empty, { env: {}, stdio: 'ignore' })
  try {
    const processes = [
      ...nodes.map(({ name, process: { pid } }) => ({ name, pid })),
      { name: 'empty program', pid: beside.pid ?? 0 },
    ]
    await sleep(settleMs)
    const before = await Promise.all(processes.map(({ pid }) => processorSeconds(pid)))
    await sleep(seconds * 1000)
    return await Promise.all(
      processes.map(async ({ name, pid }, index) => ({
        name,
        ...(await memoryOf(pid)),
        processorSeconds: (await processorSeconds(pid)) - (before[index] ?? 0),
      })),
    )
  } finally {
    beside.kill('SIGKILL')
  }
}

/** Processor time of a process and all its threads so far. */
async function processorSeconds(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
  // The name in parentheses may hold spaces; utime and stime are the fields 14 and 15 of the whole line.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
}

/** Megabytes: resident, of that its own (no pages of the executable, which count as dirty while it is new), and the most it ever was. */
async function memoryOf(pid: number) {
  const [status, rollup] = await Promise.all(
    ['status', 'smaps_rollup'].map((file) => readFile(join('/proc', String(pid), file), 'utf8')),
  )
  const megabytes = (text: string | undefined, name: string): number =>
    (Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text ?? '')?.[1]) * 1024) / 1e6
  return {
    residentMegabytes: megabytes(status, 'VmRSS'),
    ownMegabytes: megabytes(rollup, 'Anonymous'),
    peakMegabytes: megabytes(status, 'VmHWM'),
  }
}
