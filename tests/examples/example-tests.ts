import { execFile } from 'node:child_process'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { clientSettingNames } from '../../client/connect/settings.ts'
import { type IclRuntime, programOf } from '../../demo/runtime-programs.ts'
import type { ClientWorld } from '../client/client-world.ts'
import { docBlocks } from './doc-blocks.ts'
import { examplesRunElsewhere } from './run-elsewhere.ts'
import { runHere } from './run-here.ts'

const root = join(import.meta.dirname, '..', '..')
const folder = join(root, 'examples')
const run = promisify(execFile)
const jobId = /^0x[0-9a-f]{64}$/

const before = { ...process.env }

/** Runs an example in this process and gives what it printed; each runs once. */
async function runExample(name: string): Promise<readonly string[]> {
  const lines: string[] = []
  const print = vi.spyOn(console, 'log').mockImplementation((line) => lines.push(String(line)))
  const complain = vi.spyOn(console, 'error').mockImplementation(() => {})
  try {
    await import(join(folder, name))
  } finally {
    print.mockRestore()
    complain.mockRestore()
  }
  return lines
}

/** A wallet as a page finds it: the local chain's own, which signs with the keys of its accounts. */
function installWallet({ world }: ClientWorld): void {
  const { rpcUrl, client } = world.chain
  const request = async ({ method, params = [] }: { method: string; params?: unknown }) => {
    if (method === 'eth_requestAccounts') return [client.address]
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(rpcUrl, { method: 'POST', headers, body })
    const { result, error } = (await answer.json()) as { result: unknown; error?: unknown }
    if (error !== undefined) throw error
    return result
  }
  const page = { icl: world.icl.url, rpcUrl }
  Object.assign(globalThis, { ethereum: { request }, page })
}

/** Gives the examples what they find in a world: the settings of a client, and a wallet. */
function enter(place: ClientWorld): void {
  const receipt = join(place.world.folder, 'receipt.json')
  Object.assign(process.env, place.environment, { RECEIPT_FILE: receipt })
  installWallet(place)
}

function leave(): void {
  for (const name of [...clientSettingNames, 'RECEIPT_FILE']) {
    if (before[name] === undefined) delete process.env[name]
    else process.env[name] = before[name]
  }
  Object.assign(globalThis, { ethereum: undefined, page: undefined })
}

/** What each example prints; one that another test runs is named in run-elsewhere.ts. */
const examples: Readonly<Record<string, (lines: readonly string[]) => void>> = {
  'connect.ts': (lines) => expect(lines).toEqual([]),
  'infer.ts': (lines) => {
    expect(lines[0]).toBe('Answer to: What is a lighthouse for?')
    expect(lines[1]).toMatch(/^3 of 3 agreed/)
  },
  'verify-receipt.ts': (lines) => {
    expect(lines[0]).toMatch(/^openai:gpt-4o-mini answered 0x.*: 3 of 3 agreed/)
    expect(lines[1]?.split(' ').at(-1)).toMatch(jobId)
  },
  'single-steps.ts': (lines) => {
    expect(lines).toEqual([
      expect.stringMatching(/^(0x[0-9a-f]{40}(, | may answer, in this order$)){3}/),
      'Answer to: Who keeps the light?',
    ])
  },
  'follow-job.ts': (lines) => {
    const numbers = lines.map((line) => Number(line.split(' ')[0]))
    // Resumed after the last one: none twice, none left out.
    expect(numbers).toEqual(numbers.map((_, index) => (numbers[0] ?? 0) + index))
    expect(lines.filter((line) => line.includes('claimed')).length).toBeGreaterThan(2)
    expect(lines.at(-1)).toContain('(accepted)')
  },
  'cancel-job.ts': (lines) => expect(lines).toEqual(['cancelled']),
  'handle-errors.ts': (lines) => {
    expect(lines[0]).toContain('Choose a model that is served: openai:gpt-4o-mini')
    expect(lines[1]).toContain('prompt-empty: ')
    expect(lines.length).toBe(2)
  },
  'browser-wallet.ts': (lines) => {
    expect(lines).toEqual(['Answer to: What does the harbour sell?'])
  },
  'list-jobs.ts': (lines) => {
    expect(lines.length).toBeGreaterThan(4)
    expect(lines.filter((line) => line.endsWith(' cancelled')).length).toBeGreaterThan(0)
  },
}

/** How the same client runs elsewhere than on Bun. */
const otherRuntimes: Readonly<Record<string, readonly string[]>> = {
  node: [],
  deno: ['run', '--quiet', '--no-prompt', '--allow-all', `--config=${join(root, 'deno.json')}`],
}

/** Runs every example, and the commands of the documentation, against a world. */
export function testExamples(world: () => ClientWorld): void {
  describe('the examples', () => {
    beforeAll(() => enter(world()))
    afterAll(leave)

    it('are all run, here or by the tests of what they show', async () => {
      const files = (await readdir(folder)).filter((name) => name.endsWith('.ts'))
      const known = [...Object.keys(examples), ...Object.keys(examplesRunElsewhere)]
      expect(files.filter((name) => !known.includes(name))).toEqual([])
      expect(Object.keys(examples).filter((name) => !files.includes(name))).toEqual([])
    })

    it('do what the commands in the documentation of the client do, too', async () => {
      const blocks = (await docBlocks(root)).filter(runHere)
      const commands = new Set(blocks.map(({ text }) => text))
      const home = await mkdtemp(join(tmpdir(), 'svc-docs-'))
      const env = { PATH: process.env.PATH, HOME: home, ...world().environment }
      try {
        const texts: string[] = []
        for (const text of commands) {
          texts.push((await run('sh', ['-ec', text], { cwd: root, env })).stdout)
        }
        expect(texts.length).toBe(2)
        expect(texts.join('')).toContain('Answer to: What is a lighthouse for?')
        expect(texts.join('')).toContain('"output":"Answer to: Why is the sea salty?"')
        expect(texts.join('')).toContain('The receipt is consistent.')
      } finally {
        await rm(home, { recursive: true, force: true })
      }
    })

    for (const [runtime, args] of Object.entries(otherRuntimes)) {
      it(`infer.ts on ${runtime}`, async () => {
        const program = programOf(runtime as IclRuntime)
        if (program === undefined) throw new Error(`npm has not installed ${runtime}`)
        const env = {
          ...{ PATH: process.env.PATH, HOME: process.env.HOME, ...world().environment },
          RECEIPT_FILE: join(world().world.folder, `${runtime}.json`),
        }
        const { stdout } = await run(program, [...args, join(folder, 'infer.ts')], {
          cwd: root,
          env,
        })
        expect(stdout).toContain('Answer to: What is a lighthouse for?\n')
      })
    }

    for (const [name, check] of Object.entries(examples)) {
      it(name, async () => check(await runExample(name)))
    }
  })
}
