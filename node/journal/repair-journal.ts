import { closeSync, constants, copyFileSync, fsyncSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { syncFolder } from '../../lib/host/write-whole.ts'
import { type Asked, askedBefore, countAsked } from './asked.ts'
import { type AssignmentId, assignmentIdsIn, nameOf, readJournal } from './read-journal.ts'
import { entryOf, type JournalStep } from './steps.ts'
import { orUnwritable, rememberedStatements, replaceJournal } from './write-journal.ts'

/** The result of a repair. */
export type Repaired = {
  readonly damagedLines: number
  /** The path of the copy of the damaged file. */
  readonly copy: string
  /** The number of assignments for which the node signs no new answer. */
  readonly guarded: number
}

/**
 * Repairs a damaged journal. Returns undefined when it is not damaged. The node may have signed for every assignment that is `known` or
 * that the damaged file names, so it signs for none of them again. A job goes on only if its signed answer is in the journal to be sent
 * again. Throws SvcError `journal-unwritable`.
 */
export function repairJournal(path: string, known: readonly AssignmentId[]): Repaired | undefined {
  return orUnwritable(path, () => {
    const { steps, damaged } = readJournal(path)
    if (damaged.length === 0) return undefined
    const copy = keepCopy(path)
    const jobs = new Map<string, readonly JournalStep[]>()
    for (const step of steps) jobs.set(nameOf(step), [...(jobs.get(nameOf(step)) ?? []), step])
    const guarded = new Map<string, JournalStep>()
    for (const { jobId, fence } of [...known, ...assignmentIdsIn(damaged), ...steps]) {
      const name = nameOf({ jobId, fence })
      // When there are too many, the latest stay.
      guarded.delete(name)
      guarded.set(name, { step: 'signed', jobId, fence })
    }
    const kept = [...guarded].slice(-rememberedStatements).flatMap(([name, signed]) => {
      const own = jobs.get(name) ?? []
      // The `signed` step comes first, because after it `started` begins the entry anew.
      return entryOf(own)?.answer === undefined ? [signed] : [signed, ...own]
    })
    const asked: Asked = new Map()
    for (const step of steps) countAsked(asked, step)
    closeSync(replaceJournal(path, [...askedBefore(asked, kept), ...kept]))
    syncFolder(dirname(path))
    return { damagedLines: damaged.length, copy, guarded: guarded.size }
  })
}

/** Copies the file beside itself. Overwrites no earlier copy. */
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
