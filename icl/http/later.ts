type Held = {
  readonly connections: { leave(kind: 'poll', caller: string): void }
  readonly caller: string
}

/** An answer that a request waits for, perhaps for long: nothing else of the request is kept meanwhile. */
export type Later<T> = {
  readonly later: Promise<T>
  /** Where it counts as held open until then, and as whose. */
  readonly held?: Held | undefined
}

/** Has a request not count as held open any more: its answer is there, or will not come. */
export const letGo = (held: Held | undefined): void => held?.connections.leave('poll', held.caller)

/** True for an answer that comes later. */
export const isLater = (output: unknown): output is Later<unknown> =>
  typeof output === 'object' && output !== null && 'later' in output

const waiting = new WeakMap<Response, Promise<Response>>()

/** Stands for a response that comes later, so that the application can be left before it is there. */
export function responseLater(later: Promise<Response>): Response {
  const stand = new Response(null)
  waiting.set(stand, later)
  return stand
}

/** What a response stands for; undefined for one that is there. */
export const laterOf = (response: Response): Promise<Response> | undefined => waiting.get(response)
