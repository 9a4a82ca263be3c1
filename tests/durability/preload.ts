import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { constants, homedir } from 'node:os'
import { join } from 'node:path'

/** Where a process ends by itself: around an fsync, with half of a write done, or with what was not synced put back, all of it or half of its sectors. */
export const endings = {
  'before-sync': 1,
  'after-sync': 2,
  'mid-write': 3,
  'power-cut': 4,
  'torn-power-cut': 5,
} as const
export type Ending = keyof typeof endings

/** What keeps a disk from taking something. */
type DiskError = 'ENOSPC' | 'EIO'

/** Steers the faults of one process while it runs. */
export type Control = {
  /** What the process needs in its environment. */
  readonly env: Readonly<Record<string, string>>
  /** Ends the process when it gets to this place for the `countdown`th time. */
  readonly endAt: (ending: Ending, countdown: number, seed: number) => void
  /** Refuses writes and syncs; undefined for none. */
  readonly refuse: (writes: DiskError | undefined, syncs: DiskError | undefined) => void
  /** Sets the clock off by milliseconds. */
  readonly moveClock: (ms: number) => void
  /** How many writes and fsyncs came through. */
  readonly counts: () => { readonly writes: number; readonly syncs: number }
  /** Takes everything back that was set. */
  readonly clear: () => void
}

// As in `struct control` of preload/faults.c.
const places = { clock: 0, writes: 8, syncs: 12, die: 16, countdown: 20, seed: 24 }
const counters = { at: 28, bytes: 8 }
const size = counters.at + counters.bytes

const source = join(import.meta.dirname, 'preload', 'faults.c')

/** The library that is loaded into processes, built once for its source; or why there is none, which is an error where everything is tested (CI). */
export function findPreload(): { readonly path: string } | { readonly missing: string } {
  const missing = (why: string) => {
    if (process.env.CI === 'true' && process.platform === 'linux') throw new Error(why)
    return { missing: why }
  }
  if (process.platform !== 'linux') return missing('disks and clocks fail on Linux only')
  const hash = createHash('sha256').update(readFileSync(source)).digest('hex').slice(0, 12)
  const folder = process.env.SVC_TOOLS_DIR ?? join(homedir(), '.cache', 'svc-tools')
  const path = join(folder, `faults-${process.arch}-${hash}.so`)
  if (existsSync(path)) return { path }
  const draft = `${path}.${process.pid}`
  mkdirSync(folder, { recursive: true })
  try {
    execFileSync('cc', ['-shared', '-fPIC', '-O2', '-o', draft, source, '-ldl', '-pthread'])
  } catch (error) {
    return missing(`cc does not build ${source}: ${error instanceof Error ? error.message : error}`)
  }
  renameSync(draft, path)
  return { path }
}

/** Makes a control whose file is `file`, for a process whose disk is the files with names that begin with `prefix`. */
export function createControl(library: string, file: string, prefix: string): Control {
  writeFileSync(file, new Uint8Array(size))
  const set = (at: number, ...values: number[]) =>
    put(file, at, new Uint8Array(Int32Array.from(values).buffer))
  const refuse: Control['refuse'] = (writes, syncs) =>
    set(places.writes, errnoOf(writes), errnoOf(syncs))
  const moveClock = (ms: number) =>
    put(file, places.clock, new Uint8Array(BigInt64Array.of(BigInt(ms)).buffer))
  return {
    env: { LD_PRELOAD: library, SVC_FAULTS_CONTROL: file, SVC_FAULTS_FILES: prefix },
    endAt: (ending, countdown, seed) => {
      set(places.seed, seed)
      set(places.countdown, countdown)
      set(places.die, endings[ending])
    },
    refuse,
    moveClock,
    counts: () => {
      const [writes = 0, syncs = 0] = readCounters(file)
      return { writes, syncs }
    },
    clear: () => {
      set(places.die, 0)
      refuse(undefined, undefined)
      moveClock(0)
    },
  }
}

const errnoOf = (error: DiskError | undefined): number =>
  error === undefined ? 0 : constants.errno[error]

function put(file: string, at: number, bytes: Uint8Array): void {
  const handle = openSync(file, 'r+')
  try {
    writeSync(handle, bytes, 0, bytes.length, at)
  } finally {
    closeSync(handle)
  }
}

function readCounters(file: string): Uint32Array {
  const bytes = new Uint8Array(counters.bytes)
  const handle = openSync(file, 'r')
  try {
    readSync(handle, bytes, 0, bytes.length, counters.at)
  } finally {
    closeSync(handle)
  }
  return new Uint32Array(bytes.buffer)
}
