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
  let waiting = ''
  try {
    for (;;) {
      const { done, value } = await withDeadline(clock, idleMs, signal, silent, () => reader.read())
      if (done) return
      // A CRLF that is split between two chunks must not count as two line ends.
      waiting = (waiting + decoder.decode(value, { stream: true })).replace(/\r\n|\r(?!$)/g, '\n')
      const blocks = waiting.split('\n\n')
      waiting = blocks.pop() ?? ''
      if (waiting.length > maxEventChars) throw tooLong()
      for (const block of blocks) {
        const event = parseBlock(block)
        if (event) yield event
      }
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}

function parseBlock(block: string): ServerEvent | undefined {
  const data: string[] = []
  let id: string | undefined
  for (const line of block.split('\n')) {
    // JSON may hold U+2028, which `.` does not match without the flag `s`. In this format it ends no line.
    const [, field, value = ''] = /^([a-z]+)(?:: ?(.*))?$/s.exec(line) ?? []
    if (field === 'data') data.push(value)
    if (field === 'id') id = value
  }
  return data.length > 0 ? { id, data: data.join('\n') } : undefined
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
