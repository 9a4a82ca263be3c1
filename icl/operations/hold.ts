// A caller that waits for news is a row of a table, and what it asks. Its request has ended: frames and signals of it would be most of what a
// waiting caller costs. What a look finds goes out once the saves that it rests on last, because the request's own barrier was passed when the
// application was left. Looks for one caller never overlap, since a look may change something. News that comes during a look has it look again.
import { elapsedSince, type MonotonicMs } from '../../lib/clock.ts'
import { type Row, togetherMs } from '../async/hold-table.ts'
import type { Dependencies } from '../dependencies.ts'

/** What a caller waits for. */
export type Question<T, Gone = T | undefined> = {
  /** Whose news may bring the answer. */
  readonly key: string
  /** The answer for a caller that has gone away: nobody hears it. */
  readonly gone: Gone
  /** The answer; undefined while it is worth the wait, which a caller whose time is over may not do any more. */
  look(waiting: Waiting): Promise<T | undefined>
}

/** How a wait stands. */
export type Waiting = {
  readonly deps: Dependencies
  /** Whether the caller may wait on. */
  readonly mayWait: boolean
  /** True once it has its answer, or has gone away. */
  readonly isOver: boolean
}

/** All that is kept of a caller that waits. */
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
  /** News came during the look. */
  isStale: boolean
  /** Its caller has gone away. */
  readonly handleEvent: () => void
}

/** Looks until there is an answer, after `ms` at the latest, with news in between. */
export function hold<T, Gone>(
  deps: Dependencies,
  question: Question<T, Gone>,
  ms: number,
  signal?: AbortSignal,
): Promise<T | Gone> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return resolve(question.gone)
    // Written out: made of parts, an object takes a third more.
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

/** A caller that waits and looks for nothing until it is let go: then it looks for what was changed for it meanwhile. */
export type Kept<T> = { readonly question: T; readonly letGo: () => void }

/** Keeps one of those who wait under a key, and whose question is wanted, from looking. */
export function keepWaiting<T extends Question<unknown>>(
  { notifier }: Dependencies,
  key: string,
  isWanted: (question: Question<unknown>) => question is T,
): Kept<T> | undefined {
  for (const waiter of notifier.held.waiting(key).filter(isWaiter)) {
    const { question } = waiter
    if (waiter.isLooking || !isWanted(question)) continue
    waiter.isLooking = true
    const letGo = () => {
      // A save that fails may have been made all the same, and nobody is notified of it.
      notifier.held.drop(waiter)
      waiter.isStale = true
      looked(waiter)
    }
    return { question, letGo }
  }
  return undefined
}

const isWaiter = (row: Row): row is Waiter => 'question' in row

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
  // The wait starts before the look, so that news that comes in between is not missed.
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

/** The end of a look that found nothing. */
function looked(waiter: Waiter): void {
  waiter.isLooking = false
  if (!waiter.isStale) return
  waiter.isStale = false
  lookAgain(waiter)
}
