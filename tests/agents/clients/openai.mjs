import OpenAI from 'openai'
import {
  book,
  departures,
  expect,
  ferry,
  hello,
  ignoredIn,
  json,
  library,
  model,
  runCells,
  ship,
} from './cells.mjs'

const openai = new OpenAI()
const user = (content) => ({ model, messages: [{ role: 'user', content }] })
const tools = [{ type: 'function', function: departures }]
const ask = async (more) => {
  const { data, response } = await openai.chat.completions
    .create({ ...user(hello), ...more })
    .withResponse()
  expect(data.choices[0]?.message.content, 'answer')
  expect(data.usage?.total_tokens, 'usage')
  return response.headers.get('x-svc-ignored')
}
const format = { type: 'json_schema', name: 'ship', schema: ship, strict: true }
const { type: _, ...jsonSchema } = format
const responseTools = [{ type: 'function', ...departures, strict: true }]

await runCells({
  plain: async () => void (await ask({})),
  stream: async () => {
    const stream = openai.chat.completions.stream(user(hello))
    expect(await stream.finalContent(), 'answer')
  },
  system: async () =>
    void (await ask({
      messages: [{ role: 'system', content: 'Be short.' }, ...user(hello).messages],
    })),
  tools: async () => {
    const first = await openai.chat.completions.create({ ...user(ferry), tools })
    const { message } = first.choices[0]
    const [call] = message.tool_calls
    expect(JSON.parse(call.function.arguments).port === 'Kiel', 'arguments')
    const result = { role: 'tool', tool_call_id: call.id, content: '9:10' }
    const stream = openai.chat.completions.stream({
      ...{ model, tools, messages: [...user(ferry).messages, message, result] },
    })
    expect((await stream.finalContent()).includes('9:10'), 'result in the answer')
  },
  'JSON schema': async () => {
    const response_format = { type: 'json_schema', json_schema: jsonSchema }
    const { choices } = await openai.chat.completions.parse({ ...user(json), response_format })
    expect(JSON.parse(choices[0].message.content).decks === 3, 'JSON')
  },
  responses: async () => {
    const whole = await openai.responses.create({ model, input: hello, instructions: 'Be short.' })
    expect(whole.output_text, 'answer')
    const stream = openai.responses.stream({ model, input: json, text: { format } })
    const last = await stream.finalResponse()
    expect(JSON.parse(last.output_text).decks === 3, 'JSON')
  },
  'responses, tools': async () => {
    const input = [{ role: 'user', content: ferry }]
    const stream = openai.responses.stream({ model, input, tools: responseTools })
    const { output } = await stream.finalResponse()
    const [call] = output
    expect(JSON.parse(call.arguments).port === 'Kiel', 'arguments')
    const result = { type: 'function_call_output', call_id: call.call_id, output: '9:10' }
    const next = await openai.responses.create({
      model,
      input: [...input, ...output, result],
      tools: responseTools,
    })
    expect(next.output_text.includes('9:10'), 'result in the answer')
  },
  'cut answer': async () => {
    const { choices } = await openai.chat.completions.create(user(book))
    expect(choices[0].finish_reason === 'length', 'length')
    const stream = openai.responses.stream({ model, input: book })
    expect((await stream.finalResponse()).status === 'incomplete', 'incomplete response')
  },
  'too long': async () => {
    const failure = async (asked) => {
      for await (const _ of await asked);
    }
    const code = 'context_length_exceeded'
    const streams = [
      openai.chat.completions.create({ ...user(library), stream: true }),
      openai.responses.create({ model, input: library, stream: true }),
    ]
    const errors = [openai.chat.completions.create(user(library)), ...streams.map(failure)]
    for (const failed of await Promise.allSettled(errors)) {
      expect(failed.reason?.code === code, `${code} in ${failed.reason}`)
    }
  },
  stop: async () => void (await ask({ stop: ['END'] })),
  seed: async () => void (await ask({ seed: 7 })),
  'n = 2': async () => ignoredIn(await ask({ n: 2 }), 'n'),
  'temperature 0.7': async () => ignoredIn(await ask({ temperature: 0.7 }), 'temperature'),
})
