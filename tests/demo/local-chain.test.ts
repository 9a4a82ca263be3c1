import { execFileSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { startAnvil } from '../../contracts/local/anvil.ts'

it.skipIf(process.platform === 'win32')(
  'the chain of the demo is out of reach of Ctrl-C in the terminal',
  async () => {
    const { pid, stop } = await startAnvil()
    try {
      const group = execFileSync('ps', ['-o', 'pgid=', '-p', String(pid)], { encoding: 'utf8' })
      expect(Number(group)).toBe(pid)
    } finally {
      await stop()
    }
  },
)
