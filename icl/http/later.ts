type Held = {
  readonly connections: { leave(kind: 'poll', caller: string): void }
  readonly caller: string
}

/** An answer that a request waits for, perhaps for long. Nothing else of the request is kept meanwhile. */
export type Later<T> = {
  readonly later: Promise<T>
  /** Where the request counts as an open connection until then, and the caller that it counts for. */
  readonly held?: Held | undefined
}

/** Ends the counting of a request as an open connection: its answer is there, or will not come. */
export const letGo = (held: Held | undefined): void => held?.connections.leave('poll', held.caller)

/** True for an output that comes later. */
export const isLater = (output: unknown): output is Later<unknown> =>
  typeof output === 'object' && output !== null && 'later' in output

const waiting = new WeakMap<Response, Promise<Response>>()

/** Returns a placeholder for a response that comes later, so that the request can leave the application before. */
export function responseLater(later: Promise<Response>): Response {
  const stand = new Response(null)
  waiting.set(stand, later)
  return stand
}

/** Returns the response behind a placeholder; undefined for a real response. */
export const laterOf = (response: Response): Promise<Response> | undefined => waiting.get(response)
