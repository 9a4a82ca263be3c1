import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { hexToBytes, keccak256, stringToHex } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createKeyring, withdrawKey } from '../../../icl/records/keyring.ts'
import { openStore } from '../../../icl/start/open-store.ts'
import { createApi } from '../../../lib/api.ts'
import type { RequestSigner } from '../../../lib/request-signature.ts'
import { signingKeyFromSeed } from '../../../lib/session-key.ts'
import { systemClock, systemRandom } from '../../../lib/system.ts'
import { codeOf } from '../../code-of.ts'
import { sampleSettings } from '../../sample-settings.ts'
import { openWireServer, whyNoWireServer } from '../../store/wire-server/open.ts'
import { attestationOf, origin, walletOf } from '../test-icl.ts'

const root = resolve(import.meta.dirname, '../../..')
const started: ChildProcess[] = []
let folder: string
let environment: Record<string, string>

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'svc-running-'))
  environment = {
    ...process.env,
    ...sampleSettings,
    SVC_ICL_PORT: String(await freePort()),
    SVC_ICL_PUBLIC_URL: origin,
    SVC_ICL_DATABASE_URL: `sqlite:${join(folder, 'icl.db')}`,
    // Nobody is there: nothing here asks the chain.
    SVC_ICL_RPC_URL: `http://127.0.0.1:${await freePort()}`,
    SVC_ICL_MOCK_ATTESTATION_KEY: '07'.repeat(16),
  }
})
afterAll(async () => {
  for (const child of started.filter(
    ({ exitCode, signalCode }) => exitCode === null && signalCode === null,
  )) {
    child.kill('SIGKILL')
    await once(child, 'close')
  }
  rmSync(folder, { recursive: true, force: true })
})

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new TypeError('There is no port')
  return address.port
}

