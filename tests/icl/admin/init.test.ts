import { mkdtempSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, describe, expect, it } from 'vitest'
import { parseSettings } from '../../../icl/start/settings.ts'
import { adminIn } from './admin-store.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-icl-init-'))
afterAll(() => rmSync(folder, { recursive: true }))

const place = {
  SVC_ICL_PUBLIC_URL: 'https://icl.example',
  SVC_ICL_RPC_URL: 'https://rpc.example/key',
}
const deployment = {
  network: 'sepolia',
  chain_id: 11_155_111,
  contracts: {
    node_registry: `0x${'11'.repeat(20)}`,
    prompt_key_store: `0x${'22'.repeat(20)}`,
    result_registry: `0x${'33'.repeat(20)}`,
  },
  task_manager: `0x${'44'.repeat(20)}`,
  block: 1,
}

/** The settings of a file, read as systemd and Docker do. */
const settingsIn = (file: string): Record<string, string> =>
  Object.fromEntries(
    readFileSync(file, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  )

describe('admin init', () => {
  it('writes a file for its owner only, with which the ICL starts once the contracts are there', async () => {
    const file = join(folder, 'first.env')
    const { code, text } = await adminIn(place, ['init', file, '--mock', '--json'])
    expect(code).toBe(0)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    const given = settingsIn(file)
    expect(given).toMatchObject({
      ...place,
      SVC_ICL_TRUSTED_PROXIES: '1',
      SVC_ICL_DEPLOYMENT: '/etc/svc-icl/deployment.json',
    })
    const settings = parseSettings(given, () => JSON.stringify(deployment))
    expect(settings.SVC_ICL_NODE_REGISTRY).toBe(deployment.contracts.node_registry)
    expect(settings.SVC_ICL_MOCK_ATTESTATION_KEY).toBeDefined()
    const { address } = privateKeyToAccount(settings.SVC_ICL_COORDINATOR_KEY)
    expect(JSON.parse(text)).toEqual({ file, coordinator: address.toLowerCase() })
  })

  it('keeps what is set, makes other secrets each time, and prints none', async () => {
    const file = join(folder, 'second.env')
    const own = { SVC_ICL_METRICS_TOKEN: 'a token of twenty'.replaceAll(' ', '-') }
    const contracts = { SVC_ICL_NODE_REGISTRY: deployment.contracts.node_registry }
    const { text, error } = await adminIn({ ...place, ...own, ...contracts }, ['init', file])
    const given = settingsIn(file)
    expect(given).toMatchObject({ ...own, ...contracts })
    expect(given.SVC_ICL_DEPLOYMENT).toBeUndefined()
    expect(given.SVC_ICL_MOCK_ATTESTATION_KEY).toBeUndefined()
    expect(given.SVC_ICL_SECRET).not.toBe(settingsIn(join(folder, 'first.env')).SVC_ICL_SECRET)
    for (const name of ['SVC_ICL_SECRET', 'SVC_ICL_COORDINATOR_KEY', 'SVC_ICL_METRICS_TOKEN']) {
      expect(`${text}${error}`).not.toContain(given[name])
    }
  })

  it('refuses a file that is there, and leaves it as it is', async () => {
    const file = join(folder, 'first.env')
    const before = readFileSync(file, 'utf8')
    const { code, error } = await adminIn(place, ['init', file])
    expect([code, error]).toEqual([1, expect.stringContaining('is there already')])
    expect(readFileSync(file, 'utf8')).toBe(before)
    const link = join(folder, 'link.env')
    symlinkSync(join(folder, 'not-mounted.env'), link)
    const ofLink = await adminIn(place, ['init', link])
    expect([ofLink.code, ofLink.error]).toEqual([1, expect.stringContaining('is there already')])
  })

  it('says which folder is missing, and what to do', async () => {
    const file = join(folder, 'none', 'icl.env')
    const { code, error } = await adminIn(place, ['init', file])
    expect([code, error]).toEqual([
      1,
      expect.stringMatching(/ENOENT.*none\/icl\.env'\nhint: .*folder/),
    ])
  })

  it('names every setting that is missing, misspelt, wrong, or read in different ways', async () => {
    const wrong = {
      SVC_ICL_RPC_URL: 'rpc.example',
      SVC_ICL_REPLICA: '2',
      SVC_ICL_DATABASE_URL: 'mongodb://svc:pa$$word@db/svc',
      SVC_ICL_ENDPOINT: 'https://another.example',
    }
    const { code, error } = await adminIn(wrong, ['init', join(folder, 'third.env')])
    expect(code).toBe(1)
    for (const said of [
      'SVC_ICL_PUBLIC_URL is missing',
      'SVC_ICL_RPC_URL must be an http or https URL',
      'SVC_ICL_REPLICA is not a setting',
      'SVC_ICL_DATABASE_URL has',
    ]) {
      expect(error).toContain(said)
    }
    expect(error).not.toContain('pa$$word')
    expect(error).not.toContain('ENDPOINT')
  })
})
