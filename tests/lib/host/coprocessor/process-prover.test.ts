import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { constants, getPriority } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import type { ProofInput } from '../../../../lib/coprocessor/prover.ts'
import { createProcessProver } from '../../../../lib/host/coprocessor/process-prover.ts'
import { inProofProcess } from '../../../../lib/host/coprocessor/proof-child.ts'
import { systemClock } from '../../../../lib/system.ts'
import { until } from '../../../eventually.ts'
import { isRunning } from './processes.ts'

const timeoutMs = 240_000
const isLinux = process.platform === 'linux'

const nonsense: ProofInput = {
  publicKeyHex: '0xabcd',
  crsHex: '0xabcd',
  values: [1n, 2n],
  metadata: new Uint8Array(53),
}
const soon = () => AbortSignal.timeout(timeoutMs)

/** A prover whose processes and deaths are noted; `onStart` may end a process. */
function proverWith(onStart: (pid: number, count: number) => void = () => {}) {
  const pids: number[] = []
  const deaths: string[] = []
  const prover = createProcessProver({
    clock: systemClock,
    onStart: (pid) => onStart(pid, pids.push(pid)),
    onDeath: (why) => deaths.push(why),
  })
  return { prover, pids, deaths }
}

describe('the prover', () => {
  it('says so when it is given nonsense, and goes on working', async () => {
    const { prover, pids, deaths } = proverWith()
    for (const _ of [1, 2]) {
      await expect(prover.prove(nonsense, soon())).rejects.toMatchObject({
        code: 'coprocessor-encrypt-failed',
        message: expect.stringContaining('CoFHE encrypt failed: '),
        retryable: false,
      })
    }
    expect(pids).toHaveLength(2)
    expect(deaths).toEqual([])
  })

  it('starts a process again that is killed', async () => {
    const { prover, pids, deaths } = proverWith((pid, count) => {
      if (count === 1) process.kill(pid, 'SIGKILL')
    })
    // The second one gets to the input.
    await expect(prover.prove(nonsense, soon())).rejects.toMatchObject({
      message: expect.not.stringContaining('SIGKILL'),
    })
    expect(pids).toHaveLength(2)
    expect(deaths).toEqual(['The proof process ended (SIGKILL)'])
  })

  it('gives up after three deaths, and works again afterwards', async () => {
    const { prover, pids, deaths } = proverWith((pid, count) => {
      if (count <= 3) process.kill(pid, 'SIGKILL')
    })
    await expect(prover.prove(nonsense, soon())).rejects.toMatchObject({
      code: 'coprocessor-encrypt-failed',
      message: 'CoFHE encrypt failed: The proof process ended (SIGKILL), 3 times',
    })
    expect(deaths).toHaveLength(2)
    await expect(prover.prove(nonsense, soon())).rejects.toMatchObject({
      message: expect.not.stringContaining('SIGKILL'),
    })
    expect(pids).toHaveLength(4)
  })

  it('makes one proof at a time', async () => {
    let running = 0
    let most = 0
    const { prover, pids } = proverWith((pid) => {
      most = Math.max(most, ++running)
      void until(async () => !(await isRunning(pid))).then(() => running--)
    })
    const work = [1, 2, 3].map(() => prover.prove(nonsense, soon()).catch(() => 'failed'))
    expect(await Promise.all(work)).toEqual(['failed', 'failed', 'failed'])
    expect(pids).toHaveLength(3)
    // A killed one may still be about to end when the next starts; all three never are.
    expect(most).toBeLessThan(3)
  })

  it('leaves the queue and ends the process when the signal does', async () => {
    const { prover, pids } = proverWith()
    const stop = new AbortController()
    const works = [1, 2].map(() => prover.prove(nonsense, stop.signal))
    const ended = Promise.allSettled(works)
    await until(() => pids.length === 1)
    const why = new Error('no longer needed')
    stop.abort(why)
    expect((await ended).map((one) => one.status === 'rejected' && one.reason)).toEqual([why, why])
    expect(pids).toHaveLength(1)
    await until(async () => !(await isRunning(pids[0] ?? 0)))
  })

  it('gives up a process that gives no answer', async () => {
    const pids: number[] = []
    const prover = createProcessProver({
      clock: systemClock,
      timeoutMs: 500,
      onStart: (pid) => {
        pids.push(pid)
        process.kill(pid, 'SIGSTOP')
      },
    })
    await expect(prover.prove(nonsense, soon())).rejects.toMatchObject({
      code: 'coprocessor-encrypt-failed',
      message: 'CoFHE encrypt failed: no proof within 0.5 s',
    })
    await until(async () => !(await isRunning(pids[0] ?? 0)))
  })
})