function start(args: readonly string[] = [], changes: Readonly<Record<string, string>> = {}) {
  const child = spawn(process.execPath, [join(root, 'icl/start/bun.ts'), ...args], {
    cwd: folder,
    env: { ...environment, ...changes },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  started.push(child)
  let text = ''
  child.stdout.on('data', (chunk: Buffer) => {
    text += chunk
  })
  child.stderr.on('data', (chunk: Buffer) => {
    text += chunk
  })
  const closed = once(child, 'close')
  return {
    child,
    text: () => text,
    ended: async () => {
      await closed
      return { code: child.exitCode, text }
    },
    says: async (words: string) => {
      while (!text.includes(words)) {
        if (child.exitCode !== null) throw new Error(`The ICL ended: ${text}`)
        await systemClock.sleep(20)
      }
    },
  }
}

const admin = (...args: string[]) => start(['admin', ...args]).ended()

const api = (signer: RequestSigner) =>
  createApi({
    baseUrl: origin,
    // Signatures are for the public address, which something in front would hand on.
    fetch: (request) => {
      const { pathname, search } = new URL(request.url)
      return fetch(`http://127.0.0.1:${environment.SVC_ICL_PORT}${pathname}${search}`, request)
    },
    clock: systemClock,
    random: systemRandom,
    signer,
  })

it('an ICL says at its start that the key which it signs with is withdrawn', async () => {
  const url = `sqlite:${join(folder, 'withdrawn.db')}`
  const store = await openStore(url)
  const secret = hexToBytes(`0x${sampleSettings.SVC_ICL_SECRET}`)
  const keys = await createKeyring({ store, clock: systemClock }, secret)
  await keys.refresh()
  await withdrawKey(store, systemClock, keys.tally.thumbprint)
  await store.close()
  const icl = start([], { SVC_ICL_DATABASE_URL: url })
  await icl.says('A key that the ICL signs with is withdrawn')
  icl.child.kill('SIGTERM')
  expect((await icl.ended()).code).toBe(0)
})

it('an ICL whose key ring cannot be read does not start: its keys may be withdrawn', async () => {
  const url = `sqlite:${join(folder, 'unreadable.db')}`
  const store = await openStore(url)
  const key = 'keyring:generation:2'
  await store.save({ kind: 'key', key, value: '{}', now: 0, expiresAt: 1e15 })
  await store.close()
  const { code, text } = await start([], { SVC_ICL_DATABASE_URL: url }).ended()
  expect(code).toBe(1)
  expect(text).toContain(`The record ${key}`)
})

// It starts a process a dozen times.
it('an ICL on a sqlite file heeds at once what its operator says meanwhile', {
  timeout: 300_000,
}, async () => {
  const icl = start()
  await icl.says('ICL listening')
  const wallet = walletOf('node')
  const key = await signingKeyFromSeed(hexToBytes(keccak256(stringToHex('session'))))
  const node = api({ kind: 'node', address: wallet.address, key })
  const params = { address: wallet.address }
  const poll = () => codeOf(node.getAssignments({ params, query: { wait: 0 } }))
  const attest = async () => {
    const walletApi = api(wallet.signer)
    const { nonce } = await walletApi.getChallenge({ params })
    const notAfter = Math.floor(systemClock.now() / 1000) + 86_400
    const body = await attestationOf('node', nonce, key, notAfter)
    return codeOf(walletApi.verifyAttestation({ body }))
  }

  expect(await attest()).toBeUndefined()
  expect(await poll()).toBeUndefined()
  expect(await admin('revoke', wallet.address)).toMatchObject({ code: 0 })
  expect(await poll()).toBe('certificate-expired')
  expect(await attest()).toBeUndefined()
  expect(await poll()).toBeUndefined()

  expect(await admin('ban', wallet.address, '--reason', 'it lies')).toMatchObject({ code: 0 })
  expect(await poll()).toBe('certificate-expired')
  expect(await attest()).toBe('node-banned')
  expect(await poll()).toBe('certificate-expired')
  expect(await admin('unban', wallet.address)).toMatchObject({ code: 0 })
  expect(await attest()).toBeUndefined()
  expect(await poll()).toBeUndefined()

  const second = await start([], { SVC_ICL_PORT: String(await freePort()) }).ended()
  expect(second.code).toBe(1)
  expect(second.text).toContain(`Another ICL uses ${join(folder, 'icl.db')}`)
  const backup = join(folder, 'backup')
  expect(await admin('backup', backup)).toMatchObject({ code: 0 })
  expect((await admin('audit')).text).toContain(`ban ${wallet.address} --reason "it lies"`)

  icl.child.kill('SIGKILL')
  await icl.ended()
  expect(await admin('restore', backup, '--merge')).toMatchObject({ code: 0 })
  const next = start()
  await next.says('ICL listening')
  expect(await poll()).toBeUndefined()
  next.child.kill('SIGTERM')
  expect((await next.ended()).code).toBe(0)
})

const missing = await whyNoWireServer()

describe('a database that follows the file of an ICL', () => {
  if (missing !== undefined) {
    it.skip(missing, () => {})
    return
  }
  it('is administered by the file, and freed by its operator once the file is lost', {
    timeout: 300_000,
  }, async () => {
    const server = await openWireServer()
    const url = server.freshUrl()
    const withFile = (name: string) => ({
      SVC_ICL_DATABASE_URL: url,
      SVC_ICL_LOCAL_COPY: join(folder, name),
    })
    const adminOf = (name: string, ...args: string[]) =>
      start(['admin', ...args], withFile(name)).ended()
    const first = start([], withFile('first.db'))
    await first.says('The database follows')
    const { address } = walletOf('node')
    expect(await adminOf('first.db', 'ban', address, '--reason', 'x')).toMatchObject({ code: 0 })
    const elsewhere = await adminOf('none.db', 'unban', address)
    expect(elsewhere.text).toMatch(/Another ICL has this database .*first.db/)
    expect((await adminOf('none.db', 'unlock')).text).toContain('uses the database')
    // What the command has saved in the file arrives.
    await systemClock.sleep(3_000)
    first.child.kill('SIGKILL')
    await first.ended()

    const locked = await start([], withFile('second.db')).ended()
    expect(locked.code).not.toBe(0)
    expect(locked.text).toMatch(/Another ICL has this database .*first.db.*admin unlock/s)
    const freed = await adminOf('none.db', 'unlock')
    expect(freed).toMatchObject({ code: 0 })
    expect(freed.text).toContain('first.db has the database no more')

    const second = start([], withFile('second.db'))
    await second.says('The database follows')
    const audit = await adminOf('second.db', 'audit')
    for (const command of ['ban', 'unlock']) expect(audit.text).toContain(command)
    second.child.kill('SIGTERM')
    expect((await second.ended()).code).toBe(0)
    // It has given the database back, and keeps its file.
    expect((await adminOf('none.db', 'unban', address)).text).toMatch(/second.db.*admin unlock/s)
    // Also where the file is.
    expect((await adminOf('second.db', 'unlock')).text).toContain('second.db has the database no')
    expect((await adminOf('none.db', 'unlock')).text).toContain('No ICL has the database alone')
    // The first file has another past.
    const late = await start([], withFile('first.db')).ended()
    expect(late.code).not.toBe(0)
    expect(late.text).toContain('move the file away')
    await server.close()
  })
})
