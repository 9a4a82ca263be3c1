import { type ExecFileOptions, execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)

const hello = 'What is a lighthouse for?'
const ferry = 'When does the ferry leave?'
const json = 'Describe the ferry as JSON'

/** The cells of requests that are sent as they are, with curl. */
export async function curlCells(
  baseURL: string,
  model: string,
  how: ExecFileOptions,
): Promise<{ column: string; result: string }[]> {
  const post = async (path: string, body: object): Promise<string> => {
    const { stdout } = await run(
      'curl',
      [
        ...['--silent', '--show-error', '--include', '-H', 'content-type: application/json'],
        ...['--data', JSON.stringify({ model, ...body }), `${baseURL}${path}`],
      ],
      how,
    )
    return String(stdout)
  }
  const chat = (content: string, more: object = {}) =>
    post('/chat/completions', { messages: [{ role: 'user', content }], ...more })
  const departures = { name: 'departures', parameters: { type: 'object' } }
  const format = { type: 'json_schema', name: 'ship', schema: { type: 'object' } }
  const { type, ...jsonSchema } = format
  const cells: Readonly<Record<string, readonly [() => Promise<string>, RegExp]>> = {
    plain: [() => chat(hello), /"finish_reason":"stop"[\s\S]*"total_tokens"/],
    stream: [() => chat(hello, { stream: true }), /\n: \d[\s\S]*data: \[DONE\]/],
    system: [
      () => post('/chat/completions', { messages: messagesOf('system', hello) }),
      /"finish_reason":"stop"/,
    ],
    tools: [
      () => chat(ferry, { tools: [{ type: 'function', function: departures }] }),
      /"tool_calls":\[.*departures/,
    ],
    'JSON schema': [
      () => chat(json, { response_format: { type, json_schema: jsonSchema } }),
      /decks\\":3/,
    ],
    responses: [() => post('/responses', { input: hello }), /"status":"completed"/],
    'responses, tools': [
      () => post('/responses', { input: ferry, tools: [{ type: 'function', ...departures }] }),
      /"type":"function_call".*departures/,
    ],
    stop: [() => chat(hello, { stop: 'END' }), /"finish_reason":"stop"/],
    seed: [() => chat(hello, { seed: 7 }), /"finish_reason":"stop"/],
    'n = 2': [() => chat(hello, { n: 2 }), /x-svc-ignored: n\r\n/],
    'temperature 0.7': [() => chat(hello, { temperature: 0.7 }), /x-svc-ignored: temperature\r\n/],
  }
  const results: { column: string; result: string }[] = []
  for (const [column, [ask, wanted]] of Object.entries(cells)) {
    const answer = await ask().catch((error: Error) => error.message)
    const isWell = wanted.test(answer)
    const ok = wanted.source.includes('ignored') ? 'ignored' : 'ok'
    results.push({ column, result: isWell ? ok : `FAIL: ${answer}` })
  }
  return results
}

const messagesOf = (role: string, content: string) => [
  { role, content: 'Be short.' },
  { role: 'user', content },
]
