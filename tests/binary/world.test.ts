import { randomUUID } from 'node:crypto'
import { readFile, readlink } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ask } from '../../demo/ask.ts'
import { freePort } from '../../demo/free-port.ts'
import { startWorld, type World } from '../../demo/world.ts'
import { type ProviderServer, startProviderServer } from '../e2e/provider-server.ts'
import { eventually } from '../eventually.ts'
import { builtBinary } from './executable.ts'

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
