/*
 * Problem: one check reads ten things of a chain, and a request for each costs more than the reading itself.
 *
 * Idea: calls that are made in the same turn of the event loop travel as one JSON-RPC batch. Each gets its part of the answer as a
 * response of its own, so that decoding, retries and errors are those of a call alone.
 *
 * Invariants: a call alone travels as it is. A batch has at most 20 calls. A part belongs to the call that has its id.
 *
 * Failure cases: an RPC refuses batches, limits their size, or leaves a call out. Then each call is sent alone: signed transactions are safe
 * to repeat. Once an RPC has answered one of these, all calls of the next ten minutes are sent alone. Without any answer, or with HTTP 429,
 * each call fails as the batch did: calls alone would press a busy RPC harder.
 */
import { HttpRequestError } from 'viem'
import { z } from 'zod'
import { elapsedSince, type MonotonicMs } from '../clock.ts'
import { parseJson } from '../parse-json.ts'
import { systemClock } from '../system.ts'
import { AllRpcsFailed } from './rpc-list.ts'

type Send = (url: string, init: RequestInit) => Promise<Response>

type Call = {
  readonly url: string
  readonly init: RequestInit
  readonly body: string
  readonly resolve: (response: Response | Promise<Response>) => void
  readonly reject: (reason: unknown) => void
}

const mostCalls = 20
const refusedMs = 600_000
const tooManyRequests = 429

const Id = z.union([z.number(), z.string()])
const Asked = z.object({ id: Id })
const Parts = z.array(z.looseObject({ id: Id })).max(mostCalls)

/** Makes a fetch for viem that sends calls together. `send` must give whole answers. */
export function batching(
  send: Send,
  clock = systemClock,
): (url: string | URL | Request, init?: RequestInit) => Promise<Response> {
  let waiting: Call[] = []
  let refusedAt: MonotonicMs | undefined

  const alone = (calls: readonly Call[]) => {
    for (const { url, init, resolve } of calls) {
      const sent = send(url, init)
      sent.then(
        ({ ok }) => {
          if (ok) refusedAt = clock.monotonic()
        },
        () => {},
      )
      resolve(sent)
    }
  }
  const flush = async () => {
    const calls = waiting
    waiting = []
    const [first] = calls
    if (!first) return
    if (calls.length === 1) return first.resolve(send(first.url, first.init))
    try {
      const responses = await together(send, calls)
      if (responses) for (const [at, response] of responses.entries()) calls[at]?.resolve(response)
      else alone(calls)
    } catch (error) {
      if (hasAnswered(error)) alone(calls)
      else for (const { reject } of calls) reject(error)
    }
  }
  return (to, init = {}) => {
    const url = to instanceof Request ? to.url : String(to)
    const { body } = init
    if (elapsedSince(clock, refusedAt) < refusedMs || typeof body !== 'string')
      return send(url, init)
    return new Promise((resolve, reject) => {
      waiting.push({ url, init, body, resolve, reject })
      if (waiting.length === 1) void clock.sleep(0).then(flush)
      if (waiting.length === mostCalls) void flush()
    })
  }
}

/** Sends calls as a batch. Returns the response to each; undefined when the answer lacks one. */
async function together(
  send: Send,
  calls: readonly Call[],
): Promise<readonly Response[] | undefined> {
  const last = calls.at(-1)
  // All have the same time limit, and the last one's ends last.
  const response = await send(last?.url ?? '', {
    ...last?.init,
    body: `[${calls.map(({ body }) => body).join()}]`,
  })
  if (response.status === tooManyRequests) return calls.map(() => response.clone())
  const answered = Parts.safeParse(parseJson(await response.text())).data ?? []
  const byId = new Map(answered.map((part) => [part.id, part]))
  const parts = calls.flatMap(({ body }) => byId.get(Asked.parse(parseJson(body)).id) ?? [])
  if (!response.ok || parts.length < calls.length) return undefined
  return parts.map((part) => Response.json(part))
}

/** Whether an RPC responded, though with an error status or too many bytes, so that it may answer each call alone. */
const hasAnswered = (error: unknown): boolean =>
  error instanceof HttpRequestError &&
  error.status !== tooManyRequests &&
  (error.status !== undefined || !(error.cause instanceof AllRpcsFailed))
