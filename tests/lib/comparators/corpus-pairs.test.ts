import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readOptions } from '../../bench/comparators/options.ts'
import { readTriples } from '../../bench/comparators/pairs-file.ts'
import { halfOf, realCases } from '../../bench/comparators/real-cases.ts'
import { recordFile } from '../../bench/comparators/record-file.ts'
import { codeOf } from '../../code-of.ts'
import { answerJson, startServer } from '../../local-server.ts'

const triple = {
  name: 'a set',
  kind: 'H',
  q: 'How many?',
  p: 'How many? Think first.',
  l: 'I count 3 of them here. So it is 3.',
  v1: 'I count 3 of them. So it is 3.',
  v2: 'I counted 3 of them. So it is 3.',
} as const

let folder: string
const at = (name: string) => join(folder, name)

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-pairs-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

describe('a file of recorded answers', () => {
  it('is read plain and gzipped, and a line may be longer than a chunk of the file', async () => {
    const long = { ...triple, v1: 'ünï '.repeat(100_000) }
    const text = `${JSON.stringify(triple)}\n\n${JSON.stringify(long)}\n`
    await writeFile(at('plain.jsonl'), text)
    await writeFile(at('zipped.jsonl.gz'), gzipSync(text))
    expect(await readTriples(at('plain.jsonl'))).toEqual([triple, long])
    expect(await readTriples(at('zipped.jsonl.gz'))).toEqual([triple, long])
  })

  it.each([
    ['no JSON', `${JSON.stringify(triple)}\n{`, 'line 2: this is no JSON'],
    ['a missing field', JSON.stringify({ ...triple, v2: undefined }), 'line 1: v2: invalid_type'],
    ['an unknown kind', JSON.stringify({ ...triple, kind: 'X' }), 'line 1: kind: invalid_value'],
    ['nothing', '', 'has no pairs'],
  ])('is refused with %s, and the error shows no answer', async (_, text, words) => {
    await writeFile(at('bad.jsonl'), text)
    expect(await codeOf(readTriples(at('bad.jsonl')))).toBe('pairs-file')
    const error: unknown = await readTriples(at('bad.jsonl')).catch((reason: unknown) => reason)
    expect(String(error)).toContain(words)
    expect(String(error)).not.toContain('of them')
  })

  it('is refused when it is missing or not what its name says', async () => {
    await writeFile(at('false.jsonl.gz'), 'not gzipped')
    for (const name of ['none.jsonl', 'none.jsonl.gz', 'false.jsonl.gz']) {
      expect(await codeOf(readTriples(at(name)))).toBe('pairs-file')
    }
  })

  it('gives honest cases, weaker ones, and what a cheat could make of them', () => {
    const weaker = { ...triple, kind: 'D', l: 'Seven, I guess.' } as const
    const other = { ...triple, q: 'Who?', l: 'It was Bo.' }
    const cases = realCases([triple, weaker, other])
    const claimOf = (name: string) =>
      cases.find((one) => one.case === name && one.triple.q === triple.q)?.claimed
    expect(claimOf('another run of the model')).toBe(triple.l)
    expect(claimOf('weaker model')).toBe(weaker.l)
    expect(claimOf('last line only')).toBe('So it is 3.')
    expect(claimOf('truncated to half')).toBe('I count 3 of them')
    expect(claimOf('answer to another question')).toBe('It was Bo.')
    expect(claimOf('spliced: half real, half weaker')).toBe('I count 3 of them guess.')
    expect(claimOf('one digit changed')).toMatch(/^I count [34] of them here\. So it is [34]\.$/)
  })

  it('has its questions parted in halves of about the same size, always the same', () => {
    const halves = Array.from({ length: 400 }, (_, number) => halfOf({ ...triple, q: `${number}` }))
    const heldOut = halves.filter((half) => half === 'held-out').length
    expect(heldOut).toBeGreaterThan(150)
    expect(heldOut).toBeLessThan(250)
    expect(halfOf(triple)).toBe(halfOf({ ...triple, kind: 'D', l: 'other' }))
  })
})

describe('recording answers of a provider', () => {
  it('asks three times and the weaker model once, and writes what can be read again', async () => {
    const server = await startServer((response, { body }, number) => {
      const { model } = JSON.parse(body) as { model: string }
      const content = `Answer ${number} of ${model}.`
      answerJson(response, 200, {
        choices: [{ index: 0, message: { role: 'assistant', content } }],
      })
    })
    try {
      const args = ['--record', at('recorded.jsonl'), '--model', 'm-large', '--questions', '2']
      const options = readOptions([...args, '--weaker-model', 'm-small'])
      const environment = { OPENAI_API_KEY: 'sk-secret', SVC_OPENAI_BASE_URL: server.url }
      const { record, model } = options
      if (record === undefined || model === undefined) throw new Error('options are missing')
      expect(await recordFile({ ...options, record, model }, environment)).toBe(4)
      const triples = await readTriples(at('recorded.jsonl'))
      expect(triples.map(({ kind }) => kind)).toEqual(['H', 'D', 'H', 'D'])
      expect(new Set(triples.map(({ q }) => q)).size).toBe(2)
      const [honest, weaker] = triples
      expect(new Set([honest?.l, honest?.v1, honest?.v2]).size).toBe(3)
      expect(honest?.l).toContain('m-large')
      expect(weaker?.l).toContain('m-small')
      expect(server.seen).toHaveLength(8)
      expect(server.seen[0]?.headers.authorization).toBe('Bearer sk-secret')
      expect(await readFile(at('recorded.jsonl'), 'utf8')).not.toContain('sk-secret')
    } finally {
      await server.close()
    }
  })

  it('refuses to begin without a key, and without a model', async () => {
    const options = readOptions(['--record', at('none.jsonl'), '--model', 'm'])
    const recording = recordFile({ ...options, record: at('none.jsonl'), model: 'm' }, {})
    expect(await codeOf(recording)).toBe('no-key')
    expect(() => readOptions(['--record', 'FILE'])).toThrow('--model')
    expect(() => readOptions(['--answers', '0'])).toThrow('--answers')
    expect(() => readOptions(['--unknown'])).toThrow('--unknown')
  })
})
