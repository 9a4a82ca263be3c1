import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readFile, readlink } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ask } from '../../demo/ask.ts'
import { freePort } from '../../demo/free-port.ts'
import { startWorld, type World } from '../../demo/world.ts'
import { type ProviderServer, startProviderServer } from '../e2e/provider-server.ts'
import { inEmptyFolder } from '../empty-folder.ts'
import { eventually } from '../eventually.ts'
import { builtBinary, runBare } from './executable.ts'

const model = 'openai:gpt-4o-mini'
const token = `token ${randomUUID()}`
// Either would make another program of the executable.
const poison = { BUN_BE_BUN: '1', BUN_OPTIONS: '--preload ./nowhere.ts' }

let binary = ''
let world: World
let provider: ProviderServer
let metricsPort = 0

beforeAll(async () => {
  binary = await builtBinary()
  provider = await startProviderServer(() => token)
  metricsPort = await freePort()
  Object.assign(process.env, poison)
  world = await startWorld({
    models: [model],
    nodeBinary: binary,
    providerEnv: (index) => ({
      OPENAI_API_KEY: `key-${index}`,
      SVC_OPENAI_BASE_URL: provider.openaiUrl,
      ...(index === 0 && { SVC_METRICS: `${metricsPort}` }),
    }),
  })
}, 300_000)

afterAll(async () => {
  for (const name of Object.keys(poison)) delete process.env[name]
  await world?.stop()
  await provider.stop()
})

describe('three executables as the nodes of a job', () => {
  it('answer it and agree', async () => {
    const result = await ask(world, { prompt: `Which token, ${randomUUID()}?`, model })
    expect(result).toMatchObject({ status: 'accepted', output: token })
    expect(result.verdicts.map(({ verdict }) => verdict)).toEqual(['match', 'match'])
    expect(provider.calls.length).toBe(3)
  })

  it('serve metrics of the job that they ended at the address of --metrics, and nothing secret', async () => {
    const read = async () => await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
    const text = await eventually('a job in the metrics', async () => {
      const told = await read()
      return /^svc_node_jobs_total\{.*\} 1$/m.test(told) ? told : undefined
    })
    expect(text).toMatch(/^svc_node_provider_call_seconds_count\{provider="openai",end="ok"\} 1$/m)
    expect(text).toMatch(/^svc_node_reputation_score \d+$/m)
    for (const secret of [token, 'key-0', world.nodes[0]?.privateKey, world.mockAttestationKey])
      expect(text).not.toContain(secret)
  })

  it.skipIf(process.platform !== 'linux')(
    'are the file that was built, in an environment without what would change it',
    async () => {
      for (const { process: node } of world.nodes) {
        expect(await readlink(`/proc/${node.pid}/exe`)).toBe(binary)
        const environment = await readFile(`/proc/${node.pid}/environ`, 'utf8')
        expect(environment).toContain('SVC_ICL_ENDPOINT=')
        expect(environment).not.toContain('BUN_')
      }
    },
  )
})

it('init, attest --mock and run in an empty folder lead to an accepted job', async () => {
  await inEmptyFolder(async (folder) => {
    const env = {
      HOME: folder,
      SVC_KEY_PASSWORD: 'a password of its own',
      OPENAI_API_KEY: 'key-9',
      SVC_OPENAI_BASE_URL: provider.openaiUrl,
    }
    const places = ['--icl-endpoint', world.icl.url, '--cofhe-endpoint', world.chain.rpcUrl]
    const init = ['init', ...places, '--models', model, '--scrypt-n', '4096'] as const
    const funded = { ...env, SVC_IMPORT_PRIVATE_KEY: world.chain.spare[0]?.privateKey ?? '' }
    const made = await runBare([binary, ...init], folder, funded)
    expect(made).toMatchObject({ code: 0, stdout: expect.stringContaining('run registers it') })
    expect(await runBare([binary, 'attest', '--mock'], folder, env)).toMatchObject({ code: 0 })
    const debugging = { ...env, SVC_LOG_LEVEL: 'DEBUG' }
    const node = spawn(binary, ['run'], { cwd: folder, env: debugging })
    try {
      let log = ''
      node.stdout.on('data', (chunk) => {
        log += chunk
      })
      const logs = (text: string) => eventually(text, () => log.includes(text))
      await logs('Done: register for tier 0 with a stake of 1 ETH')
      await logs('The ICL considers this node for jobs')
      // A quorum of three needs it once one of the others has left.
      process.kill(world.nodes[0]?.process.pid ?? 0)
      await world.nodes[0]?.process.exited
      const result = await ask(world, { prompt: `Which token, ${randomUUID()}?`, model })
      expect(result).toMatchObject({ status: 'accepted', output: token })
      await logs('over: the job is accepted')
      expect(log).toContain('GET /internal/attestation/mock-key -> 200 [secret, ')
      expect(log).not.toContain(world.mockAttestationKey)
    } finally {
      node.kill()
    }
  })
}, 200_000)
