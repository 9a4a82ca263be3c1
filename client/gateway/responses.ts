import type { Interface } from './answer-request.ts'
import { type Answered, piecesOf } from './answered.ts'
import { eventOf } from './event-stream.ts'
import {
  completedOf,
  itemsOf,
  type OutputItem,
  outputText,
  type ResponseJob,
  responseOf,
} from './response-answer.ts'
import { type ResponseRequest, readResponseRequest } from './response-request.ts'

/** `POST /v1/responses`. */
export const responses: Interface<ResponseRequest> = {
  read: readResponseRequest,
  whole: completedOf,
  stream: (asked) => {
    const write = createWriter()
    let isCreated = false
    const begin = (job: ResponseJob): string => {
      const response = responseOf(job, asked)
      const created = isCreated ? '' : write('response.created', { response })
      isCreated = true
      return created + write('response.in_progress', { response })
    }
    return {
      // Some agents count events alone, and give up after minutes without one.
      alive: (job, created) => begin({ ...job, created }),
      answer: (answered) => {
        const { inference, created } = answered
        const { jobId, model } = inference
        const began = isCreated ? '' : begin({ jobId, model, created })
        return began + eventsOf(write, answered, asked)
      },
      failure: ({ code, message, param }) => write('error', { code, message, param }),
    }
  },
}

type Write = (type: string, members: object) => string

/** Writes events in their order, each with its number. */
function createWriter(): Write {
  let next = 0
  return (type, members) => {
    const text = eventOf({ type, sequence_number: next, ...members }, type)
    next += 1
    return text
  }
}

function eventsOf(write: Write, answered: Answered, asked: ResponseRequest): string {
  const items = itemsOf(answered).map((item, index) => itemEvents(write, item, index))
  const response = completedOf(answered, asked)
  return items.join('') + write(`response.${response.status}`, { response })
}

function itemEvents(write: Write, item: OutputItem, output_index: number): string {
  const at = { item_id: item.id, output_index }
  const status = 'in_progress'
  if (item.type === 'function_call') {
    const name = 'response.function_call_arguments'
    return [
      write('response.output_item.added', {
        output_index,
        item: { ...item, status, arguments: '' },
      }),
      ...piecesOf(item.arguments).map((delta) => write(`${name}.delta`, { ...at, delta })),
      write(`${name}.done`, { ...at, name: item.name, arguments: item.arguments }),
      write('response.output_item.done', { output_index, item }),
    ].join('')
  }
  const text = item.content.map((part) => part.text).join('')
  const part = { ...at, content_index: 0 }
  const name = 'response.output_text'
  return [
    write('response.output_item.added', { output_index, item: { ...item, status, content: [] } }),
    write('response.content_part.added', { ...part, part: outputText('') }),
    ...piecesOf(text).map((delta) => write(`${name}.delta`, { ...part, delta, logprobs: [] })),
    write(`${name}.done`, { ...part, text, logprobs: [] }),
    write('response.content_part.done', { ...part, part: outputText(text) }),
    write('response.output_item.done', { output_index, item }),
  ].join('')
}
