import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import * as ai from 'ai'
import {
  apiKey,
  baseURL,
  book,
  departures,
  expect,
  ferry,
  hello,
  model as id,
  ignoredIn,
  json,
  library,
  runCells,
  ship,
} from './cells.mjs'

const model = createOpenAICompatible({ name: 'svc', baseURL, apiKey })(id)
const responses = createOpenAI({ baseURL, apiKey })(id)
const { generateObject, generateText, jsonSchema, streamText, tool } = ai
// Version 7 has the first, version 6 the second.
const steps = (ai.isStepCount ?? ai.stepCountIs)(3)
const tools = {
  departures: tool({
    description: departures.description,
    inputSchema: jsonSchema(departures.parameters),
    execute: async ({ port }) => `9:10 from ${port}`,
  }),
}
const ask = async (more) => {
  const { text, response } = await generateText({ model, prompt: hello, ...more })
  expect(text, 'answer')
  return response.headers?.['x-svc-ignored']
}

await runCells({
  plain: async () => void (await ask({})),
  stream: async () => {
    const { textStream } = streamText({ model, prompt: hello })
    let text = ''
    for await (const piece of textStream) text += piece
    expect(text, 'answer')
  },
  system: async () => void (await ask({ system: 'Be short.' })),
  tools: async () => {
    const { text } = await generateText({ model, prompt: ferry, tools, stopWhen: steps })
    expect(text.includes('9:10'), 'result in the answer')
    const streamed = streamText({ model, prompt: ferry, tools, stopWhen: steps })
    expect((await streamed.text).includes('9:10'), 'result in the stream')
  },
  'JSON schema': async () => {
    const { object } = await generateObject({ model, prompt: json, schema: jsonSchema(ship) })
    expect(object.decks === 3, 'object')
  },
  responses: async () => {
    const { object } = await generateObject({
      model: responses,
      prompt: json,
      schema: jsonSchema(ship),
    })
    expect(object.decks === 3, 'object')
  },
  'responses, tools': async () => {
    // Otherwise it refers to items that the gateway would have to keep.
    const providerOptions = { openai: { store: false } }
    const asked = { model: responses, prompt: ferry, tools, stopWhen: steps, providerOptions }
    expect((await generateText(asked)).text.includes('9:10'), 'result in the answer')
  },
  'cut answer': async () => {
    for (const of of [model, responses]) {
      const { finishReason } = await generateText({ model: of, prompt: book })
      expect(finishReason === 'length', 'length')
    }
  },
  'too long': async () => {
    const asked = { prompt: library, maxRetries: 0, onError: () => {} }
    const code = 'context_length_exceeded'
    const whole = await generateText({ ...asked, model }).catch((error) => error)
    expect(whole.statusCode === 400 && whole.data.error.code === code, `${code}: ${whole}`)
    for (const of of [model, responses]) {
      const parts = await Array.fromAsync(streamText({ ...asked, model: of }).fullStream)
      const { error } = parts.find(({ type }) => type === 'error')
      expect(JSON.stringify(error.data ?? error).includes(code), `${code} in the stream: ${error}`)
    }
  },
  stop: async () => void (await ask({ stopSequences: ['END'] })),
  seed: async () => void (await ask({ seed: 7 })),
  'temperature 0.7': async () => ignoredIn(await ask({ temperature: 0.7 }), 'temperature'),
})
