// Shared by the clients: each cell of the table is printed as a line of JSON as soon as it is known.

export const model = 'openai:gpt-4o-mini'
export const baseURL = process.env.OPENAI_BASE_URL
export const apiKey = process.env.OPENAI_API_KEY
export const hello = 'What is a lighthouse for?'
export const ferry = 'When does the ferry leave?'
export const json = 'Describe the ferry as JSON'
// Prompts of provider.ts.
export const book = 'Tell a whole book'
export const library = 'Read a whole library'

export const departures = {
  name: 'departures',
  description: 'Says when ferries leave',
  parameters: {
    type: 'object',
    properties: { port: { type: 'string' } },
    required: ['port'],
    additionalProperties: false,
  },
}
export const ship = {
  type: 'object',
  properties: { name: { type: 'string' }, decks: { type: 'number' } },
  required: ['name', 'decks'],
  additionalProperties: false,
}

/** Runs the cells in turn; each gives what it saw of `x-svc-ignored`, or throws. */
export async function runCells(cells) {
  for (const [column, ask] of Object.entries(cells)) {
    let result
    try {
      const ignored = await ask()
      result = ignored ? `ignored (${ignored})` : 'ok'
    } catch (error) {
      result = `FAIL: ${error.message}`
    }
    process.stdout.write(`${JSON.stringify({ column, result })}\n`)
  }
}

export function expect(value, what) {
  if (!value) throw new Error(`no ${what}`)
}

/** The name of a parameter, if the header says that it was ignored; throws when it neither counts nor is named. */
export function ignoredIn(header, name) {
  const names = (header ?? '').split(', ')
  expect(names.includes(name), `${name} in x-svc-ignored`)
  return name
}
