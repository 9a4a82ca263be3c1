import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readCallerKeys } from '../../../client/gateway/caller-keys.ts'
import { options, withKeys } from '../../../client/gateway/options.ts'

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-keys-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const secret = 'sk-the-secret-of-a-caller'

const written = async (content: unknown, mode = 0o600): Promise<string> => {
  const path = join(folder, 'keys.json')
  await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content))
  await chmod(path, mode)
  return path
}

describe('a file of keys', () => {
  it('has named keys', async () => {
    const keys = [
      { name: 'ann', key: secret },
      { name: 'build.server-2', key: 'x'.repeat(512) },
    ]
    expect(await readCallerKeys(await written({ keys }))).toEqual(keys)
  })

  it('may have as many keys as long as they may be', async () => {
    const keys = Array.from({ length: 256 }, (_, at) => ({
      name: `${'n'.repeat(61)}${at}`.slice(-64),
      key: `${'x'.repeat(509)}${100 + at}`,
    }))
    expect(await readCallerKeys(await written({ keys }))).toHaveLength(256)
  })

  it('is refused where others may read it', async () => {
    const path = await written({ keys: [{ name: 'ann', key: secret }] }, 0o640)
    const error = await readCallerKeys(path).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'gateway-keys-exposed', hint: `Run: chmod 600 ${path}` })
  })

  it.each([
    ['no JSON', `{"keys": "${secret}`],
    ['no keys', { keys: [] }],
    [
      'too many keys',
      { keys: Array.from({ length: 257 }, (_, at) => ({ name: `n${at}`, key: `${secret}${at}` })) },
    ],
    ['a short key', { keys: [{ name: 'ann', key: 'secret' }] }],
    ['a key that no header holds', { keys: [{ name: 'ann', key: `${secret}\n` }] }],
    ['a name that no log line holds', { keys: [{ name: 'ann\n', key: secret }] }],
    [
      'a name twice',
      {
        keys: [
          { name: 'ann', key: secret },
          { name: 'ann', key: `${secret}2` },
        ],
      },
    ],
    [
      'a key twice',
      {
        keys: [
          { name: 'ann', key: secret },
          { name: 'bob', key: secret },
        ],
      },
    ],
    ['a key in place of a name', { [secret]: 1, keys: [{ name: 'ann', key: secret }] }],
  ])('is refused for %s, without a word of a key', async (_, content) => {
    const error = await readCallerKeys(await written(content)).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ code: 'gateway-keys-invalid' })
    expect(String(error)).not.toContain('secret')
  })

  it('is refused where the file is missing, or far too large', async () => {
    const none = await readCallerKeys(join(folder, 'none')).catch((thrown: unknown) => thrown)
    expect(none).toMatchObject({ code: 'gateway-keys-unreadable' })
    const large = await written(' '.repeat(270_000))
    const refused = await readCallerKeys(large).catch((thrown: unknown) => thrown)
    expect(refused).toMatchObject({ code: 'gateway-keys-unreadable' })
  })
})

it('an origin is that of a page, an app or an extension', () => {
  const read = (origin: string) => options.parse({ allowOrigin: [origin] })
  for (const origin of ['http://localhost:3000', 'app://obsidian.md', 'chrome-extension://abc']) {
    expect(read(origin)).toMatchObject({ allowOrigin: [origin] })
  }
  for (const other of ['http://localhost:3000/', 'app://obsidian.md/', 'localhost', 'null', '*']) {
    expect(() => read(other)).toThrow('takes an origin')
  }
})

it('another host name is one without a port, and counts where only this machine can call', () => {
  const read = (given: object) => withKeys(options.parse(given), { SVC_GATEWAY_KEY: secret }).hosts
  const own = ['localhost', '127.0.0.1', '[::1]']
  expect(read({})).toEqual(new Set(own))
  expect(read({ allowHost: ['Host.docker.internal', 'svc'], host: '::1' })).toEqual(
    new Set([...own, 'host.docker.internal', 'svc']),
  )
  expect(read({ host: '0.0.0.0', allowHost: ['svc'] })).toBeUndefined()
  for (const other of ['svc:8787', 'http://svc', '*', '']) {
    expect(() => read({ allowHost: [other] })).toThrow('takes a name without a port')
  }
})

it('the settings of keys name one key or a file, which other machines need', () => {
  const read = (given: object, environment: object) =>
    withKeys(options.parse(given), { ...environment })
  const host = { host: '0.0.0.0' }
  expect(() => read(host, {})).toThrow('set SVC_GATEWAY_KEY or SVC_GATEWAY_KEYS_FILE')
  const file = { SVC_GATEWAY_KEYS_FILE: '/a/file' }
  expect(read(host, file)).toMatchObject({ keysFile: '/a/file' })
  expect(read(host, { SVC_GATEWAY_KEY: secret })).toMatchObject({ apiKey: secret })
  expect(() => read({}, { ...file, SVC_GATEWAY_KEY: secret })).toThrow('contradict')
  expect(() => read({}, { SVC_GATEWAY_KEY: 'short' })).toThrow('at least 16')
})
