import Anthropic from '@anthropic-ai/sdk'
import {
  apiKey,
  baseURL,
  book,
  departures,
  expect,
  ferry,
  hello,
  ignoredIn,
  library,
  model,
  runCells,
} from './cells.mjs'

const { messages } = new Anthropic({ apiKey, baseURL: new URL(baseURL).origin })
const user = (content) => ({ model, max_tokens: 100, messages: [{ role: 'user', content }] })
const { parameters: input_schema, ...named } = departures
const tools = [{ ...named, input_schema }]
const ask = async (more) => {
  const { data, response } = await messages.create({ ...user(hello), ...more }).withResponse()
  expect(data.content[0]?.text, 'answer')
  expect(data.usage.output_tokens, 'usage')
  return response.headers.get('x-svc-ignored')
}

await runCells({
  plain: async () => void (await ask({})),
  stream: async () => expect(await messages.stream(user(hello)).finalText(), 'answer'),
  system: async () => void (await ask({ system: 'Be short.' })),
  tools: async () => {
    const { content } = await messages.create({ ...user(ferry), tools })
    const [call] = content
    expect(call.input.port === 'Kiel', 'arguments')
    const result = { type: 'tool_result', tool_use_id: call.id, content: '9:10' }
    const next = [
      { role: 'assistant', content },
      { role: 'user', content: [result] },
    ]
    const asked = { ...user(ferry), tools }
    const stream = messages.stream({ ...asked, messages: [...asked.messages, ...next] })
    expect((await stream.finalText()).includes('9:10'), 'result in the answer')
  },
  'cut answer': async () => {
    const { stop_reason } = await messages.create(user(book))
    expect(stop_reason === 'max_tokens', 'max_tokens')
  },
  'too long': async () => {
    const asked = [messages.create(user(library)), messages.stream(user(library)).finalMessage()]
    for (const { reason } of await Promise.allSettled(asked)) {
      expect(reason?.apiMessage?.startsWith('prompt is too long'), `such words in ${reason}`)
    }
  },
  stop: async () => void (await ask({ stop_sequences: ['END'] })),
  'temperature 0.7': async () => ignoredIn(await ask({ temperature: 0.7 }), 'temperature'),
})