const cpuTicksOf = async (pid: number) =>
  Number((await readFile(`/proc/${pid}/stat`, 'utf8')).split(' ')[13])

describe.skipIf(!isLinux)('a proof process', () => {
  const ends: (() => void)[] = []
  afterEach(() => {
    for (const end of ends.splice(0)) end()
  })

  it('gets nothing of the environment and no secret in its arguments, and comes after heartbeats', async () => {
    process.env.SVC_SECRET_OF_A_TEST = 'secret'
    ends.push(() => delete process.env.SVC_SECRET_OF_A_TEST)
    const stop = new AbortController()
    let child = 0
    const work = inProofProcess('makeSampleKeys', null, stop.signal, {
      onStart: (pid) => {
        child = pid
      },
    })
    work.catch(() => {})
    const read = (name: string) => readFile(`/proc/${child}/${name}`, 'utf8')
    await until(async () => (await read('cmdline')).includes('proof-process'))
    expect(await read('environ')).not.toContain('secret')
    expect((await read('cmdline')).split('\0')).toHaveLength(4)
    // 19 is the lowest there is.
    expect(getPriority(child)).toBeGreaterThan(Math.min(getPriority(process.pid), 18))
    stop.abort(new Error('enough'))
    await expect(work).rejects.toThrow('enough')
  })

  it('goes on when Ctrl-C or a service manager tells its whole group to end', async () => {
    let child = 0
    const work = inProofProcess('makeSampleKeys', null, AbortSignal.timeout(timeoutMs), {
      onStart: (pid) => {
        child = pid
      },
    })
    const ended = work.then(
      () => 'done',
      (error: Error) => error.message,
    )
    const catches = async (signal: number) => {
      const status = await readFile(`/proc/${child}/status`, 'utf8').catch(() => '')
      const mask = /^SigCgt:\s+([0-9a-f]+)$/m.exec(status)?.[1] ?? '0'
      return ((BigInt(`0x${mask}`) >> BigInt(signal - 1)) & 1n) === 1n
    }
    const { SIGHUP, SIGINT, SIGTERM } = constants.signals
    for (const signal of [SIGHUP, SIGINT, SIGTERM]) await until(() => catches(signal))
    for (const signal of [SIGHUP, SIGINT, SIGTERM]) process.kill(child, signal)
    // What a signal would end is gone long before this much is computed.
    const began = await cpuTicksOf(child)
    await until(async () => (await cpuTicksOf(child)) > began + 100)
    process.kill(child, 'SIGKILL')
    expect(await ended).toBe('The proof process ended (SIGKILL)')
  })

  it('ends with its parent in the middle of its work', async () => {
    const file = join(import.meta.dirname, 'long-work.ts')
    const parent = spawn(process.execPath, ['--no-env-file', file], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    ends.push(() => parent.kill('SIGKILL'))
    const child = await new Promise<number>((resolve) =>
      parent.stdout.once('data', (line: Buffer) => resolve(Number(line))),
    )
    // More than starting takes: it is computing.
    await until(async () => (await cpuTicksOf(child)) > 200)
    expect(await isRunning(child)).toBe(true)
    parent.kill('SIGKILL')
    await until(async () => !(await isRunning(child)))
  })
})
