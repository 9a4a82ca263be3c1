import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { parseDemoOptions } from '../../demo/options.ts'
import { chooseProvider } from '../../demo/provider.ts'
import { jsonFailure, tellError } from '../../demo/result.ts'
import { checkPrompt, maxPromptBytes } from '../../lib/client/prompt-text.ts'

const main = join(import.meta.dirname, '..', '..', 'demo', 'main.ts')

async function demo(...args: readonly string[]) {
  const child = spawn(process.execPath, [main, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  const code = new Promise((resolve) => child.once('close', resolve))
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)])
  return { code: await code, out, err }
}

/** What the demo says before it starts anything, and the code that it ends with. */
function refusalOf(args: readonly string[]) {
  const said: string[] = []
  try {
    const { model, prompt = '' } = parseDemoOptions(args)
    checkPrompt(prompt, maxPromptBytes)
    chooseProvider(model, {})
    return { said }
  } catch (error) {
    const code = tellError({ say: (line = '') => void said.push(line) }, error)
    return { said, code, status: jsonFailure('', error).status }
  }
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

  it('ends with 2 and one sentence on a mistake, in JSON as well', async () => {
    const [told, json] = await Promise.all([demo('--wat'), demo('--json', '--wat')])
    expect([told.code, json.code]).toEqual([2, 2])
    expect(told.out.trim().split('\n').length).toBe(1)
    expect(JSON.parse(json.out)).toMatchObject({ status: 'failed' })
  })

  const mistakes: readonly (readonly [sentence: string, args: readonly string[]])[] = [
    ['--help', ['--wat']],
    ['--nodes', ['--nodes', '0', 'Hi']],
    ['--nodes', ['--nodes', '2', 'Hi']],
    ['--nodes', ['--nodes', '9', 'Hi']],
    ['--fhe', ['--fhe', 'maybe', 'Hi']],
    ['openai:gpt-4o-mini', ['--model', 'openai:x', 'Hi']],
    ['is not known', ['--model', 'nobody:x', 'Hi']],
    ['smollm2', ['--answers', 'real', '--model', 'openai:gpt-4o', 'Hi']],
    ['The prompt is empty', ['']],
  ]
  for (const [sentence, args] of mistakes) {
    it(`refuses \`${args.join(' ')}\` in one sentence, with 2`, () => {
      const { said, ...how } = refusalOf(args)
      expect(said).toEqual([expect.stringContaining(sentence)])
      expect(said[0]).not.toContain('\n')
      expect(how).toEqual({ code: 2, status: 'failed' })
    })
  }
})
