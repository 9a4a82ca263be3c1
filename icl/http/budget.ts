import { type Clock, elapsedSince } from '../../lib/clock.ts'
import { withDeadline, within } from '../../lib/deadline.ts'
import { ProblemError } from '../../lib/problem.ts'
import { SvcError } from '../../lib/svc-error.ts'
import type { Blobs } from '../blobs/blobs.ts'
import type { Dependencies } from '../dependencies.ts'

/*
 * A caller waits 15 s, or 10 s longer than it asked the ICL to hold its request. What a request asks of others has to be over before that:
 * else a part that hangs (the chain's RPC, tried 4 times for 10 s each; Kubo) is taken for an ICL that hangs. So each request has one budget,
 * which all its calls share. A read of the chain that fails is tried again within it, since most failures pass sooner. A call to the chain that
 * is given up goes on: what it reads is cached for others. A call to the blob store stops.
 */

/** What a request has for calls that leave the process, besides the time that it asked to be held; milliseconds. */
export const requestBudgetMs = 8_000

const leastMs = 1_000
const firstPauseMs = 500

/** The dependencies for one request: its calls to the chain and to the blob store end, all in all, with its budget. */
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
    // Made when they are asked for: few requests need one of them.
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

/** A port whose asynchronous methods reject with `late` once the time is over. */
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

/** A port whose calls are made again, after pauses that grow, when the chain fails them in a way that may pass and there is time left. */
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

/** A blob store as `limited`, in which what is put or read is stopped once the time is over. */
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
