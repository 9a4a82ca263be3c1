/*
 * Problem: an answer comes as a stream of events, in the forms of many servers. Some ignore that they were asked for a stream and send one
 * JSON document, under any content type, after comments or white space. The two SDKs read this differently: a cut stream ends without an
 * error, and `[DONE]` with a space throws.
 *
 * Idea: one reader that decides by the text. The first line that is neither empty nor a comment is a field of an event, or the beginning of
 * a document.
 *
 * Failure cases: an end within an event or a document is a broken connection (`provider-unreachable`). Other text is another protocol.
 */

import { parseJson } from '../../lib/parse-json.ts'
import { ProviderFault } from './provider-fault.ts'
import { foreign } from './provider-fetch.ts'
import { errorIn } from './provider-report.ts'

// llama.cpp has sent an error as a field of its own.
const field = /^(data|event|id|retry|error)(:|$)/

/** Stands for an event that is no JSON. */
export const unreadable = Symbol('unreadable')

/** Reads the events of a text that arrives in pieces, or its one document. */
export function createEventReader(contentType: string | null) {
  let [rest, held, name, document] = ['', '', '', '']
  let [isStream, isDone] = [false, false]

  const eventOf = (data: string): readonly unknown[] => {
    if (data === '[DONE]') isDone = true
    if (data === '' || isDone) return []
    const event = parseJson(data)
    if (event === undefined) return [unreadable]
    // The last one of Anthropic's.
    if (isStop(event)) isDone = true
    return [name === 'error' && errorIn(event) === undefined ? { error: event } : event]
  }

  const take = (line: string): readonly unknown[] => {
    if (document === '' && !isStream) {
      if (line.trim() === '' || line.startsWith(':')) return []
      isStream = field.test(line)
    }
    if (!isStream) {
      document += `${line}\n`
      return []
    }
    const [, key = '', value = ''] = line.match(/^(\w+): ?(.*)$/s) ?? []
    if (key === 'event' || key === 'error') name = key === 'event' ? value.trim() : key
    const isFirst = held === ''
    if (key === 'data' || key === 'error') held += `${value}\n`
    // Some servers leave out the empty line between events.
    return line === '' || (isFirst && isWhole(value.trim())) ? flush() : []
  }

  const flush = (): readonly unknown[] => {
    const events = eventOf(held.trim())
    ;[held, name] = ['', '']
    return events
  }

  const push = (text: string): readonly unknown[] => {
    rest += text
    // A line break of two characters may come in two pieces.
    if (!/[\r\n]/.test(text) || (rest.endsWith('\r') && text !== '')) return []
    const lines = rest.split(/\r\n|[\r\n]/)
    rest = lines.pop() ?? ''
    return lines.flatMap((line) => (isDone ? [] : take(line)))
  }

  /** Returns what is left when nothing more comes. */
  const end = (): readonly unknown[] => {
    const events = [...push('\n')]
    if (isDone) return events
    if (isStream) {
      if (held.trim() !== '' && parseJson(held) === undefined) throw brokeOff()
      return [...events, ...flush()]
    }
    const event = parseJson(document)
    if (event === undefined) throw notJson(document.trim(), contentType)
    return [event]
  }

  return {
    ...{ push, end, isStream: () => isStream, isDone: () => isDone },
    /** The length of what is kept. */
    size: () => rest.length + held.length + document.length,
  }
}

const isStop = (event: unknown): boolean =>
  typeof event === 'object' && event !== null && 'type' in event && event.type === 'message_stop'

const isWhole = (data: string): boolean =>
  data === '[DONE]' || (data.startsWith('{') && parseJson(data) !== undefined)

/** The fault when an answer ends too early. */
export const brokeOff = () =>
  new ProviderFault('provider-unreachable', 'broke off in the middle of its answer')

function notJson(text: string, contentType: string | null): ProviderFault {
  const type = contentType?.split(';')[0]?.trim().toLowerCase() ?? ''
  if (text === '') return foreign('sent an empty body')
  if (/^[{[]/.test(text)) return brokeOff()
  if (/^application\/([\w.-]+\+)?json$/.test(type)) return foreign('sent JSON that cannot be read')
  const named = /^[\w.+-]{1,40}\/[\w.+-]{1,40}$/.test(type) ? type : 'a body of no content type'
  return foreign(`sent ${named} in place of JSON`)
}
