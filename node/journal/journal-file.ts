import {
  closeSync,
  fdatasyncSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { z } from 'zod'
import { SvcError } from '../../lib/svc-error.ts'
import type { Journal } from './journal.ts'
import { parseLines } from './json-lines.ts'
import { entryOf, JournalStep } from './steps.ts'

/** The journal's place: beside the configuration. */
export const journalPathOf = (configPath: string): string =>
  join(dirname(configPath), 'journal.jsonl')

/** A journal in a file. */
export type JournalFile = Journal & {
  /** Lines that could not be read; the last one of a killed process may be torn. */
  readonly skipped: number
  close(): void
}

const compactAfterLines = 512
// About 1 MB. An ICL that has lost its jobs may offer one of them again as if it were new.
const rememberedStatements = 10_000

/** Opens the journal (mode 0600): what has ended is dropped but for the last 10,000 signed, so that the file stays small; throws SvcError `journal-unwritable`. */
export function openJournal(path: string): JournalFile {
  return orUnwritable(path, () => {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    const { jobs, signed, skipped } = readSteps(path)
    let lines = 0
    let linesToCompact = 0
    let file = -1
    let torn = false
    // A file with a new content has its place in the folder only once the folder is on disk.
    let isMoved = false
    const settle = () => {
      if (isMoved) syncFolder(dirname(path))
      isMoved = false
    }
    const compact = () => {
      for (const [name, steps] of jobs) if (entryOf(steps) === undefined) jobs.delete(name)
      const ended = [...signed.values()].filter((step) => !jobs.has(nameOf(step)))
      const live = [...ended, ...[...jobs.values()].flat()]
      const replacement = replace(path, live)
      if (file !== -1) closeSync(file)
      file = replacement
      torn = false
      isMoved = true
      lines = live.length
      linesToCompact = Math.max(compactAfterLines, 2 * lines)
    }
    compact()
    settle()
    const unfinished = [...jobs.values()].flatMap((steps) => entryOf(steps) ?? [])
    return {
      unfinished,
      skipped,
      hasSigned: (place) => signed.has(nameOf(place)),
      note(step) {
        orUnwritable(path, () => {
          settle()
          const line = lineOf(step)
          const text = torn ? `\n${line}` : line
          torn = true
          write(file, text)
          torn = false
          fdatasyncSync(file)
        })
        add(jobs, step)
        remember(signed, step)
        if (step.step === 'ended') jobs.delete(nameOf(step))
        lines += 1
        if (lines < linesToCompact) return
        try {
          compact()
        } catch {
          // The step is on disk: the file is only longer than it need be, until there is room again.
          linesToCompact = lines + compactAfterLines
        }
      },
      close: () => closeSync(file),
    }
  })
}

type Place = Pick<JournalStep, 'jobId' | 'fence'>
type Jobs = Map<string, JournalStep[]>
type Signed = Map<string, JournalStep>

const nameOf = ({ jobId, fence }: Place): string => `${jobId}:${fence}`
const lineOf = (step: JournalStep): string => `${JSON.stringify(z.encode(JournalStep, step))}\n`

function add(jobs: Jobs, step: JournalStep): void {
  const steps = jobs.get(nameOf(step))
  if (steps === undefined) jobs.set(nameOf(step), [step])
  else steps.push(step)
}

/** Keeps in mind that an answer was signed, for so many of the latest. */
function remember(signed: Signed, { step, jobId, fence }: JournalStep): void {
  if (step !== 'result' && step !== 'verdict' && step !== 'signed') return
  signed.set(nameOf({ jobId, fence }), { step: 'signed', jobId, fence })
  const [oldest] = signed.keys()
  if (signed.size > rememberedStatements && oldest !== undefined) signed.delete(oldest)
}

/** What the file holds; a job that has ended leaves nothing but that it was signed. */
function readSteps(path: string): {
  readonly jobs: Jobs
  readonly signed: Signed
  readonly skipped: number
} {
  const jobs: Jobs = new Map()
  const signed: Signed = new Map()
  const { records, skipped } = parseLines(readText(path), JournalStep)
  for (const step of records) {
    add(jobs, step)
    remember(signed, step)
  }
  return { jobs, signed, skipped }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return ''
    throw error
  }
}

/** Puts a file with these steps in the place of the old one, and gives it open; a crash or a failure leaves the old file or the new one. */
function replace(path: string, steps: readonly JournalStep[]): number {
  const draft = `${path}.new`
  rmSync(draft, { force: true })
  const file = openSync(draft, 'ax', 0o600)
  try {
    write(file, steps.map(lineOf).join(''))
    fsyncSync(file)
    renameSync(draft, path)
    return file
  } catch (error) {
    closeSync(file)
    rmSync(draft, { force: true })
    throw error
  }
}

function write(file: number, text: string): void {
  const bytes = Buffer.from(text)
  for (let done = 0; done < bytes.length; ) done += writeSync(file, bytes, done)
}

function syncFolder(folder: string): void {
  // Windows opens no folders, and needs none synced.
  if (process.platform === 'win32') return
  const file = openSync(folder, 'r')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

function orUnwritable<T>(path: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new SvcError('journal-unwritable', `the job journal ${path} cannot be used: ${why}`, {
      hint: 'Check the disk, and who owns the folder of the configuration.',
      cause: error,
    })
  }
}
