import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../lib/system.ts'
import { sampleSettings } from '../sample-settings.ts'
import { cutUpload, restOfUpload, signedUpload } from './cut-upload.ts'
import { keepAsking } from './keep-asking.ts'

const main = join(import.meta.dirname, '..', '..', 'icl', 'start', 'bun.ts')
const running: ChildProcess[] = []

afterEach(() => {
  for (const child of running.splice(0)) child.kill('SIGKILL')
})

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** Starts a real ICL with a limit of open files; its chain is away, which a process that only stops does not need. */
async function startIcl(settings: Record<string, string> = {}, files = 5_000) {
  const port = await freePort()
  const child = spawn('sh', ['-c', `ulimit -n ${files}; exec "$0" ${main}`, process.execPath], {
    env: {
      ...sampleSettings,
      SVC_ICL_PORT: String(port),
      SVC_ICL_PUBLIC_URL: `http://127.0.0.1:${port}`,
      SVC_ICL_DATABASE_URL: 'memory:',
      SVC_ICL_LOG_LEVEL: 'debug',
      ...settings,
    },
  })
  running.push(child)
  const log: string[] = []
  child.stdout?.setEncoding('utf8').on('data', (text: string) => log.push(text))
  child.stderr?.setEncoding('utf8').on('data', (text: string) => log.push(text))
  // At its exit the last lines of its log may not have been read yet.
  const exited = new Promise<number | null>((resolve) => child.once('close', resolve))
  const saw = async (text: string) => {
    while (!log.join('').includes(text)) {
      if (child.exitCode !== null) throw new Error(`The ICL ended: ${log.join('')}`)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  await saw('ICL listening')
  return { port, child, exited, saw, log: () => log.join('') }
}

/** Opens a request whose body is not complete yet. */
async function openUpload(port: number) {
  const socket: Socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  let answer = ''
  socket.setEncoding('utf8').on('data', (text: string) => {
    answer += text
  })
  const closed = new Promise<string>((resolve) => socket.once('close', () => resolve(answer)))
  socket.on('error', () => {})
  const now = Math.floor(systemClock.now() / 1000)
  socket.write(cutUpload(await signedUpload(`http://127.0.0.1:${port}`, now)))
  // The request has arrived once its first bytes have been read: another one that is answered later proves it.
  await (await fetch(`http://127.0.0.1:${port}/livez`)).text()
  return { finish: () => socket.write(restOfUpload), closed }
}

const isRefused = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => {
      socket.destroy()
      resolve(false)
    })
    socket.once('error', () => resolve(true))
  })

it.each([5_000, 1_000])('the log says when few files may be open: %i', async (files) => {
  const icl = await startIcl({}, files)
  expect(icl.log().includes(`Only ${files} files and connections`)).toBe(files < 4_096)
})

describe('stopping the ICL', () => {
  it('takes no new requests, answers what is under way, and exits with 0', async () => {
    const icl = await startIcl()
    const upload = await openUpload(icl.port)
    icl.child.kill('SIGTERM')
    await icl.saw('ICL stopping')
    while (!(await isRefused(icl.port))) await new Promise((resolve) => setTimeout(resolve, 20))
    expect(icl.child.exitCode).toBeNull()
    upload.finish()
    expect(await upload.closed).toContain('"code":"unsupported-media-type"')
    expect(await icl.exited).toBe(0)
    expect(icl.log()).toContain('ICL stopped')
    expect(icl.log()).not.toContain('under way')
  })

  it('is not ready for two seconds first, and loses no request of kept-alive callers', async () => {
    const icl = await startIcl()
    let answers = 0
    const count = () => {
      answers += 1
    }
    const url = `http://127.0.0.1:${icl.port}`
    const callers = Array.from({ length: 8 }, () => keepAsking(url, count))
    while (answers < 100) await new Promise((resolve) => setTimeout(resolve, 20))
    icl.child.kill('SIGTERM')
    for (const last of await Promise.all(callers)) {
      expect(last).toMatch(/^HTTP\/1\.1 503 .*^connection: close.*the ICL is stopping/ims)
    }
    expect(await icl.exited).toBe(0)
  })

  it('does not wait any longer at the second signal', async () => {
    const icl = await startIcl({ SVC_ICL_DRAIN_SECONDS: '3600' })
    const upload = await openUpload(icl.port)
    icl.child.kill('SIGTERM')
    await icl.saw('ICL stopping')
    icl.child.kill('SIGINT')
    expect(await icl.exited).toBe(0)
    expect(icl.log()).toContain('ICL stops with requests or background work under way')
    expect(await upload.closed).toBe('')
  })

  it('finishes what is under way when its terminal is closed, though nobody reads its log any more', async () => {
    const icl = await startIcl()
    const upload = await openUpload(icl.port)
    icl.child.stdout?.destroy()
    icl.child.kill('SIGHUP')
    icl.child.kill('SIGHUP')
    while (!(await isRefused(icl.port))) await new Promise((resolve) => setTimeout(resolve, 20))
    upload.finish()
    expect(await upload.closed).toContain('"code":"unsupported-media-type"')
    expect(await icl.exited).toBe(0)
  })

  it('does not wait any longer than it is told to', async () => {
    const icl = await startIcl({ SVC_ICL_DRAIN_SECONDS: '0' })
    await openUpload(icl.port)
    icl.child.kill('SIGTERM')
    expect(await icl.exited).toBe(0)
    expect(icl.log()).toContain('ICL stops with requests or background work under way')
  })

  it('writes log lines of JSON that name their request, and no secret', async () => {
    const icl = await startIcl({ SVC_ICL_METRICS_TOKEN: 'the-token-of-the-operator' })
    const response = await fetch(`http://127.0.0.1:${icl.port}/health`)
    const requestId = response.headers.get('x-request-id')
    expect(requestId).not.toBeNull()
    await icl.saw(requestId!)
    icl.child.kill('SIGTERM')
    expect(await icl.exited).toBe(0)
    const lines = icl
      .log()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    for (const line of lines)
      expect(line).toMatchObject({ time: expect.any(String), level: expect.any(String) })
    expect(lines.filter((line) => line.requestId === requestId)).toEqual([
      expect.objectContaining({ message: 'request', operation: 'getHealth', status: 200 }),
    ])
    for (const secret of ['ab'.repeat(32), '11'.repeat(32), 'the-token-of-the-operator']) {
      expect(icl.log()).not.toContain(secret)
    }
  })
})

describe('starting the ICL wrongly', () => {
  const run = async (args: readonly string[], env: Record<string, string> = {}) => {
    const child = spawn(process.execPath, [main, ...args], { env })
    running.push(child)
    let text = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk
      })
    }
    const [code] = (await once(child, 'close')) as [number]
    return { code, text }
  }

  it('names every mistake at once and exits with 1', async () => {
    const { code, text } = await run([], { SVC_ICL_PORT: '0', SVC_ICL_RATE_NODE: 'many' })
    expect(code).toBe(1)
    for (const name of ['SVC_ICL_PORT', 'SVC_ICL_RATE_NODE', 'SVC_ICL_SECRET is missing']) {
      expect(text).toContain(name)
    }
  })

  it('refuses an option that it does not have with 2, and lists its settings with 0', async () => {
    expect((await run(['--port=1'])).code).toBe(2)
    const help = await run(['--help'])
    expect([help.code, help.text.includes('SVC_ICL_DRAIN_SECONDS')]).toEqual([0, true])
  })
})
