import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { runInfer } from '../../../client/infer/run-infer.ts'
import type { Clock } from '../../../lib/clock.ts'
import { JobId } from '../../../lib/codecs.ts'
import { Interrupted } from '../../../lib/host/stop-signals.ts'
import { receiptHash, verifyReceipt } from '../../../lib/receipt.ts'
import { Receipt } from '../../../lib/schemas/receipt.ts'
import { systemClock, systemRandom } from '../../../lib/system.ts'
import { until } from '../../eventually.ts'
import { type ClientWorld, heldBack } from '../client-world.ts'

const root = join(import.meta.dirname, '..', '..', '..')
const command = [
  'node',
  join(root, 'scripts', 'bun.mjs'),
  join(root, 'client/infer/main.ts'),
] as const

let place: ClientWorld

type Run = { readonly code: number | null; readonly stdout: string; readonly stderr: string }
type Running = { readonly child: ChildProcess; readonly ended: Promise<Run> }

function start(program: string, args: readonly string[], input?: string): Running {
  const child = spawn(program, args, {
    cwd: root,
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...place.environment },
    stdio: ['pipe', 'pipe', 'pipe'],
    // A group of its own, as a shell gives each command.
    detached: true,
  })
  const told = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk) => {
    told.stdout += chunk
  })
  child.stderr.on('data', (chunk) => {
    told.stderr += chunk
  })
  if (input !== undefined) child.stdin.end(input)
  const ended = new Promise<Run>((resolve) => {
    child.once('close', (code) => resolve({ code, ...told }))
  })
  return { child, ended }
}

async function inThisProcess(
  args: readonly string[],
  clock: Clock = systemClock,
  input: readonly (Uint8Array | Promise<never>)[] = [],
  signal = new AbortController().signal,
  told = { stdout: '', stderr: '' },
): Promise<Run> {
  const code = await runInfer(args, {
    environment: place.environment,
    input: (async function* () {
      yield* input
    })(),
    output: { write: (text) => (told.stdout += text) },
    errors: { write: (text) => (told.stderr += text) },
    clock,
    random: systemRandom,
    signal,
  })
  return { code, ...told }
}

/** Resolves once a node was asked; a command that ends before that says why. */
const asked = (text: string, { ended }: Running): Promise<void> =>
  Promise.race([
    place.asked(text),
    ended.then(({ stdout, stderr }) => {
      throw new Error(`It ended without a job: ${stdout}${stderr}`)
    }),
  ])

/** What the ICL says of the job that the command has told as cancelled. */
async function statusOfTold(text: string): Promise<string> {
  const [, jobId] = /The job (0x[0-9a-f]{64}) is cancelled at the ICL/.exec(text) ?? []
  if (jobId === undefined) throw new Error(`It tells no cancelled job: ${text}`)
  return (await place.client.job(JobId.parse(jobId))).status
}

