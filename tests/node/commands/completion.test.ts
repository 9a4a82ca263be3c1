import { spawnSync } from 'node:child_process'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { commands } from '../../../node/command-table.ts'
import { printCompletion } from '../../../node/commands/completion.ts'
import { flagName } from '../../../node/commands/flags.ts'

const scriptOf = (shell: string): string => {
  const lines: string[] = []
  printCompletion(shell, commands, (line) => lines.push(line))
  return lines.join('\n')
}

/** What a real bash offers for a line that ends where the cursor is. */
const offered = (...words: string[]): readonly string[] => {
  const quoted = words.map((word) => `'${word}'`).join(' ')
  const script = `${scriptOf('bash')}
COMP_WORDS=(svc-node ${quoted}); COMP_CWORD=${words.length}; _svc_node; printf '%s\\n' "\${COMPREPLY[@]}"`
  const { stdout, stderr, status } = spawnSync('bash', ['--norc', '-c', script], {
    encoding: 'utf8',
    cwd: import.meta.dirname,
  })
  expect([status, stderr]).toEqual([0, ''])
  return stdout.split('\n').filter((line) => line !== '')
}

describe('completion', () => {
  it('knows every command and flag in every shell', () => {
    for (const shell of ['bash', 'zsh', 'fish']) {
      const script = scriptOf(shell)
      for (const { name, flags } of commands) {
        expect([shell, script]).toEqual([shell, expect.stringContaining(name)])
        for (const [usage] of flags) {
          const flag = flagName(usage)
          expect(script).toContain(shell === 'fish' ? `-l ${flag.slice(2)}` : flag)
        }
      }
    }
  })

  it('completes in a real bash', () => {
    expect(offered('st')).toEqual(['status'])
    expect(offered('un')).toEqual(['unregister'])
    expect(offered('jobs', '--c')).toEqual(['--csv'])
    expect(offered('completion', '')).toEqual(['bash', 'zsh', 'fish'])
    expect(offered('receipt', 'v')).toEqual(['verify'])
    expect(offered('receipt', 'verify', 'completion.t')).toEqual(['completion.test.ts'])
    expect(offered('attest', '--backend', '')).toEqual(['mock', 'tpm'])
    expect(offered('run', '--log-format', 't')).toEqual(['text'])
    expect(offered('run', '--log-file', 'completion.t')).toEqual(['completion.test.ts'])
    // Other values are the operator's.
    expect(offered('register', '--stake', '')).toEqual([])
  })

  it('keeps names with spaces whole, and runs nothing that was typed', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'svc-completion-'))
    try {
      await writeFile(join(folder, 'a receipt.json'), '')
      const started = join(folder, 'a')
      expect(offered('receipt', 'verify', started)).toEqual([`${started} receipt.json`])
      expect(offered('receipt', 'verify', `$(touch ${folder}/run)`)).toEqual([])
      expect(await readdir(folder)).toEqual(['a receipt.json'])
    } finally {
      await rm(folder, { recursive: true })
    }
  })
})
