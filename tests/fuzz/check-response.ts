import type { ApiDocument, Operation } from './api-document.ts'
import type { Call } from './call.ts'
import { misfits } from './json-schema.ts'

/** An answer, read to its end, or as far as an event stream is read. */
export type Answer = {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly bytes: number
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function isEventStream(text: string): boolean {
  const events = text.split('\n\n').slice(0, -1)
  const lines = events.flatMap((event) => event.split('\n'))
  return (
    lines.length > 0 &&
    lines.every((line) => {
      if (line.startsWith('data: ')) return parse(line.slice(6)) !== undefined
      return /^(:.*|id: \d+|event: [a-z]+)$/.test(line)
    })
  )
}

/** Everything that is wrong with an answer, in words: nothing when the document allows it. */
export function checkResponse(
  document: ApiDocument,
  operation: Operation | undefined,
  call: Call,
  answer: Answer,
): readonly string[] {
  const { status, headers, text } = answer
  const wrong: string[] = []
  if (status === 500) wrong.push('status 500')
  if (!headers.has('x-request-id')) wrong.push('no x-request-id')
  if (headers.get('x-content-type-options') !== 'nosniff') wrong.push('no nosniff')
  if (status < 300 && call.refusedFor)
    wrong.push(`answered ${status} in spite of: ${call.refusedFor}`)
  if (call.method === 'HEAD') return answer.bytes === 0 ? wrong : [...wrong, 'HEAD with a body']
  if (status >= 400) {
    return [...wrong, ...problemFaults(document, operation, answer)]
  }
  const documented = operation?.answers.get(status)
  if (!documented) return [...wrong, `status ${status} is not documented`]
  const type = headers.get('content-type')
  const entry = Object.entries(documented.content).find(([name]) => name === type)
  if (!entry) return [...wrong, `content type ${type} is not documented`]
  if (type === 'application/json') {
    const json = parse(text)
    if (json === undefined) wrong.push('the body is not JSON')
    else if (entry[1]) wrong.push(...shapeFaults(operation, json, entry[1], document))
  }
  if (type === 'text/event-stream' && !isEventStream(text)) wrong.push('the stream has no events')
  return wrong
}

/** The document describes itself as an object, without saying more. */
const shapeFaults = (
  operation: Operation | undefined,
  json: unknown,
  schema: Parameters<typeof misfits>[1],
  { schemas }: ApiDocument,
): readonly string[] => {
  const isOpaque = Object.keys(schema).join() === 'type' && schema.type === 'object'
  if (isOpaque) return typeof json === 'object' && json !== null ? [] : ['is no object']
  return misfits(json, schema, schemas).map(
    (what) => `${operation?.id} answers what does not fit: ${what}`,
  )
}

const problemType = 'application/problem+json'

function problemFaults(
  document: ApiDocument,
  operation: Operation | undefined,
  { status, headers, text }: Answer,
): readonly string[] {
  const wrong: string[] = []
  if (headers.get('content-type') !== problemType)
    wrong.push(`an error is ${headers.get('content-type')}`)
  const problem = parse(text) as { status?: number; code?: string } | undefined
  if (!problem) return [...wrong, 'an error is not JSON']
  wrong.push(...misfits(problem, { $ref: '#/components/schemas/Problem' }, document.schemas))
  if (problem.status !== status) wrong.push('a problem with another status than its answer')
  if ((status === 429 || status === 503) && !headers.has('retry-after'))
    wrong.push('no retry-after')
  if (operation) {
    const documented = [...(operation.answers.get(status)?.codes ?? []), ...document.common]
    if (!documented.includes(problem.code ?? '')) {
      wrong.push(`status ${status} (${problem.code}) is not documented`)
    }
  } else if (
    ![
      'not-found',
      'method-not-allowed',
      'invalid-request',
      'invalid-query',
      'uri-too-long',
      'headers-too-large',
    ].includes(problem.code ?? '')
  ) {
    wrong.push(`an address that there is not answers ${problem.code}`)
  }
  return wrong
}
