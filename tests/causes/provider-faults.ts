import type { ServerResponse } from 'node:http'
import { maxBlobBytes } from '../../lib/endpoints.ts'
import type { AbortReason } from '../../lib/schemas/jobs.ts'
import { sealBytes } from '../../lib/sealing.ts'
import { maxAnswerBytes } from '../../node/inference/provider-fetch.ts'
import { answerJson, type Seen } from '../local-server.ts'

/** What a provider does wrong, the cause that it is, and what the node's log says of it beyond the table of causes. */
export type ProviderFault = {
  readonly fault: string
  readonly answer: (response: ServerResponse, request: Seen) => void
  readonly code: AbortReason
  readonly said: string
}

const json = 'application/json'
const login = '<!doctype html><title>Sign in</title>'
const refusal = { error: { message: 'no', type: 'a_kind', code: 'a_code' } }
const says = (content: string | null) => ({
  choices: [{ index: 0, message: { role: 'assistant', content } }],
})

const status =
  (code: number, body: unknown = refusal): ProviderFault['answer'] =>
  (response) =>
    answerJson(response, code, body)
const body =
  (type: string | undefined, text: string, code = 200): ProviderFault['answer'] =>
  (response) => {
    response.writeHead(code, type === undefined ? {} : { 'content-type': type })
    response.end(text)
  }

const halfStream = `data: ${JSON.stringify({ choices: [{ delta: { content: 'Fi' } }] })}\n\n`
const failed = (code: number) => `failed: status ${code} (a_code)`

const foreign: readonly (readonly [string, ProviderFault['answer'], string])[] = [
  ['JSON null', status(200, null), 'sent JSON of another form'],
  ['a login page', body('text/html', login), 'sent text/html in place of JSON'],
  ['plain text', body('text/plain', 'Four.'), 'sent text/plain in place of JSON'],
  ['no content type', body(undefined, 'Four.'), 'sent a body of no content type in place of JSON'],
  ['JSON of another form, as text', body('text/plain', '{}'), 'sent JSON of another form'],
  ['no JSON', body(json, 'Four.'), 'sent JSON that cannot be read'],
  ['200 without a body', body(json, ''), 'sent an empty body'],
  ['404 as a page', body('text/html', login, 404), 'knows no such address (status 404)'],
  [
    'a redirect',
    (response) => response.writeHead(302, { location: '/login' }).end(),
    'redirects elsewhere (status 302)',
  ],
]

const stall: ProviderFault['answer'] = (response) => {
  response.writeHead(200, { 'content-type': json })
  response.write('{"choices":')
}

const drip: ProviderFault['answer'] = (response) => {
  response.writeHead(200, { 'content-type': json })
  const more = setInterval(() => response.write(' '), 50)
  response.on('close', () => clearInterval(more))
}

const endless: ProviderFault['answer'] = (response) => {
  const chunk = Buffer.alloc(64 * 1024, ' ')
  response.writeHead(200, { 'content-type': json })
  const more = () => {
    while (!response.destroyed && response.write(chunk)) {
      // Until the connection takes no more for now.
    }
  }
  response.on('drain', more)
  more()
}

const announced: ProviderFault['answer'] = (response) => {
  response.writeHead(200, { 'content-type': json, 'content-length': 100_000_000 })
  response.write('{')
}

const silent = 'gave no whole answer within N s'
const tooMuch = `sent more than ${maxAnswerBytes} bytes`

