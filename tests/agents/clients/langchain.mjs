import { tool } from '@langchain/core/tools'
import { ChatOpenAI } from '@langchain/openai'
import {
  apiKey,
  baseURL,
  departures,
  expect,
  ferry,
  hello,
  json,
  model,
  runCells,
  ship,
} from './cells.mjs'

const chat = (more = {}) => new ChatOpenAI({ model, apiKey, configuration: { baseURL }, ...more })
const look = tool(async ({ port }) => `9:10 from ${port}`, {
  ...{ name: departures.name, description: departures.description, schema: departures.parameters },
})
const callTools = async (llm) => {
  const messages = [{ role: 'user', content: ferry }]
  const first = await llm.bindTools([look]).invoke(messages)
  expect(first.tool_calls[0]?.args.port === 'Kiel', 'arguments')
  const result = await look.invoke(first.tool_calls[0])
  const last = await llm.bindTools([look]).invoke([...messages, first, result])
  expect(last.text.includes('9:10'), 'result in the answer')
}

await runCells({
  plain: async () => expect((await chat().invoke(hello)).text, 'answer'),
  stream: async () => {
    let text = ''
    for await (const piece of await chat().stream(hello)) text += piece.text
    expect(text, 'answer')
  },
  system: async () =>
    expect(
      (
        await chat().invoke([
          ['system', 'Be short.'],
          ['user', hello],
        ])
      ).text,
      'answer',
    ),
  tools: () => callTools(chat()),
  'JSON schema': async () => {
    const object = await chat().withStructuredOutput(ship, { name: 'ship' }).invoke(json)
    expect(object.decks === 3, 'object')
  },
  responses: async () =>
    expect((await chat({ useResponsesApi: true }).invoke(hello)).text, 'answer'),
  'responses, tools': () => callTools(chat({ useResponsesApi: true })),
  stop: async () => expect((await chat({ stop: ['END'] }).invoke(hello)).text, 'answer'),
})
