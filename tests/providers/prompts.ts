/** A request to a real model: more of it than the question. */
export type RealPrompt = { readonly user: string; readonly more?: object }

const tools = [
  {
    type: 'function',
    function: {
      name: 'departures',
      description: 'Looks up the departures of ferries',
      parameters: {
        type: 'object',
        properties: { port: { type: 'string' } },
        required: ['port'],
      },
    },
  },
]
const form = (name: string, ...members: readonly string[]) => ({
  type: 'json_schema',
  json_schema: {
    name,
    strict: true,
    schema: {
      type: 'object',
      properties: Object.fromEntries(members.map((member) => [member, { type: 'string' }])),
      required: members,
      additionalProperties: false,
    },
  },
})

const system = (content: string, user: string) => ({
  user,
  more: {
    messages: [
      { role: 'system', content },
      { role: 'user', content: user },
    ],
  },
})

const questions = [
  'What is the capital of Norway?',
  'Name three colours.',
  'Write a short greeting.',
  'What is 7 times 8?',
  'List the days of the week.',
  'Say hello in French.',
  'What does a lighthouse do?',
  'Why is the sky blue?',
  'What is the opposite of hot?',
  'Name an animal that can fly.',
  'Translate "good morning" to German.',
  'Was ist die Hauptstadt von Italien?',
  '日本の首都はどこですか。',
  'Continue: one, two, three,',
  'Describe the sea in one sentence.',
]

/** Thirty prompts: plain, with a system message, limits, stops, seeds, tools, schemas, a long one, and one that no context holds. */
export const realPrompts: readonly RealPrompt[] = [
  ...questions.map((user) => ({ user, more: { max_tokens: 32 } })),
  system('Answer in one word.', 'Is water wet?'),
  system('You are a sailor.', 'How is the weather?'),
  system('Reply in capitals.', 'Say yes.'),
  { user: 'Count to twenty.', more: { stop: ['7'] } },
  { user: 'Count to twenty.', more: { seed: 7, max_tokens: 40 } },
  { user: 'Tell a story about a ferry.', more: { max_tokens: 120 } },
  { user: 'Explain tides.', more: { max_completion_tokens: 100 } },
  { user: 'When does the ferry leave from Kiel?', more: { tools, max_tokens: 64 } },
  {
    user: 'When does the ferry leave from Oslo?',
    more: { tools, tool_choice: 'required', max_tokens: 64 },
  },
  {
    user: 'Is 17 a prime number?',
    more: { response_format: form('judged', 'reasoning', 'answer'), max_tokens: 120 },
  },
  {
    user: 'Describe Oslo as JSON.',
    more: { response_format: form('place', 'name', 'country'), max_tokens: 80 },
  },
  { user: 'Give me any JSON.', more: { response_format: { type: 'json_object' }, max_tokens: 64 } },
  { user: `Sum this up: ${'The ferry leaves at nine. '.repeat(60)}`, more: { max_tokens: 40 } },
  { user: 'Hello.', more: { max_tokens: 1 } },
  { user: 'word '.repeat(20_000), more: { max_tokens: 8 } },
]
