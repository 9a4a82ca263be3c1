import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'

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
  }, 60_000)

  it('goes on without its terminal under nohup', async () => {
    const { tell, lines, ended } = await listening("trap '' HUP")
    running[0]?.kill('SIGHUP')
    expect(await tell('SIGTERM')).toEqual(['stop', 'SIGTERM'])
    expect(await tell('SIGTERM')).toEqual(['abandon', 'SIGTERM'])
    expect(lines).toEqual([])
    expect(await ended()).toEqual([0, null])
  }, 60_000)
})
