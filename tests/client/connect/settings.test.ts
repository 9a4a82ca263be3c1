import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { readClientKey } from '../../../client/connect/client-key.ts'
import { connectClient } from '../../../client/connect/connect-client.ts'
import { type ClientSettings, parseClientSettings } from '../../../client/connect/settings.ts'
import { minScryptN, writeKeystore } from '../../../lib/host/keystore.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { systemClock, systemRandom } from '../../../lib/system.ts'

const key = `0x${'1a'.repeat(32)}` as const
const needed = {
  SVC_ICL_ENDPOINT: 'https://icl.example/',
  SVC_RPC_URL: 'https://rpc.example',
  SVC_CLIENT_KEY_FILE: 'client.key',
}

const folder = await mkdtemp(join(tmpdir(), 'svc-client-key-'))
afterAll(() => rm(folder, { recursive: true, force: true }))

const errorOf = async (work: () => unknown): Promise<SvcError> => {
  try {
    await work()
  } catch (error) {
    if (error instanceof SvcError) return error
    throw error
  }
  throw new Error('It did not fail')
}

async function keyFile(text: string, mode = 0o600): Promise<ClientSettings> {
  const path = join(folder, `${crypto.randomUUID()}.key`)
  await writeFile(path, text)
  await chmod(path, mode)
  return { ...parseClientSettings(needed), SVC_CLIENT_KEY_FILE: path }
}

const codeOf = async (settings: ClientSettings) =>
  (await errorOf(() => readClientKey(settings, () => {}))).code

describe('the settings of a client', () => {
  it('are read from the environment, empty ones as if left out', () => {
    const settings = parseClientSettings({
      ...needed,
      SVC_DEPLOYMENT: '',
      SVC_COFHE_URLS: 'https://cofhe.example',
      SVC_IPFS_GATEWAY: 'https://one.example, https://two.example/',
      UNRELATED: 'x',
    })
    expect(settings.SVC_ICL_ENDPOINT).toBe('https://icl.example')
    expect(settings.SVC_DEPLOYMENT).toBe(undefined)
    expect(settings.SVC_COFHE_URLS?.verifier_url).toBe('https://cofhe.example')
    expect(settings.SVC_IPFS_GATEWAY).toEqual(['https://one.example', 'https://two.example'])
  })

  it('may end in white space, except a password', () => {
    const settings = parseClientSettings({
      ...needed,
      SVC_CLIENT_KEY_FILE: 'client.key\r',
      SVC_KEY_PASSWORD: ' secret ',
    })
    expect(settings.SVC_CLIENT_KEY_FILE).toBe('client.key')
    expect(settings.SVC_KEY_PASSWORD).toBe(' secret ')
  })

  it('refuse plain http to an ICL or RPC in a public network', async () => {
    const { message } = await errorOf(() =>
      parseClientSettings({
        SVC_ICL_ENDPOINT: 'http://icl.example',
        SVC_RPC_URL: 'http://203.0.113.7:8545',
        SVC_CLIENT_KEY_FILE: 'key.json',
      }),
    )
    expect(message).toContain('SVC_ICL_ENDPOINT: must be https')
    expect(message).toContain('SVC_RPC_URL: must be https')
  })

  it('tell every mistake at once', async () => {
    const { message, hint } = await errorOf(() =>
      parseClientSettings({
        SVC_RPC_URL: 'ftp://x',
        SVC_COFHE_URLS: 'a,b',
        SVC_CLIENT_KEY_FILE: '',
      }),
    )
    expect(message).toContain('SVC_ICL_ENDPOINT: is missing')
    expect(message).toContain('SVC_CLIENT_KEY_FILE: is missing')
    expect(message).toContain('SVC_RPC_URL: must be an address')
    expect(message).toContain('SVC_COFHE_URLS: must be one address')
    expect(hint).toContain('demo -- --keep')
  })
})

describe("a client's key file", () => {
  it('holds hex, with 0x or without', async () => {
    for (const text of [key, `${key.slice(2).toUpperCase()}\n`]) {
      expect(await readClientKey(await keyFile(text), () => {})).toBe(key)
    }
  })

  it('holds a keystore with a password', async () => {
    const path = join(folder, 'keystore.json')
    const wallet = { privateKey: key, password: 'correct horse', scryptN: minScryptN }
    await writeKeystore(path, wallet, systemRandom)
    const settings = { ...parseClientSettings(needed), SVC_CLIENT_KEY_FILE: path }
    expect(await codeOf(settings)).toBe('password-missing')
    expect(await codeOf({ ...settings, SVC_KEY_PASSWORD: 'wrong' })).toBe('keystore-password-wrong')
    const opened = await readClientKey({ ...settings, SVC_KEY_PASSWORD: 'correct horse' }, () => {})
    expect(opened).toBe(key)
  })

  it('is refused when others may read it, and when it holds something else', async () => {
    expect(await codeOf(await keyFile('not a key'))).toBe('client-key-invalid')
    // What is no key may be nearly one: it is not shown.
    const large = await errorOf(async () => readClientKey(await keyFile('f'.repeat(64)), () => {}))
    expect([large.code, large.message.includes('1157920892373')]).toEqual([
      'client-key-invalid',
      false,
    ])
    expect(await codeOf(await keyFile('f'.repeat(270_000)))).toBe('client-key-unreadable')
    expect(await codeOf(parseClientSettings(needed))).toBe('client-key-unreadable')
    // Its mode is not to be changed.
    const ofFolder = { ...parseClientSettings(needed), SVC_CLIENT_KEY_FILE: tmpdir() }
    expect(await codeOf(ofFolder)).toBe('client-key-unreadable')
    if (process.platform === 'win32') return
    const exposed = await errorOf(async () => readClientKey(await keyFile(key, 0o644), () => {}))
    expect(exposed.code).toBe('client-key-exposed')
    expect(exposed.hint).toContain('chmod 600 ')
    expect(exposed.message).not.toContain(key.slice(2))
  })
})

it('connecting says which address file cannot be read, and warns when there is none', async () => {
  const warnings: string[] = []
  const options = {
    clock: systemClock,
    random: systemRandom,
    warn: (line: string) => warnings.push(line),
    fetch: async () => Response.json({}, { status: 404 }),
  }
  const settings = await keyFile(key)
  const missing = { ...settings, SVC_DEPLOYMENT: join(folder, 'nowhere.json') }
  expect((await errorOf(() => connectClient(missing, options))).code).toBe('deployment-unreadable')
  expect(warnings).toEqual([])
  expect((await errorOf(() => connectClient(settings, options))).code).toBe('icl-unexpected-answer')
  expect(warnings).toEqual([expect.stringContaining('SVC_DEPLOYMENT is not set')])
})
