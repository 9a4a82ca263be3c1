import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'

const main = join(import.meta.dirname, '..', '..', 'demo', 'main.ts')

async function demo(...args: readonly string[]) {
  const child = spawn(process.execPath, [main, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  const code = new Promise((resolve) => child.once('close', resolve))
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)])
  return { code: await code, out, err }
}

describe('the command line of the demo', () => {
  it('explains itself, and with --json leaves standard output alone', async () => {
    expect(await demo('--help')).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^Usage: /),
      err: '',
    })
    expect(await demo('--json', '--help')).toMatchObject({
      code: 0,
      out: '',
      err: expect.stringMatching(/^Usage: /),
    })
  })

  const mistakes = [
    ['--wat'],
    ['--nodes', '2', 'Hi'],
    ['--nodes', '9', 'Hi'],
    ['--fhe', 'maybe', 'Hi'],
    ['--model', 'openai:x', 'Hi'],
    [''],
  ]
  for (const args of mistakes) {
    it(`ends with 2 on \`${args.join(' ')}\`, in JSON as well`, async () => {
      const [told, json] = await Promise.all([demo(...args), demo('--json', ...args)])
      expect(told.code).toBe(2)
      expect(told.out.trim().split('\n').length).toBe(1)
      expect(json.code).toBe(2)
      expect(JSON.parse(json.out)).toMatchObject({ status: 'failed' })
    })
  }
})
