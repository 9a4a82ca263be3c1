import { spawnSync } from 'node:child_process'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { completionCommand } from '../../../../lib/host/program/completion.ts'
import { flag, OneOf, option } from '../../../../lib/host/program/option.ts'
import { command, type Program } from '../../../../lib/host/program/program.ts'
import { runProgram } from '../../../../lib/host/program/run-program.ts'

const run = async () => undefined
const file = option(z.string(), 'FILE')
const program: Program<{ readonly print: (line: string) => void }> = {
  typed: 'svc-try look',
  shellWords: ['svc-try', 'look'],
  commands: [
    command({
      name: 'keys list',
      summary: "List the user's keys: all [of them]",
      options: z.object({
        rule: option(OneOf(['two', 'three']).optional(), 'RULE', 'Which'),
        logFile: option(file.optional(), 'FILE', 'Where'),
        stake: option(z.string().optional(), 'ETHER', 'How much'),
        quiet: flag('Print less'),
        secret: flag('', { isHidden: true }),
      }),
      run,
    }),
    command({ name: 'keys verify', summary: 'Check a key', args: z.object({ file }), run }),
    completionCommand(() => program),
  ],
}

async function scriptOf(shell: string): Promise<string> {
  const lines: string[] = []
  const print = (line: string) => void lines.push(line)
  const args = ['completion', shell]
  const code = await runProgram(program, args, { print, warn: print, context: () => ({ print }) })
  expect(code).toBe(0)
  return lines.join('\n')
}

/** Returns the words that a real bash offers for a line that ends where the cursor is. */
async function offered(...words: string[]): Promise<readonly string[]> {
  const quoted = ['svc-try', ...words].map((word) => `'${word}'`).join(' ')
  const script = `${await scriptOf('bash')}
COMP_WORDS=(${quoted}); COMP_CWORD=${words.length}; _svc_try; printf '%s\\n' "\${COMPREPLY[@]}"`
  const { stdout, stderr, status } = spawnSync('bash', ['--norc', '-c', script], {
    encoding: 'utf8',
    cwd: import.meta.dirname,
  })
  expect([status, stderr]).toEqual([0, ''])
  return stdout.split('\n').filter((line) => line !== '')
}

describe('completion', () => {
  it.each(['bash', 'zsh', 'fish'])('for %s has every command and option', async (shell) => {
    const script = await scriptOf(shell)
    for (const text of ['keys', 'list', 'verify', 'completion', 'two', 'help']) {
      expect(script).toContain(text)
    }
    for (const name of ['rule', 'log-file', 'stake', 'quiet']) {
      expect(script).toContain(`${shell === 'fish' ? '-l ' : '--'}${name}`)
    }
    expect(script).not.toContain('secret')
  })

  it.each([
    [[''], ['look']],
    [
      ['look', ''],
      ['keys', 'completion'],
    ],
    [['look', '--v'], ['--version']],
    [
      ['look', 'keys', ''],
      ['list', 'verify'],
    ],
    [['look', 'keys', 'list', '--q'], ['--quiet']],
    [
      ['look', 'keys', 'list', '--rule', ''],
      ['two', 'three'],
    ],
    [['look', 'keys', 'list', '--quiet', '--rule', 'tw'], ['two']],
    [['look', 'keys', 'list', '--log-file', 'completion.t'], ['completion.test.ts']],
    // The value is the user's own.
    [['look', 'keys', 'list', '--stake', '-'], []],
    [['look', 'keys', 'verify', 'completion.t'], ['completion.test.ts']],
    [['look', 'keys', 'verify', '--h'], ['--help']],
    [
      ['look', 'completion', ''],
      ['bash', 'zsh', 'fish'],
    ],
  ])('completes %j in a real bash', async (typed, words) => {
    expect(await offered(...typed)).toEqual(words)
  })

  it('keeps names with spaces whole, and runs nothing that was typed', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'svc-completion-'))
    try {
      await writeFile(join(folder, 'a receipt.json'), '')
      const started = join(folder, 'a')
      const verify = ['look', 'keys', 'verify']
      expect(await offered(...verify, started)).toEqual([`${started} receipt.json`])
      expect(await offered(...verify, `$(touch ${folder}/run)`)).toEqual([])
      expect(await offered(...verify, `$(touch ${folder}/run)`, '--')).toEqual(['--help'])
      expect(await readdir(folder)).toEqual(['a receipt.json'])
    } finally {
      await rm(folder, { recursive: true })
    }
  })
})
