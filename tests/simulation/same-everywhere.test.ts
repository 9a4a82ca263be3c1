import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { simulate } from './simulate.ts'

const root = join(import.meta.dirname, '../..')
const bin = (name: string) => join(root, 'node_modules', name)
const seed = 9

/** How each runtime runs a file. */
const runtimes = {
  bun: [bin(`@oven/bun-${process.platform}-${process.arch}/bin/bun`)],
  node: [bin('.bin/node')],
  deno: [bin('.bin/deno'), 'run', '--allow-all', '--no-check'],
} as const

async function hashOn([program, ...before]: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(
    program ?? '',
    [...before, join(root, 'tests/simulation/main.ts'), '--seed', String(seed), '--json'],
    { cwd: root, timeout: 240_000 },
  )
  const outcome: { hash: string; violations: string[] } = JSON.parse(
    stdout.trim().split('\n').at(-1) ?? '',
  )
  expect(outcome.violations).toEqual([])
  return outcome.hash
}

describe('a seed', () => {
  it('tells the same story every time, and another one than its neighbour', async () => {
    const [first, second, other] = [
      await simulate(seed),
      await simulate(seed),
      await simulate(seed + 1),
    ]
    expect(second.hash).toBe(first.hash)
    expect(other.hash).not.toBe(first.hash)
  })

  it('tells the same story every time over a file, whose process is killed', async () => {
    for (const [killed, store] of [
      [16, 'sqlite'],
      [4, 'mirror'],
    ] as const) {
      const [first, second] = [await simulate(killed, { store }), await simulate(killed, { store })]
      expect(first.faults['replica-killed']).toBeGreaterThan(0)
      expect([store, second.hash]).toEqual([store, first.hash])
    }
  })

  it('tells the same story on every runtime', async () => {
    const here = (await simulate(seed)).hash
    for (const [name, command] of Object.entries(runtimes)) {
      expect(existsSync(command[0]), `${name} is not installed`).toBe(true)
      expect(await hashOn(command), name).toBe(here)
    }
  }, 900_000)
})