function testInPipe(): void {
  it('in a pipe: the answer alone on standard output, a line for each step on standard error', async () => {
    const { ended } = start('npm', ['run', '--silent', 'infer'], 'What does the lamp say?\n')
    const run = await ended
    expect(run.stderr).toContain('✓ Submitting the job')
    expect(run.stderr).toContain('✓ Checking that the receipt stands on chain')
    expect(run.stderr).not.toContain('\u001b')
    expect(run.stdout).toBe('Answer to: What does the lamp say?\n')
    expect(run.code).toBe(0)
  })

  it('one line of JSON, a receipt that holds, a prompt that begins with a dash, and the answer again by its job', async () => {
    const file = join(place.world.folder, 'receipts', 'one.json')
    const run = await inThisProcess(['--json', '--quiet', '--receipt', file, '--', '-5 + 3?'])
    expect(run.stderr).toBe('')
    expect(run.code).toBe(0)
    const line = JSON.parse(run.stdout)
    expect(line.output).toBe('Answer to: -5 + 3?')
    expect(run.stdout.trimEnd().includes('\n')).toBe(false)
    const receipt = Receipt.parse(JSON.parse(await readFile(file, 'utf8')))
    await verifyReceipt(receipt)
    expect(await receiptHash(receipt)).toBe(line.receipt_hash)

    const opened = await inThisProcess(['--json', '--quiet', '--open', line.jobId])
    const { output, receipt_hash, commit_tx } = line
    expect(JSON.parse(opened.stdout)).toMatchObject({ output, receipt_hash, commit_tx })
    expect([opened.stderr, opened.code]).toEqual(['', 0])
  })

  it('prints a long answer whole into a pipe that is read late, and the receipt after it', async () => {
    const gate = join(place.world.folder, 'gate')
    spawnSync('mkfifo', [gate])
    const prompt = 'Write 900000 letters to one who waits'
    const { child, ended } = start('sh', [
      ...['-c', '{ "$@"; echo "code $?" >&2; } | { cat "$0" >/dev/null; cat; }', gate],
      ...[...command, '--receipt', '/dev/fd/1', prompt],
    ])
    child.stderr?.on('data', (chunk) => {
      // It begins to read when the answer is being printed.
      if (String(chunk).includes('receipt 0x')) writeFileSync(gate, '')
    })
    const { stdout, stderr } = await ended
    expect(stderr).toContain('code 0')
    expect(stdout.lastIndexOf('a\n')).toBe(899_999)
    await verifyReceipt(Receipt.parse(JSON.parse(stdout.slice(900_001))))
  })

  it('ends with its own exit code when its reader leaves before the end of a long answer', async () => {
    const run = await start('sh', [
      ...['-c', '{ "$@"; echo "code $?" >&2; } | head -c 5', 'sh'],
      ...[...command, 'Write 900000 letters to one who leaves'],
    ]).ended
    expect(run.stdout).toBe('aaaaa')
    expect(run.stderr).toContain('is accepted at the ICL')
    expect(run.stderr).toContain('code 141')
  })

  it('names a full disk, and ends with 74', async () => {
    const run = await start('sh', ['-c', 'exec "$@" >/dev/full', 'sh', ...command, '--help']).ended
    expect(run.stderr).toContain('the output cannot be written: ENOSPC')
    expect(run.code).toBe(74)
  })

  it('cancels the job at the ICL when its process group is interrupted', async () => {
    const prompt = `Where is the group ${heldBack}`
    const running = start(command[0], [...command.slice(1), '--json', prompt], '')
    await asked('Where is the group', running)
    process.kill(-(running.child.pid ?? 0), 'SIGINT')
    const run = await running.ended
    expect(run.stderr).toContain('Stopped by SIGINT: cancelling the job')
    expect(JSON.parse(run.stdout)).toMatchObject({ status: 'failed', output: null })
    expect(run.code).toBe(130)
    expect(await statusOfTold(run.stderr)).toBe('cancelled')
  })

  it('gives the answer when only its receipt cannot be kept, in one line of JSON', async () => {
    // It takes files until something is written.
    const run = await inThisProcess(['--json', '--quiet', '--receipt', '/dev/full', 'Is it kept?'])
    expect(JSON.parse(run.stdout).output).toBe('Answer to: Is it kept?')
    expect(run.stderr).toContain('error: ')
    expect(run.code).toBe(1)
  })

  it('sends no job when its receipt can be written nowhere', async () => {
    const file = join(String(place.environment.SVC_CLIENT_KEY_FILE), 'receipt.json')
    const run = await inThisProcess(['--receipt', file, 'Is it sent?'])
    expect(run.stderr).toMatch(/^error: .* cannot be written/)
    expect(run.stderr).not.toContain('Submitting')
    expect([run.stdout, run.code]).toEqual(['', 1])
  })

  it('says that no job was submitted when it is stopped before', async () => {
    const stop = new AbortController()
    const silent = new Promise<never>(() => {})
    const running = inThisProcess([], systemClock, [silent], stop.signal)
    stop.abort(new Interrupted('SIGINT', 130))
    const run = await running
    expect(run.stderr).toContain('Stopped by SIGINT: stopping')
    expect(run.stderr).toContain('No job was submitted.')
    expect([run.stdout, run.code]).toEqual(['', 130])
  })

  it('cancels the job when it takes too long, which may be tried again', async () => {
    const late = new AbortController()
    const clock: Clock = {
      ...systemClock,
      // The limit passes when the test says so.
      sleep: (ms, signal) =>
        systemClock
          .sleep(
            ms,
            ms === 777_000 ? AbortSignal.any([late.signal, ...(signal ? [signal] : [])]) : signal,
          )
          .catch((error: unknown) => {
            if (!late.signal.aborted) throw error
          }),
    }
    const told = { stdout: '', stderr: '' }
    const args = ['--timeout', '777', `How long is late ${heldBack}`]
    const running = inThisProcess(args, clock, [], undefined, told)
    await place.asked('How long is late')
    // A node may ask its provider before the client has the response to its commitment.
    await until(() => /✓ Committing to the list/.test(told.stderr))
    late.abort()
    const run = await running
    expect(await statusOfTold(run.stderr)).toBe('cancelled')
    expect(run.stdout).toBe('')
    expect(run.stderr).toContain('no answer within 777 s')
    expect(run.code).toBe(75)
  })

  it('names what is served to one who asks for another model', async () => {
    const run = await inThisProcess(['--model', 'openai:gpt-unknown', 'Hello'])
    expect(run.stderr).toContain('hint: Choose a model that is served: openai:gpt-4o-mini')
    expect(run.stdout).toBe('')
    expect(run.code).toBe(2)
  })

  it('says what is wrong in a piped prompt before anything is sent', async () => {
    const run = await inThisProcess(['--json'], systemClock, [Uint8Array.of(0xff)])
    expect(JSON.parse(run.stdout)).toMatchObject({ error: { code: 'usage' } })
    expect(run.stderr).toContain('not UTF-8')
    expect(run.code).toBe(2)
  })
}

