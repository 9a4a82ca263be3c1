import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readFileText } from '../../icl/start/machine.ts'
import { parseSettings, settingsWarnings } from '../../icl/start/settings.ts'
import { formatDeployment } from '../../lib/deployment.ts'
import type { SvcError } from '../../lib/svc-error.ts'
import { anAddress } from '../branded.ts'
import { fileFolder } from '../test-folder.ts'

const address = (byte: string) => `0x${byte.repeat(20)}` as const
const good = {
  SVC_ICL_PUBLIC_URL: 'https://icl.example.org',
  SVC_ICL_SECRET: 'ab'.repeat(32),
  SVC_ICL_RPC_URL: 'http://127.0.0.1:8545',
  SVC_ICL_COORDINATOR_KEY: `0x${'11'.repeat(32)}`,
  SVC_ICL_METRICS_TOKEN: 'a token of some length',
  SVC_ICL_TRUSTED_PROXIES: '1',
}

const folder = fileFolder()
const file = join(folder, 'sepolia.json')
const text = formatDeployment({
  network: 'sepolia',
  chain_id: 11_155_111,
  contracts: {
    node_registry: anAddress(address('a1')),
    prompt_key_store: anAddress(address('a2')),
    result_registry: anAddress(address('a3')),
  },
  task_manager: anAddress(address('a4')),
  block: 7,
  coprocessor: {
    cofhe_url: 'https://keys.example',
    verifier_url: 'https://verifier.example',
    threshold_network_url: 'https://threshold.example',
  },
})
await writeFile(file, text)

const parse = (changes: Record<string, string> = {}) =>
  parseSettings({ ...good, SVC_ICL_DEPLOYMENT: file, ...changes }, readFileText)
const refusal = (changes: Record<string, string>): readonly string[] => {
  try {
    parse(changes)
  } catch (error) {
    return [(error as SvcError).code, (error as SvcError).message]
  }
  return []
}

describe('an address file in the settings of the ICL', () => {
  it('gives the chain id and the contracts', () => {
    expect(parse()).toMatchObject({
      SVC_ICL_CHAIN_ID: 11_155_111,
      SVC_ICL_NODE_REGISTRY: address('a1'),
      SVC_ICL_PROMPT_KEY_STORE: address('a2'),
      SVC_ICL_RESULT_REGISTRY: address('a3'),
    })
    expect(parse().SVC_ICL_COFHE_URLS?.verifier_url).toBe('https://verifier.example')
    const own = { SVC_ICL_COFHE_URLS: 'https://mine.example' }
    expect(parse(own).SVC_ICL_COFHE_URLS?.verifier_url).toBe('https://mine.example')
    const environment = { ...good, SVC_ICL_DEPLOYMENT: file }
    expect(settingsWarnings(parse(), environment)).toEqual([])
  })

  it('may be repeated by settings, in any case, and not contradicted', () => {
    const same = { SVC_ICL_CHAIN_ID: '11155111', SVC_ICL_NODE_REGISTRY: address('A1') }
    expect(parse(same).SVC_ICL_NODE_REGISTRY).toBe(address('a1'))
    const [code, message] = refusal({
      SVC_ICL_CHAIN_ID: '1',
      SVC_ICL_RESULT_REGISTRY: address('ee'),
    })
    expect(code).toBe('settings-invalid')
    expect(message).toContain(`SVC_ICL_CHAIN_ID is 1, and SVC_ICL_DEPLOYMENT (${file}) says 11155`)
    expect(message).toContain(`SVC_ICL_RESULT_REGISTRY is ${address('ee')}`)
    expect(message).toContain(address('a3'))
    expect(message).not.toContain('SVC_ICL_NODE_REGISTRY')
  })

  it('is refused when it is missing, no address file, or there are no files', async () => {
    const missing = join(folder, 'none.json')
    expect(refusal({ SVC_ICL_DEPLOYMENT: missing })).toEqual([
      'settings-invalid',
      expect.stringMatching(/SVC_ICL_DEPLOYMENT cannot be read: .*none\.json/),
    ])
    const wrong = join(folder, 'wrong.json')
    await writeFile(wrong, '{"network": "sepolia"}')
    expect(refusal({ SVC_ICL_DEPLOYMENT: wrong })).toEqual([
      'deployment-invalid',
      expect.stringContaining(wrong),
    ])
    expect(() => parseSettings({ ...good, SVC_ICL_DEPLOYMENT: file })).toThrow('no files here')
  })
})

it('the secret and the key of the coordinator may each be in a file, and never in two places', async () => {
  const { SVC_ICL_SECRET: secret, SVC_ICL_COORDINATOR_KEY: key, ...rest } = good
  const named = {
    ...{ ...rest, SVC_ICL_DEPLOYMENT: file },
    SVC_ICL_SECRET_FILE: join(folder, 'secret'),
    SVC_ICL_COORDINATOR_KEY_FILE: join(folder, 'key'),
  }
  await writeFile(named.SVC_ICL_SECRET_FILE, `${secret}\r\n`)
  await writeFile(named.SVC_ICL_COORDINATOR_KEY_FILE, `${key}\n`)
  const settings = parseSettings(named, readFileText)
  expect(settings.SVC_ICL_SECRET).toEqual(new Uint8Array(32).fill(0xab))
  expect(settings.SVC_ICL_COORDINATOR_KEY).toBe(key)
  expect(settingsWarnings(settings, named)).toEqual([])
  const refusalOf = (more: Record<string, string>) => {
    try {
      return parseSettings({ ...named, ...more }, readFileText)
    } catch (error) {
      return String(error)
    }
  }
  expect(refusalOf({ SVC_ICL_SECRET: secret })).toContain(
    'SVC_ICL_SECRET and SVC_ICL_SECRET_FILE are both set',
  )
  expect(refusalOf({ SVC_ICL_SECRET_FILE: join(folder, 'none') })).toContain(
    'SVC_ICL_SECRET_FILE cannot be read',
  )
  await writeFile(named.SVC_ICL_COORDINATOR_KEY_FILE, '0xmistyped')
  expect(refusalOf({})).toMatch(/^(?=.*SVC_ICL_COORDINATOR_KEY must be)(?!.*mistyped)/s)
})
