import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { maxPromptBytes } from '../../lib/client/prompt-text.ts'
import { builtBinary } from '../binary/executable.ts'
import { type ProviderCall, type ProviderServer, startProviderServer } from './provider-server.ts'

const patienceMs = 240_000
const root = join(import.meta.dirname, '..', '..')
const script = [join(root, 'scripts', 'bun.mjs'), join(root, 'demo', 'main.ts')]

let provider: ProviderServer
let answer: (call: ProviderCall) => string | undefined = () => ''

beforeAll(async () => {
  provider = await startProviderServer((call) => answer(call))
}, 240_000)
afterAll(() => provider.stop())

type Run = { readonly code: number | null; readonly stdout: string; readonly stderr: string }

/** Processes that have this text in their environment; none where there is no /proc. */
async function processesWith(text: string): Promise<readonly string[]> {
  const ids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name))
  const found = await Promise.all(
    ids.map(async (id) => {
      const environment = await readFile(`/proc/${id}/environ`, 'utf8').catch(() => '')
      if (!environment.includes(text) || id === String(process.pid)) return []
      return [`${id} ${await readFile(`/proc/${id}/cmdline`, 'utf8').catch(() => '')}`]
    }),
  )
  return found.flat()
}

/** Runs the demo as a user does and checks that it leaves nothing behind. */
async function demo(
  args: readonly string[],
  env: Record<string, string> = {},
  options: { input?: string; interruptAt?: RegExp; killParent?: boolean } = {},
): Promise<Run> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-demo-test-'))
  const child = spawn('node', [...script, ...args], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, TMPDIR: folder, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  child.stdin.end(options.input ?? '')
  let stdout = ''
  let stderr = ''
  let interrupted = false
  const read = () => {
    if (interrupted || !options.interruptAt?.test(stdout + stderr)) return
    interrupted = true
    child.kill('SIGINT')
  }
  child.stdout.on('data', (chunk) => {
    stdout += chunk
    read()
  })
  child.stderr.on('data', (chunk) => {
    stderr += chunk
    read()
  })
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  try {
    // The guard of the processes needs a moment to notice that it is not needed, and a busy machine gives it none for long.
    for (
      const untilMs = performance.now() + patienceMs;
      performance.now() < untilMs && (await processesWith(folder)).length > 0;
    ) {
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    expect(await processesWith(folder)).toEqual([])
    expect(await readdir(folder)).toEqual([])
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
  return { code, stdout, stderr }
}

describe('npm run demo', () => {
  it('prints one line of JSON with --json, the story elsewhere', async () => {
    const token = `token ${randomUUID()}`
    answer = () => token
    provider.calls.length = 0
    const run = await demo(['--json', 'Why is the sea salty?'], {
      SVC_OPENAI_BASE_URL: provider.openaiUrl,
    })
    expect(run.code).toBe(0)
    expect(run.stdout.trimEnd().split('\n').length).toBe(1)
    const result = JSON.parse(run.stdout)
    expect(result).toMatchObject({
      jobId: expect.stringMatching(/^0x[0-9a-f]{64}$/),
      status: 'accepted',
      model: 'openai:gpt-4o-mini',
      output: token,
      answers: 3,
      agreed: 3,
      deliverer: expect.stringMatching(/^0x[0-9a-f]{40}$/),
      commit_tx: expect.stringMatching(/^0x[0-9a-f]{64}$/),
      receipt_hash: expect.stringMatching(/^0x[0-9a-f]{64}$/),
    })
    expect(result.verdicts.map(({ verdict }: { verdict: string }) => verdict)).toEqual([
      'match',
      'match',
    ])
    expect(result.timings_ms.total).toBeGreaterThan(0)
    expect(provider.calls.length).toBe(3)
    expect(new Set(provider.calls.map(({ key }) => key)).size).toBe(3)
    expect(run.stderr).toContain(token)
  })

  it('answers from the stand-in with executables as the nodes, and says so; takes the prompt from a pipe', async () => {
    await builtBinary()
    const model = 'anthropic:claude-sonnet-5-5'
    const run = await demo(['--binary', '--model', model], {}, { input: 'A piped question\n' })
    expect(run.code).toBe(0)
    expect(run.stdout).toContain('stand-in')
    expect(run.stdout).toContain(`The nodes run ${join('dist', 'svc-node')}`)
    expect(run.stdout).toContain('it says: A piped question')
    expect(run.stdout).toMatch(/answers +3 of 3 agreed/)
    expect(run.stdout).toMatch(/verifier +0x[0-9a-f]{40} +match/)
    expect(run.stdout).toMatch(/commit tx +0x[0-9a-f]{64}/)
    expect(run.stdout).not.toContain('Building')
  })

  it('stops everything on Ctrl-C', async () => {
    answer = () => 'too late'
    const run = await demo(
      ['Hello'],
      { SVC_OPENAI_BASE_URL: provider.openaiUrl },
      { interruptAt: /Attesting/ },
    )
    expect(run.code).toBe(130)
    expect(run.stdout).toContain('Stopped by SIGINT')
  })

  const mistakes: Record<string, { args: string[]; input?: string; sentence: string }> = {
    'an empty prompt': { args: [''], sentence: 'The prompt is empty' },
    'no prompt at all': { args: [], sentence: 'The prompt is empty' },
    'an over-long prompt': {
      args: [],
      input: 'a'.repeat(maxPromptBytes + 1),
      sentence: 'The prompt has ',
    },
  }
  for (const [name, { args, input, sentence }] of Object.entries(mistakes)) {
    it(`refuses ${name}, and says why`, async () => {
      const run = await demo(args, {}, input === undefined ? {} : { input })
      expect(run.code).toBe(2)
      expect(run.stdout).toBe('')
      expect(run.stderr).toContain(`error: ${sentence}`)
    })
  }
})
