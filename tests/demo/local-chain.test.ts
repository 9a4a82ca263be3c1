import { execFileSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { startAnvil } from '../../contracts/local/anvil.ts'

describe('the chain of the demo', () => {
  it.skipIf(process.platform === 'win32')('is out of reach of Ctrl-C in the terminal', async () => {
    const { pid, stop } = await startAnvil()
    try {
      const group = execFileSync('ps', ['-o', 'pgid=', '-p', String(pid)], { encoding: 'utf8' })
      expect(Number(group)).toBe(pid)
    } finally {
      await stop()
    }
  })
})
