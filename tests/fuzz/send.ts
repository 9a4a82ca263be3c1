import { origin } from '../icl/test-icl.ts'
import type { Call } from './call.ts'
import type { Answer } from './check-response.ts'
import type { FuzzWorld } from './world.ts'

/** Milliseconds of the ICL's own time between two looks for an answer. */
const stepMs = 1_000
const streamChunks = 3

/** A call as a fetch request; undefined for what cannot be said with one. */
export function requestOf({ method, target, headers, body }: Call): Request | undefined {
  try {
    return new Request(origin + target, { method, headers, ...(body && { body }) })
  } catch {
    return undefined
  }
}

/** Reads an answer to its end; of an event stream the first few events. */
async function readAnswer(response: Response): Promise<Answer> {
  const { status, headers } = response
  const isStream = headers.get('content-type') === 'text/event-stream'
  const bytes = isStream ? await readStart(response) : new Uint8Array(await response.arrayBuffer())
  return { status, headers, text: new TextDecoder().decode(bytes), bytes: bytes.length }
}

async function readStart(response: Response): Promise<Uint8Array> {
  const parts: Uint8Array[] = []
  const reader = response.body?.getReader()
  while (reader && parts.length < streamChunks) {
    const { value, done } = await reader.read()
    if (done) break
    parts.push(value)
  }
  await reader?.cancel()
  return Buffer.concat(parts)
}

/** Sends a request and moves the clock until it is answered; undefined when it never is. */
export async function send(
  { icl, ask, arrival, mostSteps }: Pick<FuzzWorld, 'icl' | 'ask' | 'arrival' | 'mostSteps'>,
  request: Request,
): Promise<Answer | undefined> {
  let answer: Answer | undefined
  let failure: unknown
  const work = ask(request)
    .then(readAnswer)
    .then(
      (read) => {
        answer = read
      },
      (error: unknown) => {
        failure = error
      },
    )
  const isOver = () => (answer ?? failure) !== undefined
  for (let step = 0; step <= mostSteps && !isOver(); step++) {
    // Most answers need no time at all.
    await icl.clock.advance(step === 0 ? 0 : stepMs)
    await arrival(work, request)
  }
  if (answer ?? failure) await work
  if (failure) throw failure
  return answer
}
