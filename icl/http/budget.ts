import { type Clock, elapsedSince } from '../../lib/clock.ts'
import { withDeadline, within } from '../../lib/deadline.ts'
import { ProblemError } from '../../lib/problem.ts'
import { SvcError } from '../../lib/svc-error.ts'
import type { Blobs } from '../blobs/blobs.ts'
import type { Dependencies } from '../dependencies.ts'

/*
 * A caller waits 15 s, or 10 s longer than it asked the ICL to hold its request. The calls of a request to other services have to end
 * before that. Otherwise a service that hangs (the chain's RPC, tried 4 times for 10 s each, or Kubo) looks like an ICL that hangs. So all
 * calls of a request share one budget. A failed read of the chain is tried again within it, since most failures pass sooner. A call to the
 * chain that is given up goes on, and its result is cached for others. A call that stores or reads a blob is stopped.
 */

/** The time that a request has for calls to other services, besides the time that it asked to be held; milliseconds. */
export const requestBudgetMs = 8_000

const leastMs = 1_000
const firstPauseMs = 500

/** The dependencies for one request. Its calls to the chain and the blob store share its budget. Each call gets at least 1 s. */
export function withinBudget(deps: Dependencies, holdMs: number): Dependencies {
  const { clock } = deps
  const budgetMs = requestBudgetMs + holdMs
  const begun = clock.monotonic()
  const restMs = () => budgetMs - elapsedSince(clock, begun)
  const leftMs = () => Math.max(restMs(), leastMs)
  const chainLate = (call: string) =>
    new SvcError(
      'chain-unavailable',
      `the chain RPC of the ICL did not respond in time (${call})`,
      {
        hint: 'Look after the chain RPC.',
        retryable: true,
      },
    )
  const blobsLate = (call: string) =>
    new ProblemError('unavailable', `the blob store of the ICL did not respond in time (${call})`)
  return {
    ...deps,
    // Getters, because few requests need one of these.
    get chain() {
      return limited(triedAgain(deps.chain, clock, restMs), clock, leftMs, chainLate)
    },
    get pool() {
      return limited(triedAgain(deps.pool, clock, restMs), clock, leftMs, chainLate)
    },
    get blobs() {
      return limitedBlobs(deps.blobs, clock, leftMs, blobsLate)
    },
  }
}

/** Wraps a port so that its asynchronous methods reject with `late` once the time is over. */
function limited<T extends object>(
  port: T,
  clock: Clock,
  leftMs: () => number,
  late: (method: string) => Error,
): T {
  return new Proxy(port, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function' || typeof name !== 'string') return value
      return (...args: unknown[]) => {
        const result: unknown = value.apply(target, args)
        if (!(result instanceof Promise)) return result
        return within(clock, leftMs(), () => late(name), result)
      }
    },
  })
}

/** Wraps a port so that calls which the chain fails with a retryable error are repeated, with growing pauses, while there is time. */
function triedAgain<T extends object>(port: T, clock: Clock, restMs: () => number): T {
  return new Proxy(port, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target)
      if (typeof value !== 'function') return value
      return (...args: unknown[]) => {
        const call = () => value.apply(target, args) as unknown
        const result = call()
        return result instanceof Promise ? untilRead(clock, restMs, result, call) : result
      }
    },
  })
}

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
  const stopped = <T>(
    name: string,
    signal: AbortSignal | undefined,
    call: (signal: AbortSignal) => Promise<T>,
  ) =>
    withDeadline(
      clock,
      leftMs(),
      undefined,
      () => late(name),
      (ended) => call(signal ? AbortSignal.any([signal, ended]) : ended),
    )
  return {
    ...limited(blobs, clock, leftMs, late),
    put: (cid, bytes, options) =>
      stopped('put', options.signal, (signal) => blobs.put(cid, bytes, { ...options, signal })),
    get: (cid, own) => stopped('get', own, (signal) => blobs.get(cid, signal)),
  }
}
