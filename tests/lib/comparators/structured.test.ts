import { describe, expect, it } from 'vitest'
import { type Said, writeAnswer } from '../../../lib/answer.ts'
import { structured } from '../../../lib/comparators/structured.ts'
import type { PromptDocument } from '../../../lib/schemas/prompt.ts'
import { breadAnswer, liftAnswer } from './texts.ts'

const key = new Uint8Array(32).fill(7)
const asked: PromptDocument = {
  version: 1,
  messages: [{ role: 'user', content: 'Who?' }],
  tools: [{ name: 'write' }, { name: 'read' }],
}
const json: PromptDocument = {
  version: 1,
  messages: [{ role: 'user', content: 'Who?' }],
  response_format: { type: 'json_object' },
}

const evidenceOf = (text: string) => structured.evidenceOf({ text, prompt: 'Who?', key })

const outcomeOf = async (prompt: PromptDocument, one: Partial<Said>, other: Partial<Said>) => {
  const evidence = [one, other].map((said) =>
    evidenceOf(writeAnswer(prompt, { content: '', isCut: false, ...said })),
  )
  const [a, b] = await Promise.all(evidence)
  const both = [structured.compare(a!, b!), structured.compare(b!, a!)]
  expect(both[0]).toBe(both[1]!)
  return both[0]
}

const calling = (...calls: readonly (readonly [string, string])[]): Partial<Said> => ({
  toolCalls: calls.map(([name, written]) => ({ name, arguments: written })),
})

describe('calls of tools', () => {
  const one = calling(['write', '{"path":"a.ts","text":"x"}'])

  it.each<[string, Partial<Said>]>([
    ['other spaces', calling(['write', '{ "path": "a.ts",\n "text": "x" }'])],
    ['another order of members', calling(['write', '{"text":"x","path":"a.ts"}'])],
    ['other escapes', calling(['write', '{"path":"\\u0061.ts","text":"x"}'])],
    ['a text beside them', { ...one, content: 'I write it.' }],
  ])('match with %s', async (_, other) => {
    expect(await outcomeOf(asked, one, other)).toBe('match')
  })

  it.each<[string, Partial<Said>]>([
    ['another path', calling(['write', '{"path":"b.ts","text":"x"}'])],
    ['another name', calling(['read', '{"path":"a.ts","text":"x"}'])],
    ['a call more', calling(['write', '{"path":"a.ts","text":"x"}'], ['read', '{}'])],
    ['a member twice', calling(['write', '{"path":"b.ts","path":"a.ts","text":"x"}'])],
    ['a text in their place', { content: breadAnswer }],
    ['an end at their longest', { ...one, isCut: true }],
  ])('do not match with %s', async (_, other) => {
    expect(await outcomeOf(asked, one, other)).toBe('no-match')
  })

  it('keep their order, and numbers that a double cannot hold', async () => {
    const [first, second] = [['write', '{}'] as const, ['read', '{}'] as const]
    expect(await outcomeOf(asked, calling(first, second), calling(second, first))).toBe('no-match')
    const [big, next] = ['{"id":9007199254740993}', '{"id":9007199254740992}']
    expect(await outcomeOf(asked, calling(['read', big]), calling(['read', next]))).toBe('no-match')
  })
})

it('JSON matches by its value, not by its spelling', async () => {
  const one = { content: '{"a": 1.0, "b": [true]}' }
  expect(await outcomeOf(json, one, { content: '{"b":[true],"a":1}' })).toBe('match')
  expect(await outcomeOf(json, one, { content: '{"b":[true],"a":2}' })).toBe('no-match')
  expect(await outcomeOf(json, one, { content: '{"b":[true],"a":"1"}' })).toBe('no-match')
})

it('a text in place of calls matches when it is similar, and ended alike', async () => {
  const one = { content: breadAnswer }
  expect(await outcomeOf(asked, one, { content: `**${breadAnswer}**` })).toBe('match')
  expect(await outcomeOf(asked, one, { content: liftAnswer })).toBe('no-match')
  expect(await outcomeOf(asked, one, { ...one, isCut: true })).toBe('no-match')
})

it('an answer that is delivered reproduces its evidence byte for byte only', async () => {
  const sealed = writeAnswer(asked, {
    content: '',
    isCut: false,
    ...calling(['read', '{"a":1}']),
  })
  const claimed = await evidenceOf(sealed)
  expect(structured.reproduces(await evidenceOf(sealed), claimed)).toBe(true)
  for (const other of [` ${sealed}`, sealed.replace('a', 'A'), `${sealed}\n`]) {
    expect(structured.reproduces(await evidenceOf(other), claimed)).toBe(false)
  }
})
