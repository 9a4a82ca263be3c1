import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { monotonicMs } from '../../../lib/clock.ts'
import { systemClock, systemRandom } from '../../../lib/system.ts'
import { createTpmWriter } from '../../../lib/tpm/bytes.ts'
import { readBootEventLog } from '../../../node/attestation/tpm/boot-event-log.ts'
import { readModel } from '../../../node/attestation/tpm/capabilities.ts'
import { findTpm } from '../../../node/attestation/tpm/find-tpm.ts'
import { readPcrs } from '../../../node/attestation/tpm/quote.ts'
import { withTpm } from '../../../node/attestation/tpm/tpm.ts'
import type { Tpm } from '../../../node/attestation/tpm/tpm-command.ts'
import { readTpmPlace } from '../../../node/attestation/tpm/tpm-setting.ts'
import { codeOf } from '../../code-of.ts'
import { createVirtualClock } from '../../virtual-clock.ts'

const forever = new AbortController().signal

/** An answer of a TPM: header and what follows. */
const answerOf = (code: number, parameters = new Uint8Array(), tag = 0x8001) =>
  createTpmWriter()
    .u16(tag)
    .u32(10 + parameters.length)
    .u32(code)
    .raw(parameters)
    .done()
// One handle list, empty: what a TPM says when it is asked what was left in it.
const nothingLeft = answerOf(0, createTpmWriter().u8(0).u32(1).u32(0).done())

let server: Server | undefined
const sockets = new Set<Socket>()
const folder = await mkdtemp(join(tmpdir(), 'svc-tpm-'))
afterAll(() => rm(folder, { recursive: true, force: true }))
afterEach(async () => {
  for (const socket of sockets) socket.destroy()
  sockets.clear()
  await new Promise<void>((resolve) => (server ? server.close(() => resolve()) : resolve()))
  server = undefined
})

/** Something that listens where a TPM should: `answers` sees each command that is no question about leftovers. */
async function listen(answers: (socket: Socket, command: Buffer, count: number) => void) {
  const path = join(folder, `tpm-${Math.random()}`)
  let count = 0
  server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('data', (command: Buffer) => {
      const asksForHandles = command.readUInt32BE(6) === 0x17a && command.readUInt32BE(10) === 1
      if (asksForHandles) socket.write(nothingLeft)
      else answers(socket, command, ++count)
    })
  })
  await new Promise<void>((resolve) => server?.listen(path, resolve))
  return { device: findTpm(`unix:${path}`), clock: systemClock, random: systemRandom }
}

const pcrs = (tpm: Tpm) => readPcrs(tpm, [0])
const pcrAnswer = answerOf(
  0,
  createTpmWriter()
    .u32(1)
    .u32(1)
    .u16(0x0b)
    .u8(3)
    .raw(Uint8Array.of(1, 0, 0))
    .u32(1)
    .sized(new Uint8Array(32).fill(5))
    .done(),
)

describe('the setting tpm', () => {
  it.each([
    ['/dev/tpmrm0', { kind: 'file', path: '/dev/tpmrm0' }],
    ['unix:/run/tpm', { kind: 'socket', to: { path: '/run/tpm' } }],
    ['swtpm:localhost:2321', { kind: 'socket', to: { host: 'localhost', port: 2321 } }],
    ['swtpm:[::1]:2321', { kind: 'socket', to: { host: '::1', port: 2321 } }],
  ])('%s', (text, place) => {
    expect(readTpmPlace(text)).toEqual(place as never)
  })

  it.each([
    'tpm0',
    'unix:run',
    'swtpm:localhost',
    'swtpm:host:0',
    'swtpm:host:65536',
    'swtpm::1',
    '',
  ])('%s is none', (text) => {
    expect(readTpmPlace(text)).toBeUndefined()
  })

  it('left out is the TPM of this machine, where there can be one', () => {
    expect(findTpm(undefined, 'linux').name).toBe('/dev/tpmrm0')
    expect(findTpm(undefined, 'win32').name).toContain('TPM Base Services')
    expect(() => findTpm(undefined, 'darwin')).toThrow('no TPM on darwin')
  })
})

