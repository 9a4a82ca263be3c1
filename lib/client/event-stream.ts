import type { Clock } from '../clock.ts'
import { withDeadline } from '../deadline.ts'
import { SvcError } from '../svc-error.ts'

/** One server-sent event. */
export type ServerEvent = { readonly id: string | undefined; readonly data: string }

const maxEventChars = 64 * 1024

/** Yields a stream's events; throws SvcError `stream-silent` after `idleMs` without a byte, and `event-too-long` for an event over 64 Ki characters. */
export async function* readServerEvents(
  response: Response,
  options: {
    readonly clock: Clock
    readonly idleMs: number
    readonly signal?: AbortSignal | undefined
  },
): AsyncGenerator<ServerEvent, void, undefined> {
  const { clock, idleMs, signal } = options
  const reader = response.body?.getReader()
  if (reader === undefined) return
  const decoder = new TextDecoder()
  const eventsIn = eventReader()
  try {
    for (;;) {
      const { done, value } = await withDeadline(clock, idleMs, signal, silent, () => reader.read())
      if (done) return
      yield* eventsIn(decoder.decode(value, { stream: true }))
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}

/**
 * Makes a function that returns the events that end in the next chunk. Each character is looked at once: an event in single bytes must not
 * cost the square of its length.
 */
function eventReader(): (chunk: string) => Generator<ServerEvent, void, undefined> {
  let line = ''
  let data: string[] = []
  let id: string | undefined
  let length = 0
  let endedInCr = false
  const extend = (part: string) => {
    line += part
    length += part.length
    if (length > maxEventChars) throw tooLong()
  }
  const takeField = () => {
    // JSON may hold U+2028, which `.` does not match without the flag `s`. In this format it ends no line.
    const [, field, value = ''] = /^([a-z]+)(?:: ?(.*))?$/s.exec(line) ?? []
    if (field === 'data') data.push(value)
    if (field === 'id') id = value
  }
  return function* (chunk) {
    if (chunk === '') return
    // A CRLF that is split between two chunks must not count as two line ends.
    const text = endedInCr && chunk.startsWith('\n') ? chunk.slice(1) : chunk
    endedInCr = chunk.endsWith('\r')
    const [rest = '', ...nextLines] = text.split(/\r\n|\r|\n/)
    extend(rest)
    for (const next of nextLines) {
      if (line === '') {
        if (data.length > 0) yield { id, data: data.join('\n') }
        data = []
        id = undefined
        length = 0
      } else takeField()
      line = ''
      extend(next)
    }
  }
}

const silent = (): SvcError =>
  new SvcError('stream-silent', 'The event stream brings no events', {
    hint: 'Look at the job itself instead.',
    retryable: true,
  })

const tooLong = (): SvcError =>
  new SvcError('event-too-long', 'The event stream brings an event of more than 64 Ki characters', {
    hint: 'Check that the address is that of an ICL. A job can be looked at without its events.',
  })
