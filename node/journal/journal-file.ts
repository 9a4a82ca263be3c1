import { closeSync, fdatasyncSync, fstatSync, ftruncateSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { syncFolder, writeAll } from '../../lib/host/write-whole.ts'
import { type Asked, askedBefore, countAsked } from './asked.ts'
import type { Journal } from './journal.ts'
import { type AssignmentId, checkWhole, nameOf, readJournal } from './read-journal.ts'
import { lineOf } from './step-lines.ts'
import { entryOf, type JournalStep, signedIn } from './steps.ts'
import { orUnwritable, rememberedStatements, replaceJournal } from './write-journal.ts'

export type JournalFile = Journal & {
  /** Whether the last line is incomplete, as after a kill. */
  readonly wasTorn: boolean
  close(): void
}

const compactAfterLines = 512

/** Opens the journal (mode 0600), without most of what has ended. Throws SvcError `journal-unwritable` or `journal-damaged`. */
export function openJournal(path: string): JournalFile {
  return orUnwritable(path, () => {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    const content = readJournal(path)
    checkWhole(path, content)
    const known: Known = { jobs: new Map(), signed: new Map(), asked: new Map() }
    const { jobs, signed, asked } = known
    for (const step of content.steps) add(known, step)
    let lines = 0
    let linesToCompact = 0
    let file = -1
    // The end of the last whole step, while a failed write may have left bytes behind it.
    let cutAt: number | undefined
    // A replaced file has its name on disk only after its folder is synced.
    let isMoved = false
    const settle = () => {
      if (isMoved) syncFolder(dirname(path))
      isMoved = false
    }
    const compact = () => {
      for (const [name, steps] of jobs) if (entryOf(steps) === undefined) jobs.delete(name)
      const ended = [...signed.values()].flatMap(({ id }) =>
        jobs.has(nameOf(id)) ? [] : [{ step: 'signed', ...id } as const],
      )
      const running = [...jobs.values()].flat()
      const live = [...askedBefore(asked, running), ...ended, ...running]
      const replacement = replaceJournal(path, live)
      if (file !== -1) closeSync(file)
      file = replacement
      cutAt = undefined
      isMoved = true
      lines = live.length
      linesToCompact = Math.max(compactAfterLines, 2 * lines)
    }
    const cut = () => {
      if (cutAt !== undefined) ftruncateSync(file, cutAt)
      cutAt = undefined
    }
    const append = (line: string) => {
      cut()
      cutAt = fstatSync(file).size
      writeAll(file, line)
      fdatasyncSync(file)
      cutAt = undefined
    }
    compact()
    settle()
    const unfinished = [...jobs.values()].flatMap((steps) => entryOf(steps) ?? [])
    return {
      unfinished,
      wasTorn: content.isTorn,
      isSigned: (id) => signed.has(nameOf(id)),
      hasSigned: (step) => {
        const of = signed.get(nameOf(step))?.statements
        return of !== undefined && (of.has('signed') || of.has(signedIn(step) ?? ''))
      },
      askedFor: (jobId) => asked.get(jobId) ?? 0,
      note(step) {
        orUnwritable(path, () => {
          settle()
          try {
            append(lineOf(step))
          } catch (error) {
            // If this fails too, the rest is cut off before the next step.
            try {
              cut()
            } catch {}
            throw error
          }
        })
        add(known, step)
        if (step.step === 'ended') jobs.delete(nameOf(step))
        lines += 1
        if (lines < linesToCompact) return
        try {
          compact()
        } catch {
          // The step is on disk. The file only stays longer than needed until the disk has room again.
          linesToCompact = lines + compactAfterLines
        }
      },
      close: () => closeSync(file),
    }
  })
}

/** What the steps sum up to: the jobs, the assignments signed for, and the questions to the provider. */
type Known = {
  readonly jobs: Map<string, readonly JournalStep[]>
  readonly signed: Signed
  readonly asked: Asked
}
type Signed = Map<string, { readonly id: AssignmentId; readonly statements: Set<string> }>

function add({ jobs, signed, asked }: Known, step: JournalStep): void {
  const name = nameOf(step)
  if (step.step !== 'asked-before') jobs.set(name, [...(jobs.get(name) ?? []), step])
  remember(signed, step)
  countAsked(asked, step)
}

/** Remembers what was signed for an assignment, for the latest `rememberedStatements` assignments. */
function remember(signed: Signed, step: JournalStep): void {
  // The node signs nothing more for a job that has ended.
  if (step.step === 'ended') signed.get(nameOf(step))?.statements.add('signed')
  const statement = signedIn(step)
  if (statement === undefined) return
  const { jobId, fence } = step
  const known = signed.get(nameOf(step)) ?? { id: { jobId, fence }, statements: new Set() }
  signed.set(nameOf(step), known)
  known.statements.add(statement)
  const [oldest] = signed.keys()
  if (signed.size > rememberedStatements && oldest !== undefined) signed.delete(oldest)
}
