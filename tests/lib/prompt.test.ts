import { describe, expect, it } from 'vitest'
import { promptOfText, promptText, readPrompt, writePrompt } from '../../lib/prompt.ts'
import { PromptDocument } from '../../lib/schemas/prompt.ts'
import type { SvcError } from '../../lib/svc-error.ts'
import { samplePrompt } from '../sample-prompt.ts'

const user = { role: 'user', content: 'Who?' }
const call = (id: string) => ({ id, name: 'look', arguments: '{}' })
const calling = { role: 'assistant', tool_calls: [call('a')] }
const result = { role: 'tool', tool_call_id: 'a', content: '' }
const tool = { name: 'look' }

const prompt = (more: object = {}) => ({ version: 1, messages: [user], ...more })
const said = (...messages: object[]) => prompt({ messages })
const nested = (depth: number): object => (depth === 0 ? {} : { not: nested(depth - 1) })
const schemaOf = (schema: unknown) =>
  prompt({ response_format: { type: 'json_schema', name: 's', schema } })

describe('a prompt document', () => {
  it('is a text as one message of the user', () => {
    expect(writePrompt(promptOfText('Who?\n\u00fc'))).toBe(
      '{"version":1,"messages":[{"role":"user","content":"Who?\\n\u00fc"}]}',
    )
    expect(promptText(promptOfText('\ufeff Who?\n'))).toBe('\ufeff Who?\n')
  })

  it('is read as it was written, with every part', () => {
    expect(readPrompt(writePrompt(samplePrompt))).toEqual(samplePrompt)
    for (const text of ['naïve 🗼\u2028"\\', '\ufeffmark', ' ']) {
      expect(readPrompt(writePrompt(promptOfText(text)))).toEqual(promptOfText(text))
    }
  })

  it('keeps the members of a schema in the order of the caller, whole numbers first', () => {
    const schema = '{"type":"object","properties":{"7":{},"why":{},"answer":{},"__proto__":{}}}'
    const written = writePrompt(PromptDocument.parse(schemaOf(JSON.parse(schema))))
    expect(JSON.stringify(Reflect.get(Object(readPrompt(written).response_format), 'schema'))).toBe(
      schema,
    )
    expect(written).toContain(schema)
  })

  it('holds half a surrogate pair as text does that is encoded', () => {
    expect(promptText(promptOfText('a\ud800b'))).toBe('a\ufffdb')
  })

  it('is what each message says to a comparison of answers', () => {
    expect(promptText(samplePrompt)).toBe(
      'Be short.\n\nWhen does the ferry leave?\n\nI look.\n\n9:10\n\n14:00\n\nAnd in short?',
    )
  })

  it.each<readonly [string, unknown]>([
    ['a thousand messages', said(...Array.from({ length: 1_024 }, () => user))],
    ['an earlier call and its result', said(user, calling, result)],
    ['names of speakers', said({ ...user, name: 'ann-1' })],
    ['a schema of depth 64', schemaOf(nested(63))],
    ['one tool that has to be called', prompt({ tools: [tool], tool_choice: tool })],
    ['the least seed', prompt({ seed: Number.MIN_SAFE_INTEGER })],
    ['an empty message of the user', said({ role: 'user', content: '' })],
    ['four stops', prompt({ stop: ['a', 'b', 'c', 'x'.repeat(256)] })],
    ...['text', 'json_object'].map(
      (type) => [type, prompt({ response_format: { type } })] as const,
    ),
  ])('may have %s', (_, document) => {
    expect(PromptDocument.parse(document)).toEqual(document)
  })

  it.each<readonly [string, unknown]>([
    ['another version', prompt({ version: 2 })],
    ['what version 1 does not know', prompt({ temperature: 1 })],
    ['no message', said()],
    ['too many messages', said(...Array.from({ length: 1_025 }, () => user))],
    ['an unknown role', said({ role: 'developer', content: 'x' })],
    ['an empty message', said({ role: 'system', content: '' })],
    ['a message of parts', said({ role: 'user', content: [{ type: 'text', text: 'x' }] })],
    ['half a surrogate pair', said({ role: 'user', content: '\udc00' })],
    ['the assistant speaking last', said(user, { role: 'assistant', content: 'x' })],
    ['an assistant that does nothing', said(user, { role: 'assistant' }, user)],
    ['a call without its result', said(user, calling, user)],
    ['a call at the end', said(user, calling)],
    ['a result without its call', said(user, result)],
    ['a result for another call', said(user, calling, { ...result, tool_call_id: 'b' })],
    ['two results of one call', said(user, calling, result, result)],
    ['two calls of one id', said(user, { ...calling, tool_calls: [call('a'), call('a')] }, result)],
    ['two tools of one name', prompt({ tools: [tool, tool] })],
    ['no tools in the list', prompt({ tools: [] })],
    ['a choice without tools', prompt({ tool_choice: 'auto' })],
    ['a choice of no tool', prompt({ tools: [tool], tool_choice: { name: 'other' } })],
    ['a name with a space', prompt({ tools: [{ name: 'a b' }] })],
    ['a schema that is none', schemaOf([])],
    ['a schema that is nested too deeply', schemaOf(nested(64))],
    ['a schema with half a surrogate pair', schemaOf({ title: '\ud800' })],
    ['a schema that is no JSON', schemaOf({ default: new Date(0) })],
    ['five stops', prompt({ stop: ['a', 'b', 'c', 'd', 'e'] })],
    ['an empty stop', prompt({ stop: [''] })],
    ['a long stop', prompt({ stop: ['x'.repeat(257)] })],
    ['a broken seed', prompt({ seed: 0.5 })],
    ['a seed that JSON cannot hold', prompt({ seed: 2 ** 53 })],
  ])('may not have %s', (_, document) => {
    expect(PromptDocument.safeParse(document).success).toBe(false)
  })

  it('that cannot be read says where, and quotes nothing of it', () => {
    const refused = (sealed: string) => {
      try {
        return readPrompt(sealed)
      } catch (error) {
        return error as SvcError
      }
    }
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
    for (const [sealed, where] of [
      ['Who is the secret?', 'it is not JSON'],
      ['{"secret":1', 'it is not JSON'],
      [JSON.stringify(prompt({ secret: 1 })), 'the document is not as version 1 has it'],
      [JSON.stringify(said({ role: 'secret' })), 'messages.0.role is not as version 1 has it'],
      [
        JSON.stringify(schemaOf({})).replace('{}', deep),
        'response_format.schema is not as version',
      ],
    ] as const) {
      const error = refused(sealed)
      expect(error).toMatchObject({ code: 'prompt-unreadable' })
      expect((error as SvcError).message).toContain(where)
      expect(`${(error as SvcError).message} ${String((error as SvcError).cause)}`).not.toContain(
        'secret',
      )
    }
  })
})