/** Why there is no way to give a program a terminal here; where everything is tested (CI), that is an error. */
function whyNoTerminal(): string | undefined {
  if (spawnSync('script', ['--version']).stdout?.includes('util-linux')) return undefined
  const missing = "util-linux's script, which gives a program a terminal, is not installed"
  if (process.env.CI === 'true') throw new Error(missing)
  return missing
}

/** Types the command in a terminal; what is written to its standard input are key strokes. */
const inTerminal = (prompt: string): Running =>
  start('script', ['-qec', `npm run --silent infer -- '${prompt}'`, '/dev/null'])

function testInTerminal(): void {
  const missing = whyNoTerminal()
  if (missing !== undefined) {
    it.skip(missing, () => {})
    return
  }

  it('moves the line of the running step, and prints the answer below', async () => {
    const run = await inTerminal('Who keeps the light?').ended
    expect(run.stdout).toContain('\r\u001b[2K⠙ Asking')
    expect(run.stdout).toContain('\r\u001b[2K✓ Asking')
    expect(run.stdout.replaceAll('\r', '')).toContain('\nAnswer to: Who keeps the light?\n')
    expect(run.code).toBe(0)
  })

  it('cancels the job at the ICL on Ctrl-C', async () => {
    const running = inTerminal(`Who is at the keys ${heldBack}`)
    await asked('Who is at the keys', running)
    running.child.stdin?.write('\u0003')
    const run = await running.ended
    expect(await statusOfTold(run.stdout)).toBe('cancelled')
    expect(run.code).toBe(130)
  })
}

/** Runs prompts through the command against a world. */
export function testInfer(world: () => ClientWorld): void {
  describe('npm run infer', () => {
    beforeAll(() => {
      place = world()
    })
    testInPipe()
    describe('in a terminal', testInTerminal)
  })
}
