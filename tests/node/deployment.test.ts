import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { formatDeployment } from '../../lib/deployment.ts'
import { loadConfig } from '../../node/config-file.ts'
import { anAddress } from '../branded.ts'
import { codeOf } from '../code-of.ts'

const address = (byte: string) => `0x${byte.repeat(20)}` as const
const coprocessor = {
  cofhe_url: 'https://keys.example',
  verifier_url: 'https://verifier.example',
  threshold_network_url: 'https://threshold.example',
}

const folder = await mkdtemp(join(tmpdir(), 'svc-deployment-'))
const file = {
  attestation_backend: 'mock',
  icl_endpoint: 'https://icl.example',
  cofhe_endpoint: 'https://rpc.example',
  supported_model_ids: ['openai:gpt-4.1-mini'],
}
await writeFile(join(folder, 'config.json'), JSON.stringify(file))
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
  coprocessor,
})
await writeFile(join(folder, 'sepolia.json'), text)
afterAll(() => rm(folder, { recursive: true }))

const load = async (environment: Record<string, string> = {}) =>
  (await loadConfig({ SVC_CONFIG_PATH: join(folder, 'config.json'), ...environment }, () => {}))
    .config

describe('an address file that the configuration names', () => {
  it('lies beside the configuration, and says where the coprocessor is', async () => {
    const config = await load({ SVC_DEPLOYMENT: 'sepolia.json' })
    expect(config).toMatchObject({
      deployment: join(folder, 'sepolia.json'),
      cofhe_urls: coprocessor,
    })
    expect((await load()).cofhe_urls).toBeUndefined()
  })

  it('says less than the configuration itself', async () => {
    const own = { SVC_DEPLOYMENT: 'sepolia.json', SVC_COFHE_URLS: 'https://mine.example' }
    expect((await load(own)).cofhe_urls?.cofhe_url).toBe('https://mine.example')
  })

  it('has to be there, and to be one', async () => {
    expect(await codeOf(load({ SVC_DEPLOYMENT: 'none.json' }))).toBe('deployment-unreadable')
    expect(await codeOf(load({ SVC_DEPLOYMENT: 'config.json' }))).toBe('deployment-invalid')
  })
})
