import type { PromptDocument } from '../lib/schemas/prompt.ts'

const parameters = {
  type: 'object',
  properties: { port: { type: 'string' } },
  required: ['port'],
  additionalProperties: false,
}

/** A prompt with every part that a document may have. */
export const samplePrompt: PromptDocument = {
  version: 1,
  messages: [
    { role: 'system', content: 'Be short.' },
    { role: 'user', content: 'When does the ferry leave?' },
    {
      role: 'assistant',
      content: 'I look.',
      tool_calls: [
        { id: 'call_1', name: 'departures', arguments: '{"port":"Kiel"}' },
        { id: 'call_2', name: 'departures', arguments: '{"port":"Oslo"}' },
      ],
    },
    { role: 'tool', tool_call_id: 'call_1', content: '9:10' },
    { role: 'tool', tool_call_id: 'call_2', content: '14:00' },
    { role: 'user', content: 'And in short?' },
  ],
  tools: [{ name: 'departures', description: 'When ferries leave', parameters, strict: true }],
  tool_choice: 'none',
  response_format: {
    type: 'json_schema',
    name: 'times',
    description: 'Times by port',
    schema: { type: 'object', properties: { Kiel: { type: 'string' } } },
    strict: true,
  },
  stop: ['\n---', 'END'],
  seed: 7,
}