export const providerFaults: readonly ProviderFault[] = [
  { fault: '401', answer: status(401), code: 'provider-key-refused', said: failed(401) },
  { fault: '403', answer: status(403), code: 'provider-key-refused', said: failed(403) },
  { fault: '404', answer: status(404), code: 'provider-model-unknown', said: failed(404) },
  { fault: '429', answer: status(429), code: 'provider-rate-limited', said: failed(429) },
  {
    fault: '429 with Retry-After: 3600',
    answer: (response) => answerJson(response, 429, refusal, { 'retry-after': '3600' }),
    code: 'provider-rate-limited',
    said: `${failed(429)}, asks to wait 3600 s`,
  },
  {
    fault: '429 for want of credit',
    answer: status(429, { error: { message: 'no', code: 'insufficient_quota' } }),
    code: 'provider-quota-used-up',
    said: 'failed: status 429 (insufficient_quota)',
  },
  { fault: '400', answer: status(400), code: 'provider-refused', said: failed(400) },
  { fault: '413', answer: status(413), code: 'provider-prompt-too-long', said: failed(413) },
  {
    fault: '429 under 200',
    answer: status(200, { error: { message: 'no', code: 429 } }),
    code: 'provider-rate-limited',
    said: 'failed: status 200 (429)',
  },
  {
    fault: 'an error beside half of an answer',
    answer: status(200, {
      choices: [{ message: { content: 'Fi' }, finish_reason: null, error: refusal.error }],
    }),
    code: 'provider-unavailable',
    said: failed(200),
  },
  {
    fault: '400 for a full context',
    answer: status(400, { error: { message: 'no', type: 'exceed_context_size_error', code: 400 } }),
    code: 'provider-prompt-too-long',
    said: 'failed: status 400 (exceed_context_size_error)',
  },
  {
    fault: 'a call of a tool',
    answer: status(200, {
      choices: [{ message: { tool_calls: [{ function: { name: 'a', arguments: '{}' } }] } }],
    }),
    code: 'prompt-not-supported',
    said: 'called a tool, which it may not',
  },
  { fault: '500', answer: status(500), code: 'provider-unavailable', said: failed(500) },
  {
    fault: '502 as a page',
    answer: body('text/html', login, 502),
    code: 'provider-unavailable',
    said: 'failed: status 502',
  },
  { fault: '529', answer: status(529), code: 'provider-unavailable', said: failed(529) },
  ...foreign.map(
    ([fault, answer, said]) => ({ fault, answer, code: 'provider-protocol-wrong', said }) as const,
  ),
  {
    fault: 'half of the JSON',
    answer: body(json, '{"choices": ['),
    code: 'provider-unreachable',
    said: 'broke off in the middle of its answer',
  },
  {
    fault: 'half of a stream',
    answer: body('text/event-stream', halfStream),
    code: 'provider-unreachable',
    said: 'broke off in the middle of its answer',
  },
  {
    fault: 'an error in a stream',
    answer: body('text/event-stream', `${halfStream}data: ${JSON.stringify(refusal)}\n\n`),
    code: 'provider-unavailable',
    said: failed(200),
  },
  { fault: 'silence', answer: () => {}, code: 'provider-silent', said: silent },
  { fault: 'a body that stalls', answer: stall, code: 'provider-silent', said: silent },
  { fault: 'a body that drips', answer: drip, code: 'provider-silent', said: silent },
  {
    fault: 'an empty text',
    answer: status(200, says(' ')),
    code: 'provider-answer-empty',
    said: 'gave an empty answer',
  },
  {
    fault: 'a null text',
    answer: status(200, says(null)),
    code: 'provider-answer-empty',
    said: 'gave an empty answer',
  },
  {
    fault: 'no choices',
    answer: status(200, { choices: [] }),
    code: 'provider-answer-empty',
    said: 'gave an empty answer',
  },
  {
    fault: 'no message',
    answer: status(200, { choices: [{ message: null, finish_reason: 'stop' }] }),
    code: 'provider-answer-empty',
    said: 'gave an empty answer',
  },
  {
    fault: 'a refusal in words',
    answer: status(200, { choices: [{ message: { content: null, refusal: 'I cannot help' } }] }),
    code: 'provider-refused',
    said: 'refused or filtered the answer',
  },
  {
    fault: 'half of an answer, cut off by a filter',
    answer: status(200, {
      choices: [{ message: { content: 'First,' }, finish_reason: 'content_filter' }],
    }),
    code: 'provider-refused',
    said: 'refused or filtered the answer',
  },
  {
    fault: '100 MB announced',
    answer: announced,
    code: 'provider-answer-too-large',
    said: tooMuch,
  },
  {
    fault: 'an endless body',
    answer: endless,
    code: 'provider-answer-too-large',
    said: tooMuch,
  },
  {
    fault: 'a text of 1 MiB',
    answer: status(200, says('x'.repeat(maxBlobBytes))),
    code: 'provider-answer-too-large',
    said: `gave an answer of more than ${maxBlobBytes - 2 * sealBytes} bytes`,
  },
]