describe('a TPM behind a socket', () => {
  it('may answer in pieces', async () => {
    const tpm = await listen((socket) => {
      socket.write(pcrAnswer.slice(0, 7))
      setTimeout(() => socket.write(pcrAnswer.slice(7)), 5)
    })
    const values = await withTpm(tpm, forever, pcrs)
    expect(values.get(0)).toEqual(new Uint8Array(32).fill(5))
  })

  it('is asked again as long as it only wants to be', async () => {
    const busy = [0x922, 0x90a, 0x908, 0x920]
    const tpm = await listen((socket, _, count) => {
      const code = busy[count - 1]
      socket.write(code === undefined ? pcrAnswer : answerOf(code))
    })
    expect((await withTpm(tpm, forever, pcrs)).size).toBe(1)
  })

  it('is not asked for ever, and told as something that passes', async () => {
    let count = 0
    const { device } = await listen((socket) => {
      count++
      socket.write(answerOf(0x922))
    })
    // Waits in between are not waited for here.
    const clock = {
      now: () => 0,
      monotonic: () => monotonicMs(0),
      sleep: (ms: number) => (ms > 1_000 ? new Promise<void>(() => {}) : Promise.resolve()),
    }
    const refused = withTpm({ device, clock, random: systemRandom }, forever, pcrs)
    await expect(refused).rejects.toMatchObject({ code: 'tpm-refused', retryable: true })
    expect(count).toBeGreaterThan(10)
    expect(count).toBeLessThan(50)
  })

  it.each([
    ['a locked TPM', 0x921, 'tpm-lockout'],
    ['a wrong password of the hierarchy', 0x9a2, 'tpm-password'],
    ['a hierarchy that is off', 0x185, 'tpm-hierarchy-closed'],
    ['a full TPM', 0x902, 'tpm-full'],
    ['a TPM in failure mode', 0x101, 'tpm-failed'],
    ['anything else', 0x143, 'tpm-refused'],
  ])('%s is explained', async (_, code, expected) => {
    const tpm = await listen((socket) => socket.write(answerOf(code)))
    const error = await withTpm(tpm, forever, pcrs).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: expected, hint: expect.stringMatching(/.{10}/) })
  })

  it.each([
    ['a TPM 1.2', answerOf(0x1e, new Uint8Array(), 0x00c4), 'tpm-too-old'],
    ['an answer that is too long', answerOf(0, new Uint8Array(5_000)), 'tpm-unreachable'],
    ['an unknown tag', answerOf(0, new Uint8Array(4), 0x1234), 'tpm-unreachable'],
    ['an answer that ends too early', answerOf(0, Uint8Array.of(0, 0, 0, 1, 0)), 'tpm-unreachable'],
    ['two answers at once', Uint8Array.from([...pcrAnswer, ...pcrAnswer]), 'tpm-unreachable'],
  ])('%s is refused', async (_, bytes, expected) => {
    const tpm = await listen((socket) => socket.write(bytes))
    expect(await codeOf(withTpm(tpm, forever, pcrs))).toBe(expected)
  })

  it.each([
    ['other registers', [0, 2, 0]],
    ['no registers', [0, 0, 0]],
  ])('%s than asked for are refused', async (_, bits) => {
    const parameters = createTpmWriter()
      .u32(1)
      .u32(1)
      .u16(0x0b)
      .u8(3)
      .raw(Uint8Array.from(bits))
      .u32(0)
    const tpm = await listen((socket) => socket.write(answerOf(0, parameters.done())))
    expect(await codeOf(withTpm(tpm, forever, pcrs))).toBe('tpm-bank-missing')
  })

  it('that lists more than there can be is refused', async () => {
    const endless = createTpmWriter().u8(1).u32(6).u32(0xffff_ffff).done()
    const tpm = await listen((socket) => socket.write(answerOf(0, endless)))
    expect(await codeOf(withTpm(tpm, forever, readModel))).toBe('tpm-unreachable')
  })

  it('that goes away is noticed at once', async () => {
    const tpm = await listen((socket) => socket.destroy())
    expect(await codeOf(withTpm(tpm, forever, pcrs))).toBe('tpm-unreachable')
  })

  it('that is silent is waited for until the time is over, once', async () => {
    const { device } = await listen(() => {})
    const clock = createVirtualClock()
    let commands = 0
    const silent = {
      ...device,
      isBare: false,
      open: async (signal: AbortSignal) => {
        const { transmit, close } = await device.open(signal)
        return {
          close,
          transmit: (...args: Parameters<typeof transmit>) => {
            commands++
            return transmit(...args)
          },
        }
      },
    }
    const work = withTpm({ device: silent, clock, random: systemRandom }, forever, async (tpm) => {
      await pcrs(tpm).finally(() => pcrs(tpm).catch(() => {}))
    }).catch((error: unknown) => error)
    let outcome: unknown
    void work.then((error) => {
      outcome = error
    })
    while (outcome === undefined) await clock.advance(1_000)
    expect(outcome).toMatchObject({ code: 'tpm-timed-out', retryable: true })
    expect(commands).toBe(1)
  })

  it('is left when told to', async () => {
    const stop = new AbortController()
    const tpm = await listen(() => stop.abort(new Error('enough')))
    await expect(withTpm(tpm, stop.signal, pcrs)).rejects.toThrow('enough')
  })

  it('that is not there is named', async () => {
    const options = { clock: systemClock, random: systemRandom }
    const device = findTpm(`unix:${join(folder, 'nobody')}`)
    await expect(withTpm({ ...options, device }, forever, pcrs)).rejects.toMatchObject({
      code: 'tpm-not-found',
      hint: expect.stringContaining('SVC_TPM'),
    })
  })
})

describe('a TPM at a file', () => {
  const open = (path: string) =>
    codeOf(
      findTpm(path)
        .open(forever)
        .then(({ close }) => close()),
    )

  it('that is not there, or not for this user', async () => {
    expect(await open(join(folder, 'no-tpm'))).toBe('tpm-not-found')
    const path = join(folder, 'closed')
    await writeFile(path, '')
    await chmod(path, 0)
    // Root may open everything.
    if (process.getuid?.() !== 0) expect(await open(path)).toBe('tpm-permission')
  })

  it('that answers nothing is no TPM', async () => {
    const options = { device: findTpm('/dev/null'), clock: systemClock, random: systemRandom }
    expect(await codeOf(withTpm(options, forever, pcrs))).toBe('tpm-unreachable')
  })

  it('that is no device is no TPM, and keeps its content', async () => {
    const path = join(folder, 'keystore.json')
    const content = 'a key that SVC_TPM names by mistake'
    await writeFile(path, content)
    const options = { device: findTpm(path), clock: systemClock, random: systemRandom }
    expect(await codeOf(withTpm(options, forever, pcrs))).toBe('tpm-not-found')
    expect(await readFile(path, 'utf8')).toBe(content)
  })
})

it("the boot's event log is read whole, up to what the ICL takes", async () => {
  const path = join(folder, 'log')
  await writeFile(path, new Uint8Array(100_000).fill(3))
  expect(await readBootEventLog(path)).toEqual(new Uint8Array(100_000).fill(3))
  await writeFile(path, new Uint8Array(200_000))
  expect(await codeOf(readBootEventLog(path))).toBe('event-log-too-long')
  expect(await codeOf(readBootEventLog(join(folder, 'none')))).toBe('event-log-unreadable')
})
