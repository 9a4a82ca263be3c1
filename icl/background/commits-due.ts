import type { MonotonicMs } from '../../lib/clock.ts'
import type { JobId } from '../../lib/codecs.ts'
import { createWork } from '../async/work.ts'
import type { Dependencies } from '../dependencies.ts'
import { commitDue, type WaitingResult } from './commit-results.ts'

const mostAtOnce = 50
const maxWaiting = 5_000

/** Results that wait until they are on chain: one transaction is under way at a time, and takes those that came before it. */
export type Commits = {
  /** Has a job's result wait for the next transaction, if there is room; one that waits already is only noted as looked at. */
  add(id: JobId, result: Pick<WaitingResult, 'effectId' | 'others' | 'lookedAt'>): void
  /** When a job whose result waits was looked at last. */
  lookedAt(id: JobId): MonotonicMs | undefined
  /** Takes other effects of a job that are done, to be noted with its result; false when that does not wait. */
  noteLater(id: JobId, effectIds: readonly number[]): boolean
  /** Whether an effect is done, and is to be noted with its job's result. */
  isDone(id: JobId, effectId: number): boolean
  /** Sends what waits, unless a transaction is under way. */
  start(term: AbortSignal): void
  /** Forgets what waits. */
  clear(): void
  /** How many wait. */
  readonly size: number
  /** Resolves once nothing is under way. */
  idle(): Promise<void>
}

/** Puts results on chain, many at a time. */
export function createCommits(deps: Dependencies): Commits {
  const work = createWork(deps)
  const waiting = new Map<JobId, WaitingResult>()
  let atOnce = mostAtOnce
  return {
    add: (id, { effectId, others, lookedAt }) => {
      const known = waiting.get(id)
      if (known) known.lookedAt = lookedAt
      else if (waiting.size < maxWaiting) {
        waiting.set(id, { effectId, others, lookedAt, done: [], isNoted: false })
      }
    },
    lookedAt: (id) => waiting.get(id)?.lookedAt,
    noteLater: (id, effectIds) => {
      const result = waiting.get(id)
      if (!result || result.isNoted) return false
      result.done.push(...effectIds)
      return true
    },
    isDone: (id, effectId) => waiting.get(id)?.done.includes(effectId) ?? false,
    start: (term) => {
      if (waiting.size === 0) return
      void work.start('commits', async () => {
        const batch = [...waiting].slice(0, atOnce)
        try {
          const isTaken = await commitDue(deps, batch, term)
          // A batch may be more than fits into one of the chain's blocks.
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
