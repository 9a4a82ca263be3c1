import { spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { stopSignal } from '../../../lib/host/stop-signals.ts'

const module = join(import.meta.dirname, '..', '..', '..', 'lib', 'host', 'stop-signals.ts')
// Says what it was told, and then which signal it was.
const script = `
const { stop, abandon } = (await import(${JSON.stringify(module)})).listenForStop()
stop.addEventListener('abort', () => console.log('stop'))
abandon.addEventListener('abort', () => console.log('abandon'))
for (const name of ['SIGTERM', ...process.argv.slice(1)]) process.on(name, () => console.log(name))
process.stdin.on('end', () => process.exit(0)).resume()
console.log('ready')`

const running: ReturnType<typeof spawn>[] = []
afterEach(() => {
  for (const child of running.splice(0)) child.kill('SIGKILL')
})

async function listening(shell: string, ...others: string[]) {
  const command = [process.execPath, '-e', script, ...others]
  const child = spawn('sh', ['-c', `${shell}; exec "$@"`, 'sh', ...command], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  running.push(child)
  const lines: string[] = []
  child.stdout.on('data', (chunk) => lines.push(...String(chunk).trim().split('\n')))
  const until = async (line: string) => {
    while (!lines.includes(line)) await once(child.stdout, 'data')
    return lines.splice(0)
  }
  await until('ready')
  return {
    lines,
    tell: async (signal: NodeJS.Signals) => {
      child.kill(signal)
      return await until(signal)
    },
    ended: async () => {
      child.stdin.end()
      return await once(child, 'close')
    },
  }
}

describe('a daemon and its signals', () => {
  it('stops when its terminal is closed, however often that is said, and hurries only when asked to', async () => {
    const { tell, ended } = await listening(':', 'SIGHUP')
    expect(await tell('SIGHUP')).toEqual(['stop', 'SIGHUP'])
    expect(await tell('SIGHUP')).toEqual(['SIGHUP'])
    expect(await tell('SIGTERM')).toEqual(['SIGTERM'])
    expect(await tell('SIGTERM')).toEqual(['abandon', 'SIGTERM'])
    expect(await tell('SIGHUP')).toEqual(['SIGHUP'])
    expect(await ended()).toEqual([0, null])
  })

  it('goes on without its terminal under nohup', async () => {
    const { tell, lines, ended } = await listening("trap '' HUP")
    running[0]?.kill('SIGHUP')
    expect(await tell('SIGTERM')).toEqual(['stop', 'SIGTERM'])
    expect(await tell('SIGTERM')).toEqual(['abandon', 'SIGTERM'])
    expect(lines).toEqual([])
    expect(await ended()).toEqual([0, null])
  })
})

function started(finishes = false) {
  const exits: number[] = []
  const host = Object.assign(new EventEmitter(), { exit: (code: number) => exits.push(code) })
  const output = new EventEmitter()
  let nowMs = 0
  const signal = stopSignal({ outputs: [output], finishes, host, now: () => nowMs })
  return {
    exits,
    signal,
    output,
    emit: (name: string, atMs: number) => {
      nowMs = atMs
      host.emit(name)
    },
  }
}

describe('a command that is told to stop', () => {
  it('stops at the first Ctrl-C, takes its echoes for the same, and leaves at the second', () => {
    const { exits, signal, emit } = started()
    expect(signal.aborted).toBe(false)
    emit('SIGINT', 10)
    expect(signal.reason).toMatchObject({ message: 'Stopped by SIGINT', exitCode: 130 })
    emit('SIGINT', 12)
    emit('SIGINT', 900)
    expect(exits).toEqual([])
    emit('SIGINT', 4_000)
    expect(exits).toEqual([130])
  })

  it('ends in order whatever comes, where it was told to', () => {
    const { exits, signal, emit } = started(true)
    for (const atMs of [10, 9_000, 20_000]) emit('SIGINT', atMs)
    expect(signal.reason).toMatchObject({ exitCode: 130 })
    expect(exits).toEqual([])
  })

  it('knows by its exit code what stopped it', () => {
    for (const [name, exitCode] of Object.entries({ SIGTERM: 143, SIGHUP: 129 })) {
      const { signal, emit } = started()
      emit(name, 0)
      expect(signal.reason).toMatchObject({ exitCode })
    }
  })

  it('stops when nobody reads what it prints, and still leaves at a Ctrl-C', () => {
    const { exits, signal, output, emit } = started()
    const closed = Object.assign(new Error('EPIPE: broken pipe, write'), { code: 'EPIPE' })
    output.emit('error', closed)
    output.emit('error', closed)
    expect(signal.reason).toMatchObject({ exitCode: 141 })
    emit('SIGINT', 1)
    expect(exits).toEqual([130])
  })
})
