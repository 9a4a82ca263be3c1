// A caller that waits for news is kept as a row of a table with its question. Its request has ended, because the frames and signals of a
// request would be most of its cost. An answer is sent once the saves that it rests on are durable: the request's own barrier was passed
// earlier. Looks for one caller never overlap, since a look may change something. News during a look leads to another look.
import { elapsedSince, type MonotonicMs } from '../../lib/clock.ts'
import { type Row, togetherMs } from '../async/hold-table.ts'
import type { Dependencies } from '../dependencies.ts'

/** What a caller waits for. */
export type Question<T, Gone = T | undefined> = {
  /** The key of the news that may bring the answer. */
  readonly key: string
  /** The result for a caller that has gone away. */
  readonly gone: Gone
  /** Returns the answer, or undefined to wait on. Has to return an answer when `mayWait` is false. */
  look(waiting: Waiting): Promise<T | undefined>
}

/** The state of a wait. */
export type Waiting = {
  readonly deps: Dependencies
  /** Whether the caller may wait on. */
  readonly mayWait: boolean
  /** True once the caller has its answer or has gone away. */
  readonly isOver: boolean
}

type Waiter = Row & {
  readonly deps: Dependencies
  readonly question: Question<unknown>
  readonly since: MonotonicMs
  readonly ms: number
  readonly resolve: (answer: unknown) => void
  readonly reject: (error: unknown) => void
  mayWait: boolean
  isOver: boolean
  isLooking: boolean
  /** True when news came during the look. */
  isStale: boolean
  /** Called when the caller has gone away. */
  readonly handleEvent: () => void
}

/** Looks at once, at every news, and after `ms`, until there is an answer. */
export function hold<T, Gone>(
  deps: Dependencies,
  question: Question<T, Gone>,
  ms: number,
  signal?: AbortSignal,
): Promise<T | Gone> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return resolve(question.gone)
    // Written out: with spreads the object takes a third more memory.
    const waiter: Waiter = {
      key: question.key,
      endsAt: 0,
      next: undefined,
      wake,
      handleEvent: leave,
      deps,
      question,
      ms,
      since: deps.clock.monotonic(),
      resolve: resolve as Waiter['resolve'],
      reject,
      mayWait: true,
      isOver: false,
      isLooking: false,
      isStale: false,
    }
    signal?.addEventListener('abort', waiter, { once: true })
    lookAgain(waiter)
  })
}

function wake(this: Waiter): void {
  lookAgain(this)
}

function leave(this: Waiter): void {
  end(this)
  this.resolve(this.question.gone)
}

function end(waiter: Waiter): void {
  waiter.isOver = true
  waiter.deps.notifier.held.drop(waiter)
}

function lookAgain(waiter: Waiter): void {
  if (waiter.isOver) return
  if (waiter.isLooking) {
    waiter.isStale = true
    return
  }
  const { deps, since, ms } = waiter
  const left = ms - elapsedSince(deps.clock, since)
  waiter.mayWait = left > togetherMs && !deps.notifier.closed
  waiter.isLooking = true
  // The wait starts before the look, so that no news in between is missed.
  if (waiter.mayWait) deps.notifier.held.hold(waiter, left)
  look(waiter).catch((error: unknown) => {
    end(waiter)
    waiter.reject(error)
  })
}

async function look(waiter: Waiter): Promise<void> {
  const barrier = waiter.deps.store.commits.barrier()
  const answer = await waiter.question.look(waiter)
  if (answer === undefined || waiter.isOver) return looked(waiter)
  end(waiter)
  await barrier()
  return waiter.resolve(answer)
}

/** Ends a look that found nothing, and looks again if news came during it. */
function looked(waiter: Waiter): void {
  waiter.isLooking = false
  if (!waiter.isStale) return
  waiter.isStale = false
  lookAgain(waiter)
}
