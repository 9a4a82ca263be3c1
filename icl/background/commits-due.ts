import type { JobId } from '../../lib/codecs.ts'
import { createWork } from '../async/work.ts'
import type { Dependencies } from '../dependencies.ts'
import { commitDue, type WaitingResult } from './commit-results.ts'

const mostAtOnce = 50
const maxWaiting = 5_000

/** Puts results on chain, many at a time. One transaction is under way at a time, and has the results that came before it. */
export function createCommits(deps: Dependencies) {
  const work = createWork(deps)
  const waiting = new Map<JobId, WaitingResult>()
  let atOnce = mostAtOnce
  return {
    /** Makes a job's result wait for the next transaction, if there is room. For a waiting result only updates `lookedAt`. */
    add: (
      id: JobId,
      { effectId, others, lookedAt }: Pick<WaitingResult, 'effectId' | 'others' | 'lookedAt'>,
    ) => {
      const known = waiting.get(id)
      if (known) known.lookedAt = lookedAt
      else if (waiting.size < maxWaiting) {
        waiting.set(id, { effectId, others, lookedAt, done: [], isNoted: false })
      }
    },
    /** When a job with a waiting result was looked at last. */
    lookedAt: (id: JobId) => waiting.get(id)?.lookedAt,
    /** Takes finished effects of a job, to record them with its result. Returns false when no result waits. */
    noteLater: (id: JobId, effectIds: readonly number[]) => {
      const result = waiting.get(id)
      if (!result || result.isNoted) return false
      result.done.push(...effectIds)
      return true
    },
    /** True for a finished effect that is recorded with its job's result. */
    isDone: (id: JobId, effectId: number) => waiting.get(id)?.done.includes(effectId) ?? false,
    /** Sends the waiting results, unless a transaction is under way. */
    start: (term: AbortSignal) => {
      if (waiting.size === 0) return
      void work.start('commits', async () => {
        const batch = [...waiting].slice(0, atOnce)
        try {
          const isTaken = await commitDue(deps, batch, term)
          // A batch may be too large for a block of the chain.
          const next = isTaken ? atOnce * 2 : Math.floor(batch.length / 2)
          atOnce = Math.min(Math.max(next, 1), mostAtOnce)
        } finally {
          for (const [id, one] of batch) if (waiting.get(id) === one) waiting.delete(id)
        }
      })
    },
    clear: () => waiting.clear(),
    get size() {
      return waiting.size
    },
    idle: () => work.idle(),
  }
}
