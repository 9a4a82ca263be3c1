import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { comparators } from '../../../lib/comparators/all.ts'
import { answerJson, startServer } from '../../local-server.ts'
import { measure } from './measure.ts'
import { readTriples } from './pairs-file.ts'
import { record } from './record.ts'
import { tablesOf } from './tables.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-pairs-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const answers = {
  large:
    'A lighthouse marks the rocks before the harbour, so that ships which come in at night keep to the deep channel and away from the shore.',
  small: 'Lighthouses were mostly built in the nineteenth century; many are museums today.',
}

it('answers are recorded, and a comparator tells a weaker model from another run of the same', async () => {
  const server = await startServer((response, { body }, number) => {
    const { model } = JSON.parse(body) as { model: keyof typeof answers }
    const content = `${answers[model]} ${number % 2 === 0 ? 'It also gives sailors their position.' : ''}`
    answerJson(response, 200, { choices: [{ index: 0, message: { role: 'assistant', content } }] })
  })
  const at = (name: string) => join(folder, name)
  try {
    await writeFile(at('prompts.txt'), 'What is a lighthouse for?\n\nWhat does a lighthouse do?\n')
    const options = { model: 'large', 'weaker-model': 'small', questions: 2 }
    const files = { record: at('pairs.jsonl'), prompts: at('prompts.txt') }
    const environment = { OPENAI_API_KEY: 'sk-secret', SVC_OPENAI_BASE_URL: server.url }
    expect(await record({ ...options, ...files }, environment)).toBe(4)
  } finally {
    await server.close()
  }
  expect(await readFile(at('pairs.jsonl'), 'utf8')).not.toContain('sk-secret')
  const triples = await readTriples(at('pairs.jsonl'))
  expect(triples.map(({ kind }) => kind)).toEqual(['H', 'D', 'H', 'D'])
  const found = await measure(triples, [comparators['similar/2']], 2)
  const all = found.map((one) => ({ ...one, half: 'held-out' as const }))
  const [, , together] = tablesOf(all)
  const rates = together?.rows.map((row) => row.rates.map(({ rate }) => rate))
  // One given, either, both; the verifiers alone.
  expect(rates).toEqual([
    [1, 1, 1, 0],
    [0, 0, 0, 1],
  ])
})
