import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { programOf } from '../../demo/runtime-programs.ts'

const patienceMs = 60_000
const main = join(import.meta.dirname, '..', '..', 'demo', 'main.ts')

async function demo(...args: readonly string[]) {
  const child = spawn(programOf('bun') ?? '', [main, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const code = new Promise((resolve) => child.once('close', resolve))
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)])
  return { code: await code, out, err }
}

describe('the command line of the demo', () => {
  it(
    'prints a failure as one line of JSON with --json',
    async () => {
      const { code, out } = await demo('--json', '--wat')
      expect(code).toBe(2)
      expect(JSON.parse(out)).toMatchObject({ status: 'failed', error: { code: 'usage' } })
    },
    patienceMs,
  )

  it.each([
    ['openai:gpt-4o-mini', ['--model', 'openai:x', 'Hi']],
    ['is not known', ['--model', 'nobody:x', 'Hi']],
    ['smollm2', ['--answers', 'real', '--model', 'openai:gpt-4o', 'Hi']],
    ['another --icl', ['--playground', '--icl', 'workerd']],
    ['--check takes teacher', ['--check', 'pupil', 'Hi']],
    ['The prompt is empty', ['']],
  ])(
    'says %s before it starts anything, with 2',
    async (sentence, args) => {
      const { code, out, err } = await demo(...args)
      expect({ code, out, err }).toEqual({
        code: 2,
        out: '',
        err: expect.stringContaining(sentence),
      })
    },
    patienceMs,
  )
})
