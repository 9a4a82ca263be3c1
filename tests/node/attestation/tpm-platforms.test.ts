import { spawnSync } from 'node:child_process'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findTpm } from '../../../node/attestation/tpm/find-tpm.ts'
import { inspectTpm } from '../../../node/attestation/tpm/inspect-tpm.ts'
import type { TpmDevice } from '../../../node/attestation/tpm/transport.ts'
import { openTbs, readTbsEventLog } from '../../../node/attestation/tpm/windows-transport.ts'
import { codeOf } from '../../code-of.ts'
import { type TestIcl, walletOf } from '../../icl/test-icl.ts'
import { createSwtpmMaker, type Swtpm, type SwtpmMaker, whyNoSwtpm } from '../../tools/swtpm.ts'
import { attestBy, startTpmIcl, tpmOf, trustIn } from './tpm-icl.ts'

const missing = whyNoSwtpm()
const compiler = ['cc', 'gcc', 'clang'].find(
  (name) => spawnSync(name, ['--version']).error === undefined,
)
const forever = new AbortController().signal
const { address } = walletOf('platform')
const whole = ['challenge', 'enrol', 'activate', 'quote']
const pathOf = ({ setting }: Swtpm) => setting.replace('unix:', '')

describe('the ways to a TPM', () => {
  if (missing !== undefined) {
    it.skip(missing, () => {})
    return
  }
  let maker: SwtpmMaker
  let tpm: Swtpm
  let icl: TestIcl
  beforeAll(async () => {
    maker = await createSwtpmMaker()
    tpm = await maker.start()
    icl = await startTpmIcl(trustIn(maker.rootsPem))
  })
  afterAll(async () => {
    await icl.stop()
    await maker.stop()
  })

  it('a character device: attests through one whose other end is a TPM', async () => {
    const device = await startDevice(pathOf(tpm))
    try {
      const options = tpmOf(tpm, { device: findTpm(device.path) })
      expect((await attestBy(icl, 'platform', options)).kinds).toEqual(whole)
      expect((await attestBy(icl, 'platform', options)).kinds).toEqual(['challenge', 'quote'])
    } finally {
      device.stop()
    }
  })

  describe.skipIf(compiler === undefined)('Windows, by a stand-in for its tbs.dll', () => {
    const compile = (name: string, ...defines: readonly string[]): string => {
      const source = join(import.meta.dirname, '..', '..', 'tools', 'tbs', 'fake-tbs.c')
      const library = join(maker.folder, name)
      const socket = `-DTPM_SOCKET="${pathOf(tpm)}"`
      const args = ['-shared', '-fPIC', socket, ...defines, '-o', library, source]
      const { status, stderr } = spawnSync(compiler ?? '', args)
      if (status !== 0) throw new Error(String(stderr))
      return library
    }
    const device = (library: string): TpmDevice => ({
      name: 'TBS',
      isBare: false,
      open: (signal) => openTbs(signal, library),
      readEventLog: (signal) => readTbsEventLog(signal, library),
    })

    it('attests through a worker, and reads the event log', async () => {
      const own = device(compile('tbs.so'))
      expect((await attestBy(icl, 'platform', tpmOf(tpm, { device: own }))).kinds).toContain(
        'quote',
      )
      expect(await own.readEventLog?.(forever)).toEqual(Uint8Array.of(1, 2, 3, 4, 5))
      // The connection was given back: the next one gets through.
      expect(await inspectTpm(tpmOf(tpm, { device: own }), address, forever)).toMatchObject({
        manufacturer: 'IBM',
      })
    })

    it('says that activating needs an administrator, and what else Windows refuses', async () => {
      const activateCredential = '0x147'
      const library = compile('blocked.so', `-DBLOCKED_COMMAND=${activateCredential}`)
      const fresh = await startTpmIcl(trustIn(maker.rootsPem))
      const attested = attestBy(fresh, 'platform', tpmOf(tpm, { device: device(library) }))
      await expect(attested).rejects.toMatchObject({
        code: 'tpm-permission',
        hint: expect.stringContaining('administrator'),
      })
      await fresh.stop()
      expect(await codeOf(openTbs(forever, join(maker.folder, 'none.so')))).toBe('tpm-unreachable')
    })
  })
})

/** A pseudo-terminal that hands bytes to and fro between the opener of its path and a TPM's socket: a character device like /dev/tpm0. */
async function startDevice(socketPath: string) {
  const named = Promise.withResolvers<string>()
  let tpm: Socket | undefined
  let told = ''
  const holder = Bun.spawn(['sh', '-c', 'stty raw -echo; tty; exec sleep 600'], {
    terminal: {
      data: (_, bytes) => {
        if (tpm) {
          tpm.write(bytes)
          return
        }
        told += new TextDecoder().decode(bytes)
        const [path] = /\/dev\/[\w/]+(?=\s)/.exec(told) ?? []
        if (path === undefined) return
        tpm = connect(socketPath)
        tpm.on('error', () => {})
        tpm.on('data', (answer) => holder.terminal?.write(answer))
        tpm.once('connect', () => named.resolve(path))
      },
    },
  })
  const path = await named.promise
  return {
    path,
    stop: () => {
      tpm?.destroy()
      holder.kill('SIGKILL')
    },
  }
}
