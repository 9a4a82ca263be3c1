import { dirname, join } from 'node:path'
import { JobId } from '../../lib/codecs.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { readText } from './json-lines.ts'
import { stepIn } from './step-lines.ts'
import type { JournalStep } from './steps.ts'
import { orUnwritable } from './write-journal.ts'

/** Returns the path of the journal, beside the configuration. */
export const journalPathOf = (configPath: string): string =>
  join(dirname(configPath), 'journal.jsonl')

/** One assignment of a job. */
export type AssignmentId = Pick<JournalStep, 'jobId' | 'fence'>

/** Names an assignment in maps and sets. */
export const nameOf = ({ jobId, fence }: AssignmentId): string => `${jobId}:${fence}`

/** A line that holds no step, or whose checksum is wrong. Counted from 1. */
type DamagedLine = { readonly line: number; readonly text: string }

/** The content of a journal. */
export type JournalContent = ReturnType<typeof readJournal>

/** Reads a journal, an empty one if there is no file. Throws file system errors. */
export function readJournal(path: string) {
  const lines = readText(path).split('\n')
  const steps: JournalStep[] = []
  /** All unreadable lines but an incomplete last one. */
  const damaged: DamagedLine[] = []
  // A killed process may leave the last line incomplete. The node has not acted on its step yet.
  let isTorn = false
  for (const [index, text] of lines.entries()) {
    if (text === '') continue
    const step = stepIn(text)
    if (step) steps.push(step)
    else if (index === lines.length - 1) isTorn = true
    else damaged.push({ line: index + 1, text })
  }
  return { steps, isTorn, damaged }
}

/** Throws SvcError `journal-damaged` when a line other than an incomplete last one is unreadable. */
export function checkWhole(path: string, { damaged }: JournalContent): void {
  const [first] = damaged
  if (first === undefined) return
  throw new SvcError(
    'journal-damaged',
    `the job journal ${path} is damaged: ${damaged.length} line(s) cannot be read, the first is line ${first.line}`,
    {
      hint: 'It keeps this node from signing two answers to one assignment, for which its stake can be taken. Check the disk, then run `svc-node repair`.',
    },
  )
}

/** Throws SvcError `journal-unwritable` or `journal-damaged` when `run` could not use the journal. */
export const checkJournal = (path: string): void =>
  checkWhole(
    path,
    orUnwritable(path, () => readJournal(path)),
  )

/** Returns the assignments that are still legible in damaged lines. */
export const assignmentIdsIn = (damaged: readonly DamagedLine[]): readonly AssignmentId[] =>
  damaged.flatMap(({ text }) =>
    [...text.matchAll(/"jobId":"(0x[0-9a-f]{64})","fence":(\d{1,15})\b/g)].map(
      ([, jobId, fence]) => ({ jobId: JobId.parse(jobId), fence: Number(fence) }),
    ),
  )
