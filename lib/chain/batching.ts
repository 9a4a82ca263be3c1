/*
 * Problem: one check reads ten things of a chain, and a request for each costs more than the reading itself.
 *
 * Idea: calls that are made in the same turn of the event loop travel as one JSON-RPC batch. Each gets its part of the answer as a
 * response of its own, so that decoding, retries and errors are those of a call alone.
 *
 * Invariants: a call alone travels as it is. A batch has at most 20 calls. A part belongs to the call that has its id.
 *
 * Failure cases: an RPC refuses batches, limits them, or leaves a call out. Then each call is sent alone, and so are all later ones once an
 * RPC has answered one of these: signed transactions are safe to repeat. Without any answer each call fails as the batch did.
 */
import { HttpRequestError } from 'viem'
import { z } from 'zod'
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

const Id = z.union([z.number(), z.string()])
const Asked = z.object({ id: Id })
const Parts = z.array(z.looseObject({ id: Id })).max(mostCalls)

/** Makes a fetch for viem that sends calls together. `send` must give whole answers. */
export function batching(
  send: Send,
): (url: string | URL | Request, init?: RequestInit) => Promise<Response> {
  let waiting: Call[] = []
  let isRefused = false

  const alone = (calls: readonly Call[]) => {
    for (const { url, init, resolve } of calls) {
      const sent = send(url, init)
      sent.then(
        ({ ok }) => {
          isRefused ||= ok
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
      const parts = await together(send, calls)
      if (parts) for (const [at, { resolve }] of calls.entries()) resolve(Response.json(parts[at]))
      else alone(calls)
    } catch (error) {
      if (hasAnswered(error)) alone(calls)
      else for (const { reject } of calls) reject(error)
    }
  }
  return (to, init = {}) => {
    const url = to instanceof Request ? to.url : String(to)
    const { body } = init
    if (isRefused || typeof body !== 'string') return send(url, init)
    return new Promise((resolve, reject) => {
      waiting.push({ url, init, body, resolve, reject })
      if (waiting.length === 1) void systemClock.sleep(0).then(flush)
      if (waiting.length === mostCalls) void flush()
    })
  }
}

/** Sends calls as a batch. Returns the part of each; undefined when a part is missing. */
async function together(
  send: Send,
  calls: readonly Call[],
): Promise<readonly object[] | undefined> {
  const last = calls.at(-1)
  // All have the same time limit, and the last one's ends last.
  const response = await send(last?.url ?? '', {
    ...last?.init,
    body: `[${calls.map(({ body }) => body).join()}]`,
  })
  const answered = Parts.safeParse(parseJson(await response.text())).data ?? []
  const byId = new Map(answered.map((part) => [part.id, part]))
  const parts = calls.flatMap(({ body }) => byId.get(Asked.parse(parseJson(body)).id) ?? [])
  return response.ok && parts.length === calls.length ? parts : undefined
}

/** Whether an RPC responded, though with an error status or too many bytes. */
const hasAnswered = (error: unknown): boolean =>
  error instanceof HttpRequestError &&
  (error.status !== undefined || !(error.cause instanceof AllRpcsFailed))
