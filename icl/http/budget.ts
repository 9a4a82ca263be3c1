import { type Clock, elapsedSince } from '../../lib/clock.ts'
import { withDeadline, within } from '../../lib/deadline.ts'
import { ProblemError } from '../../lib/problem.ts'
import { SvcError } from '../../lib/svc-error.ts'
import type { Blobs } from '../blobs/blobs.ts'
import type { Dependencies } from '../dependencies.ts'
import { wrapped } from '../wrapped.ts'

/*
 * A caller waits 15 s, or 10 s longer than it asked the ICL to hold its request. All calls of a request to other services share one budget
 * that ends before, so that a service that hangs does not look like an ICL that hangs. A failed read of the chain is tried again within it.
 * A call to the chain that is given up goes on, and its result is cached for others. A call that stores or reads a blob is stopped.
 */
/** The time that a request has for calls to other services, besides the time that it asked to be held; milliseconds. */
export const requestBudgetMs = 8_000

const leastMs = 1_000
const firstPauseMs = 500

/** The dependencies for one request. Its calls to the chain and the blob store share its budget. Each call gets at least 1 s. */
export function withinBudget(deps: Dependencies, holdMs: number): Dependencies {
  const { clock } = deps
  const begun = clock.monotonic()
  const restMs = () => requestBudgetMs + holdMs - elapsedSince(clock, begun)
  const leftMs = () => Math.max(restMs(), leastMs)
  const chainLate = (call: string) => {
    const message = `the chain RPC of the ICL did not respond in time (${call})`
    const hint = 'Check the chain RPC.'
    return new SvcError('chain-unavailable', message, { hint, retryable: true })
  }
  const blobsLate = (call: string) =>
    new ProblemError('unavailable', `the blob store of the ICL did not respond in time (${call})`)
  return {
    ...deps,
    // Getters, because few requests need one of these.
    get chain() {
      return limited(deps.chain, clock, leftMs, chainLate, restMs)
    },
    get pool() {
      return limited(deps.pool, clock, leftMs, chainLate, restMs)
    },
    get blobs() {
      return limitedBlobs(deps.blobs, clock, leftMs, blobsLate)
    },
  }
}

/**
 * Wraps a port so that its asynchronous methods reject with `late` once the time is over. With `restMs`, calls which the chain fails with a
 * retryable error are repeated, with growing pauses, while there is time.
 */
const limited = <T extends object>(
  port: T,
  clock: Clock,
  leftMs: () => number,
  late: (method: string) => Error,
  restMs?: () => number,
): T =>
  wrapped(port, (call, name) => (...args) => {
    const result = call(...args)
    if (!(result instanceof Promise)) return result
    const read = restMs ? untilRead(clock, restMs, result, () => call(...args)) : result
    return within(clock, leftMs(), () => late(name), read)
  })

async function untilRead(
  clock: Clock,
  restMs: () => number,
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

/** Wraps a blob store like `limited`, and stops `put` and `get` once the time is over. */
function limitedBlobs(
  blobs: Blobs,
  clock: Clock,
  leftMs: () => number,
  late: (method: string) => Error,
): Blobs {
  type Call<T> = (signal: AbortSignal) => Promise<T>
  const stopped = <T>(name: string, own: AbortSignal | undefined, call: Call<T>) => {
    const within = (ended: AbortSignal) => call(own ? AbortSignal.any([own, ended]) : ended)
    return withDeadline(clock, leftMs(), undefined, () => late(name), within)
  }
  return {
    ...limited(blobs, clock, leftMs, late),
    put: (cid, bytes, options) =>
      stopped('put', options.signal, (signal) => blobs.put(cid, bytes, { ...options, signal })),
    get: (cid, own) => stopped('get', own, (signal) => blobs.get(cid, signal)),
  }
}
