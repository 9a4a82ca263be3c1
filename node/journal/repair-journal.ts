import { closeSync, constants, copyFileSync, fsyncSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { syncFolder } from '../../lib/host/write-whole.ts'
import { type Asked, askedBefore, countAsked } from './asked.ts'
import { type AssignmentId, assignmentIdsIn, readJournal } from './read-journal.ts'
import { entryOf, type JournalStep } from './steps.ts'
import { orUnwritable, rememberedStatements, replaceJournal } from './write-journal.ts'

/** What became of a damaged journal. */
export type Repaired = {
  readonly damagedLines: number
  /** Where the damaged file is kept. */
  readonly copy: string
  /** To so many assignments the node signs no new answer. */
  readonly guarded: number
}

/**
 * Makes a damaged journal usable; undefined when it is whole. Anything may have been signed for every assignment that is
 * `known` or that the damaged file names: none of them is signed for anew, and a job goes on only where its answer is
 * there to be sent again. Throws SvcError `journal-unwritable`.
 */
export function repairJournal(path: string, known: readonly AssignmentId[]): Repaired | undefined {
  return orUnwritable(path, () => {
    const { steps, damaged } = readJournal(path)
    if (damaged.length === 0) return undefined
    const copy = keepCopy(path)
    const jobs = new Map<string, JournalStep[]>()
    for (const step of steps) jobs.set(nameOf(step), [...(jobs.get(nameOf(step)) ?? []), step])
    const guarded = new Map<string, JournalStep>()
    for (const { jobId, fence } of [...known, ...assignmentIdsIn(damaged), ...steps]) {
      const name = nameOf({ jobId, fence })
      // The latest stay when they are too many.
      guarded.delete(name)
      guarded.set(name, { step: 'signed', jobId, fence })
    }
    const kept = [...guarded].slice(-rememberedStatements).flatMap(([name, signed]) => {
      const own = jobs.get(name) ?? []
      // In front, so that the job goes on.
      return entryOf(own)?.answer === undefined ? [signed] : [signed, ...own]
    })
    const asked: Asked = new Map()
    for (const step of steps) countAsked(asked, step)
    closeSync(replaceJournal(path, [...askedBefore(asked, kept), ...kept]))
    syncFolder(dirname(path))
    return { damagedLines: damaged.length, copy, guarded: guarded.size }
  })
}

const nameOf = ({ jobId, fence }: AssignmentId): string => `${jobId}:${fence}`

/** Copies the file beside itself, over no earlier copy. */
function keepCopy(path: string): string {
  for (let number = 1; ; number++) {
    const copy = `${path}.damaged-${number}`
    try {
      copyFileSync(path, copy, constants.COPYFILE_EXCL)
      const file = openSync(copy, 'r+')
      fsyncSync(file)
      closeSync(file)
      return copy
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
    }
  }
}
