import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { accessOf } from '../../icl/start/access.ts'
import { readFileText } from '../../icl/start/machine.ts'
import {
  describeSettings,
  parseSettings,
  Settings,
  settingsWarnings,
} from '../../icl/start/settings.ts'
import type { SvcError } from '../../lib/svc-error.ts'
import { sampleSettings } from '../sample-settings.ts'
import { testFolder } from '../test-folder.ts'

const address = `0x${'A1'.repeat(20)}`
const good = {
  ...sampleSettings,
  SVC_ICL_NODE_REGISTRY: address,
  SVC_ICL_PUBLIC_URL: 'https://icl.example.org',
  SVC_ICL_RPC_URL: 'http://127.0.0.1:8545',
}

const mistakesIn = (environment: Record<string, string>): string => {
  try {
    parseSettings(environment)
    return ''
  } catch (error) {
    return (error as SvcError).message
  }
}

describe('the settings of the ICL', () => {
  it('have defaults for all that is not particular to a deployment', () => {
    const settings = parseSettings({ ...good, UNRELATED: 'x', SVC_ICL_PORT: '' })
    expect(settings).toMatchObject({
      SVC_ICL_PORT: 8080,
      SVC_ICL_DATABASE_URL: 'sqlite:icl.db',
      SVC_ICL_NODE_REGISTRY: address.toLowerCase(),
    })
    expect(settings.SVC_ICL_MOCK_ATTESTATION_KEY).toBeUndefined()
    expect(settings.SVC_ICL_SECRET).toHaveLength(32)
  })

  it('are the same with white space at their ends, as a file with CRLF leaves it', () => {
    const ended = Object.fromEntries(
      Object.entries(good).map(([name, text]) => [name, `${text}\r`]),
    )
    const more = { SVC_ICL_WEBHOOKS: 'on ', SVC_ICL_RATE_NODE: '\toff', SVC_ICL_LOG_LEVEL: ' \r' }
    expect(parseSettings({ ...ended, ...more })).toEqual(
      parseSettings({ ...good, SVC_ICL_WEBHOOKS: 'on', SVC_ICL_RATE_NODE: 'off' }),
    )
  })

  it('are refused in the words of an operator', () => {
    const text = mistakesIn({ ...good, SVC_ICL_PORT: 'abc', SVC_ICL_CONSOLE: 'x' })
    expect(text).toContain('SVC_ICL_PORT must be a whole number from 1 to 65535')
    expect(text).toContain('SVC_ICL_CONSOLE must be one of: public, token, off')
  })

  it('are refused by the name of the whole setting when a part of it is wrong', () => {
    const text = mistakesIn({
      ...good,
      SVC_ICL_TIERS: 'tpm=300',
      SVC_ICL_BLOBS: 'kubo:http://u:p@127.0.0.1:1',
      SVC_ICL_COFHE_URLS: 'x',
    })
    expect(text.match(/SVC_ICL_\w+ (?!is missing)/g)).toEqual(
      expect.arrayContaining(['SVC_ICL_TIERS ', 'SVC_ICL_BLOBS ', 'SVC_ICL_COFHE_URLS ']),
    )
    expect(text).not.toContain('is missing')
  })

  it('take origins of pages as browsers write them', () => {
    const origins = (text: string) =>
      parseSettings({ ...good, SVC_ICL_ALLOW_ORIGINS: text }).SVC_ICL_ALLOW_ORIGINS
    expect(origins('*')).toBe('*')
    expect(origins('https://App.example:443/, http://127.0.0.1:5173')).toEqual([
      'https://app.example',
      'http://127.0.0.1:5173',
    ])
  })

  it.each([
    ...['https://app.example/path', 'https://app.example?a', 'https://u:p@app.example'],
    ...['app.example', 'https://*.app.example', '*,https://app.example', 'null', 'file:///a'],
    'https://app.example,',
  ])('refuse an origin of pages that no browser would name: %s', (text) => {
    const told = mistakesIn({ ...good, SVC_ICL_ALLOW_ORIGINS: text })
    expect(told).toContain('SVC_ICL_ALLOW_ORIGINS must be *, or origins with commas')
    expect(told.split('\n')).toHaveLength(2)
  })

  it('refuse plain http to an RPC in a public network', () => {
    const rpc = (url: string) => mistakesIn({ ...good, SVC_ICL_RPC_URL: url })
    expect(rpc('http://rpc.example.org')).toContain('SVC_ICL_RPC_URL must be https')
    expect(rpc('http://rpc:8545')).toBe('')
    expect(rpc('https://a.example/1, https://b.example/2')).toBe('')
    expect(rpc('https://a.example,http://b.example')).toContain('SVC_ICL_RPC_URL must be https')
  })

  it('are refused with every mistake at once, by name, and without their values', () => {
    const text = mistakesIn({
      ...good,
      SVC_ICL_SECRET: 'too-short-secret',
      SVC_ICL_COORDINATOR_KEY: 'not-a-key',
      SVC_ICL_PORT: '70000',
      SVC_ICL_PUBLIC_URL: 'https://icl.example.org/path',
      SVC_ICL_CHAIN_ID: '',
    })
    for (const name of [
      'SVC_ICL_SECRET',
      'SVC_ICL_COORDINATOR_KEY',
      'SVC_ICL_PORT',
      'SVC_ICL_PUBLIC_URL',
      'SVC_ICL_CHAIN_ID is missing',
    ]) {
      expect(text).toContain(name)
    }
    expect(text).not.toContain('too-short-secret')
    expect(text).not.toContain('not-a-key')
  })

  it.each([
    '00'.repeat(32),
    'fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141',
    'ff'.repeat(32),
  ])('name a private key that is none, and do not show it: %s', (key) => {
    const text = mistakesIn({ ...good, SVC_ICL_COORDINATOR_KEY: `0x${key}` })
    expect(text).toContain('SVC_ICL_COORDINATOR_KEY must be a private key')
    expect(text).not.toContain(key)
    expect(text).not.toContain(BigInt(`0x${key}`).toString().slice(0, 20))
  })

  it.each([
    'https://icl.example.org/path',
    'https://icl.example.org/?region=eu',
    'https://icl.example.org/#top',
    'https://name:word@icl.example.org',
  ])('refuse an address of which the origin is only a part: %s', (url) => {
    const text = mistakesIn({ ...good, SVC_ICL_PUBLIC_URL: url })
    expect(text).toContain('SVC_ICL_PUBLIC_URL must be scheme, host and port only')
    expect(text).not.toContain('word@')
  })

  it('are refused all the same when an address is none at all', () => {
    const text = mistakesIn({ ...good, SVC_ICL_PUBLIC_URL: 'nonsense', SVC_ICL_PORT: '70000' })
    expect(text).toContain('SVC_ICL_PUBLIC_URL must be an http or https URL')
    expect(text).toContain('SVC_ICL_PORT')
  })

  it('name a database in one of four ways, and never repeat one that is wrong', () => {
    for (const url of [
      'memory:',
      'sqlite:/var/lib/svc/icl.db',
      'mongodb://user:pass@a,b:1/svc?replicaSet=r',
      'mongodb+srv://user:pass@cluster.example/svc',
    ]) {
      expect(parseSettings({ ...good, SVC_ICL_DATABASE_URL: url }).SVC_ICL_DATABASE_URL).toBe(url)
    }
    for (const url of ['postgres://user:hunter2@db', 'sqlite:', 'mongodb:hunter2', 'hunter2']) {
      const text = mistakesIn({ ...good, SVC_ICL_DATABASE_URL: url })
      expect(text).toContain('SVC_ICL_DATABASE_URL')
      expect(text).not.toContain('hunter2')
    }
  })

  it('say how much callers may ask', () => {
    const access = (changes: Record<string, string>) =>
      accessOf(parseSettings({ ...good, ...changes }), readFileText)
    expect(access({}).rates.preview).toEqual({ requests: 300, seconds: 60 })
    const { rates, jobsPerDay } = access({
      SVC_ICL_RATE_NODE: 'off',
      SVC_ICL_RATE_PREVIEW: '5/10',
      SVC_ICL_JOBS_PER_DAY: 'off',
    })
    expect(rates.preview).toEqual({ requests: 5, seconds: 10 })
    expect('node' in rates).toBe(false)
    expect(jobsPerDay).toBeUndefined()
    for (const wrong of ['0/60', '60', '60/0', '-1/60', '60/60/60', 'on']) {
      expect(mistakesIn({ ...good, SVC_ICL_RATE_WALLET: wrong })).toContain('SVC_ICL_RATE_WALLET')
    }
    expect(mistakesIn({ ...good, SVC_ICL_JOBS_PER_DAY: '0' })).toContain('SVC_ICL_JOBS_PER_DAY')
  })

  it('take the clients from addresses or from a file', async () => {
    const clients = (text: string) =>
      accessOf(parseSettings({ ...good, SVC_ICL_CLIENT_ALLOW_LIST: text }), readFileText).clients
    const other = `0x${'b2'.repeat(20)}`
    expect(clients(`${address}, ${other}`)).toEqual(new Set([address.toLowerCase(), other]))
    const folder = testFolder()
    const file = join(folder, 'clients')
    await writeFile(file, `# ours\n${address} # first\n\n${other}\n`)
    expect(clients(file)).toEqual(new Set([address.toLowerCase(), other]))
    await writeFile(file, `${address}\nnobody\n`)
    expect(() => clients(file)).toThrow('entry 2 is not an address')
    expect(() => clients(join(folder, 'missing'))).toThrow('cannot be read')
    expect(() => clients(`${address},0x12`)).toThrow('entry 2 is not an address')
    expect(accessOf(parseSettings(good), readFileText).clients).toBeUndefined()
  })

  it('say who sees the console, and warn when nobody can', () => {
    const consoleOf = (changes: Record<string, string>) =>
      accessOf(parseSettings({ ...good, ...changes }), readFileText).console
    expect(consoleOf({})).toBe('public')
    expect(consoleOf({ SVC_ICL_CONSOLE: 'off' })).toBe('off')
    expect(() => consoleOf({ SVC_ICL_CONSOLE: 'private' })).toThrow('SVC_ICL_CONSOLE')
    const environment = { ...good, SVC_ICL_CONSOLE: 'token' }
    const warnings = (more: Record<string, string>) =>
      settingsWarnings(parseSettings({ ...environment, ...more }), environment).join('\n')
    expect(warnings({})).toContain('nobody sees the console')
    expect(warnings({ SVC_ICL_METRICS_TOKEN: 'sixteen-characters-or-more' })).not.toContain(
      'console',
    )
  })

  it('warn of what works but is probably not meant, without any value', () => {
    const warnings = (changes: Record<string, string>) => {
      const environment = { ...good, ...changes }
      return settingsWarnings(parseSettings(environment), environment).join('\n')
    }
    const careful = {
      SVC_ICL_TRUSTED_PROXIES: '1',
      SVC_ICL_METRICS_TOKEN: 'sixteen-characters-or-more',
    }
    expect(warnings(careful)).toBe('')
    const local = { SVC_ICL_PUBLIC_URL: 'http://127.0.0.1:8080' }
    expect(warnings(local)).toBe('')
    const careless: readonly (readonly [string, string])[] = [
      ['SVC_ICL_PUBLIC_URL', 'http://icl.example.org'],
      ['SVC_ICL_TRUSTED_PROXIES', '0'],
      ['SVC_ICL_METRICS_TOKEN', ''],
      ['SVC_ICL_RPC_URL', 'http://rpc.internal/secret-key'],
      ['SVC_ICL_MOCK_ATTESTATION_KEY', '42'.repeat(16)],
      ['SVC_ICL_PROT', '8081'],
    ]
    for (const [name, value] of careless) {
      const text = warnings({ ...careful, [name]: value })
      expect(text).toMatch(new RegExp(`^${name} [^\\n]+$`))
      if (value.length > 4) expect(text).not.toContain(value)
    }
    const memory = { SVC_ICL_REPLICAS: '2', SVC_ICL_DATABASE_URL: 'memory:' }
    expect(warnings({ ...careful, ...memory })).toContain('each replica has a store of its own')
  })

  it('are all listed for --help', () => {
    const help = describeSettings()
    for (const name of Object.keys(Settings.shape)) expect(help).toContain(name)
    expect(help).toContain('default: 8080')
    expect(help).toContain('default: 60/60')
    expect(help).toContain('default: unset')
    expect(help).toContain('required')
  })
})
