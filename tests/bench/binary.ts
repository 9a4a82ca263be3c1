import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { version } from '../../lib/host/version.ts'
import { currentBinary } from '../../scripts/build-node/current-binary.ts'
import { inEmptyFolder } from '../empty-folder.ts'
import { type Benchmark, byForm, type Findings, type Form } from './benchmark.ts'
import { compileLine } from './empty-program.ts'
import { measureIdle } from './idle.ts'
import { median, ratio } from './table.ts'

const root = resolve(import.meta.dirname, '..', '..')
const printVersion = `console.log('${version}')`

/** Milliseconds from start to end. */
function start(folder: string, command: string[]): number {
  const began = performance.now()
  const { exitCode, stdout } = Bun.spawnSync(command, { cwd: folder, env: {} })
  const ms = performance.now() - began
  if (exitCode !== 0 || stdout.toString() !== `${version}\n`) {
    throw new Error(`${command.join(' ')} ended with ${exitCode} and printed ${stdout}`)
  }
  return ms
}

async function measureStarts(folder: string, mine: string, runs: number) {
  const empty = await compileLine(folder, 'empty', printVersion)
  const took: { mine: number[]; empty: number[] } = { mine: [], empty: [] }
  // Both in turn: what else the machine does hits both alike. The first of each fills the page cache.
  for (let run = 0; run <= runs; run++) {
    const [first, second] = [start(folder, [mine, '--version']), start(folder, [empty])]
    if (run === 0) continue
    took.mine.push(first)
    took.empty.push(second)
  }
  const describe = async (path: string, all: readonly number[]) => ({
    megabytes: (await stat(path)).size / 1e6,
    medianMs: median(all),
  })
  return { mine: await describe(mine, took.mine), empty: await describe(empty, took.empty) }
}

async function run(form: Form, say: (progress: string) => void): Promise<Findings> {
  const { runs, seconds } = byForm(form, {
    short: { runs: 30, seconds: 10 },
    long: { runs: 200, seconds: 30 },
  })
  return await inEmptyFolder(async (folder) => {
    const mine = await currentBinary(root, async (build) => {
      say('building dist/svc-node')
      await build()
    })
    say('starting it')
    const starts = await measureStarts(folder, mine, runs)
    const idle = process.platform !== 'linux' ? [] : await measureIdle(mine, seconds, say)
    return findingsOf(runs, seconds, starts, idle)
  })
}

type Starts = Awaited<ReturnType<typeof measureStarts>>

function findingsOf(
  runs: number,
  seconds: number,
  { mine, empty }: Starts,
  idle: Awaited<ReturnType<typeof measureIdle>>,
): Findings {
  const row = (what: string, of: (found: Starts['mine']) => number, unit: string) => [
    what,
    `${of(mine).toFixed(1)} ${unit}`,
    `${of(empty).toFixed(1)} ${unit}`,
    ratio(of(mine), of(empty)),
  ]
  const daemons = idle.slice(0, -1)
  const own = Math.max(...daemons.map(({ ownMegabytes }) => ownMegabytes))
  const largest = daemons.find(({ ownMegabytes }) => ownMegabytes === own)
  const emptyIdle = idle.at(-1)
  const startRatio = mine.medianMs / empty.medianMs
  return {
    method: `The executable's \`--version\` and a compiled program of one line start ${runs} times each, in turn. The idle daemons run against a real chain and ICL for ${seconds} s, the empty program beside them.`,
    tables: [
      {
        title: 'Size and start',
        rows: [
          ['', 'svc-node --version', 'empty program', 'ratio'],
          row('size', ({ megabytes }) => megabytes, 'MB'),
          row('start to end, median', ({ medianMs }) => medianMs, 'ms'),
        ],
      },
      ...(idle.length === 0
        ? []
        : [
            {
              title: 'Idle, the largest of three daemons',
              rows: [
                ['', 'resident', 'own', 'peak', 'of one core'],
                ...[largest, emptyIdle]
                  .flatMap((one) => (one ? [one] : []))
                  .map((one) => [
                    one.name,
                    `${one.residentMegabytes.toFixed(1)} MB`,
                    `${one.ownMegabytes.toFixed(1)} MB`,
                    `${one.peakMegabytes.toFixed(1)} MB`,
                    `${((100 * one.processorSeconds) / seconds).toFixed(2)} %`,
                  ]),
              ],
            },
          ]),
    ],
    figures: {
      binary_megabytes: mine.megabytes,
      binary_empty_megabytes: empty.megabytes,
      version_ms: mine.medianMs,
      version_empty_ms: empty.medianMs,
      version_to_empty: startRatio,
      ...(idle.length > 0 && {
        idle_own_megabytes: own,
        idle_empty_own_megabytes: emptyIdle?.ownMegabytes ?? Number.NaN,
        idle_resident_megabytes: largest?.residentMegabytes ?? Number.NaN,
        idle_empty_resident_megabytes: emptyIdle?.residentMegabytes ?? Number.NaN,
        idle_of_one_core_percent:
          (100 * median(daemons.map(({ processorSeconds }) => processorSeconds))) / seconds,
      }),
    },
    goals: [
      {
        what: '`--version`, of an empty compiled program',
        found: startRatio,
        unit: 'x',
        limit: 4,
        better: 'lower',
        heldBackBy: 'reading the bytecode of the command table',
      },
      ...(idle.length === 0
        ? []
        : [
            {
              what: 'memory of its own of an idle daemon',
              found: own,
              unit: 'MB',
              limit: 25,
              better: 'lower' as const,
              heldBackBy: `the schemas, the chain client and the attestation stay loaded; an empty compiled program takes ${emptyIdle?.ownMegabytes.toFixed(1)} MB`,
            },
          ]),
    ],
    skipped: idle.length > 0 ? [] : ['idle daemons: read from /proc, which needs Linux'],
  }
}

export const binary: Benchmark = { title: 'Executable', run }
