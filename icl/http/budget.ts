import { type Clock, elapsedSince } from '../../lib/clock.ts'
import { withDeadline, within } from '../../lib/deadline.ts'
import { ProblemError } from '../../lib/problem.ts'
import { SvcError } from '../../lib/svc-error.ts'
import type { Blobs } from '../blobs/blobs.ts'
import type { Dependencies } from '../dependencies.ts'
import type { Log } from '../telemetry/log.ts'
import { type Method, wrapped } from '../wrapped.ts'

/*
 * A caller waits 15 s, or 10 s longer than it asked the ICL to hold its request. All calls of a request to other services share one budget
 * that ends before, so that a service that hangs does not look like an ICL that hangs. A failed read of the chain is tried again within it.
 * A call to the chain that is given up goes on, and its result is cached for others. A call that stores or reads a blob is stopped.
 */
/** The time that a request has for calls to other services, besides the time that it asked to be held; milliseconds. */
export const requestBudgetMs = 8_000

const leastMs = 1_000
const firstPauseMs = 500

/** The dependencies for one request. Most are inherited: a spread would leave them out. */
export type RequestDependencies = Dependencies & {
  /** From now on, calls to the chain and the blob store share the budget. Each call gets at least 1 s. */
  begin(holdMs: number): void
}

const chainLate = (call: string) => {
  const message = `the chain RPC of the ICL did not respond in time (${call})`
  const hint = 'Check the chain RPC.'
  return new SvcError('chain-unavailable', message, { hint, retryable: true })
}
const blobsLate = (call: string) =>
  new ProblemError('unavailable', `the blob store of the ICL did not respond in time (${call})`)

/** Returns a function that makes the dependencies of a request from its log. */
export function requestDependencies(deps: Dependencies): (log: Log) => RequestDependencies {
  const { clock } = deps
  class Own {
    readonly log: Log
    #restMs: (() => number) | undefined
    constructor(log: Log) {
      this.log = log
    }
    begin(holdMs: number): void {
      const begun = clock.monotonic()
      this.#restMs = () => requestBudgetMs + holdMs - elapsedSince(clock, begun)
    }
    get chain() {
      return this.#restMs ? limitedReads(deps.chain, clock, this.#restMs) : deps.chain
    }
    get pool() {
      return this.#restMs ? limitedReads(deps.pool, clock, this.#restMs) : deps.pool
    }
    get blobs() {
      return this.#restMs ? limitedBlobs(deps.blobs, clock, this.#restMs) : deps.blobs
    }
  }
  // Inherited, because a copy of so many fields for each request costs more than the whole request gets from them.
  Object.setPrototypeOf(Own.prototype, deps)
  return (log) => new Own(log) as Own & Dependencies
}

type RestMs = () => number

/** Returns a call that rejects with `late` once the time is over. */
const limited =
  (
    clock: Clock,
    restMs: RestMs,
    late: (method: string) => Error,
    call: Method,
    name: string,
  ): Method =>
  (...args) => {
    const result = call(...args)
    if (!(result instanceof Promise)) return result
    return within(clock, Math.max(restMs(), leastMs), () => late(name), result)
  }

/** Wraps the chain or what reads it. Calls which the chain fails with a retryable error are repeated, with growing pauses, while there is time. */
const limitedReads = <T extends object>(port: T, clock: Clock, restMs: RestMs): T =>
  wrapped(port, (call, name) => {
    const read: Method = (...args) => {
      const result = call(...args)
      return result instanceof Promise
        ? untilRead(clock, restMs, result, () => call(...args))
        : result
    }
    return limited(clock, restMs, chainLate, read, name)
  })

async function untilRead(
  clock: Clock,
  restMs: RestMs,
  first: Promise<unknown>,
  again: () => unknown,
): Promise<unknown> {
  let result: unknown = first
  for (let pauseMs = firstPauseMs; ; pauseMs *= 2) {
    try {
      return await result
    } catch (error) {
      const mayPass =
        error instanceof SvcError && error.retryable && error.code.startsWith('chain-')
      if (!mayPass || pauseMs >= restMs()) throw error
      await clock.sleep(pauseMs)
      result = again()
    }
  }
}

/** Wraps a blob store so that its calls reject once the time is over. Stops `put` and `get`. */
const limitedBlobs = (blobs: Blobs, clock: Clock, restMs: RestMs): Blobs => {
  type Call<T> = (signal: AbortSignal) => Promise<T>
  const stopped = <T>(name: string, own: AbortSignal | undefined, call: Call<T>) => {
    const within = (ended: AbortSignal) => call(own ? AbortSignal.any([own, ended]) : ended)
    const leftMs = Math.max(restMs(), leastMs)
    return withDeadline(clock, leftMs, undefined, () => blobsLate(name), within)
  }
  const put: Blobs['put'] = (cid, bytes, options) =>
    stopped('put', options.signal, (signal) => blobs.put(cid, bytes, { ...options, signal }))
  const get: Blobs['get'] = (cid, own) => stopped('get', own, (signal) => blobs.get(cid, signal))
  const own: Partial<Record<string, Method>> = { put, get } as never
  return wrapped(blobs, (call, name) => own[name] ?? limited(clock, restMs, blobsLate, call, name))
}
