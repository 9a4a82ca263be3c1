import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createProcesses } from '../../demo/processes.ts'
import { startStandIn } from '../../demo/standin-process.ts'
import { readScript, turnOf } from '../../demo/standin-script.ts'
import { testFolder } from '../test-folder.ts'

const root = join(import.meta.dirname, '..', '..')
const example = join(root, 'demo', 'agent-script.json')
const asked = { role: 'user', content: 'Please: Correct the spelling in greeting.txt, now.' }
const called = { role: 'assistant', content: null }
const result = { role: 'tool', content: 'Helo' }

describe('a script of the stand-in', () => {
  it('has a turn after each of the assistant, from the last message that begins it', async () => {
    const script = await readScript(example)
    const turns = script.conversations[0]?.turns
    expect(turnOf(script, [{ role: 'system', content: 'x' }, asked])).toEqual(turns?.[0])
    const second = [asked, called, result]
    expect(turnOf(script, second)).toEqual(turns?.[1])
    // Results are the user's in one of the protocols.
    const results = { role: 'user', content: [{ type: 'tool_result', content: 'Helo' }] }
    expect(turnOf(script, [asked, called, results, called, results])).toEqual(turns?.[2])
    expect(turnOf(script, [...second, called, result, called, asked])).toEqual(turns?.[0])
    expect(turnOf(script, [...second, called, result, called])).toBeUndefined()
    expect(turnOf(script, [{ role: 'user', content: 'Hello' }])).toBeUndefined()
  })

  it('is refused for a mistake, with its place', async () => {
    const folder = testFolder()
    const path = join(folder, 'script.json')
    const wrong = {
      conversations: [{ when: 'a', turns: [{ calls: [{ name: 'a b', arguments: {} }] }] }],
    }
    for (const [content, words] of [
      ['{', 'cannot be used'],
      [JSON.stringify(wrong), 'conversations.0.turns.0'],
      [JSON.stringify({ conversations: [{ when: '', turns: [] }] }), 'conversations.0.when'],
    ] as const) {
      await writeFile(path, content)
      await expect(readScript(path)).rejects.toThrow(words)
    }
    await expect(readScript(join(folder, 'none'))).rejects.toThrow('ENOENT')
  })

  it('is followed in both protocols', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'svc-script-'))
    const processes = createProcesses(folder)
    try {
      const { url } = await startStandIn(processes, { script: example })
      const ask = async (path: string, model: string) => {
        const response = await fetch(`${url}/v1/${path}`, {
          method: 'POST',
          headers: { authorization: 'Bearer any' },
          body: JSON.stringify({ model, messages: [asked] }),
        })
        return await response.json()
      }
      expect(await ask('chat/completions', 'gpt-4o-mini')).toMatchObject({
        choices: [
          {
            finish_reason: 'tool_calls',
            message: {
              tool_calls: [{ function: { name: 'read', arguments: '{"path":"greeting.txt"}' } }],
            },
          },
        ],
      })
      expect(await ask('messages', 'claude-sonnet-5-5')).toMatchObject({
        stop_reason: 'tool_use',
        content: [{ type: 'tool_use', name: 'read', input: { path: 'greeting.txt' } }],
      })
    } finally {
      await processes.close()
      await rm(folder, { recursive: true, force: true })
    }
  })
})
