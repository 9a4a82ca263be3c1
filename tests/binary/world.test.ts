import { randomUUID } from 'node:crypto'
import { readFile, readlink } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ask } from '../../demo/ask.ts'
import { startWorld, type World } from '../../demo/world.ts'
import { type ProviderServer, startProviderServer } from '../e2e/provider-server.ts'
import { builtBinary } from './executable.ts'

const model = 'openai:gpt-4o-mini'
const token = `token ${randomUUID()}`
// Either would make another program of the executable.
const poison = { BUN_BE_BUN: '1', BUN_OPTIONS: '--preload ./nowhere.ts' }

let binary = ''
let world: World
let provider: ProviderServer

beforeAll(async () => {
  binary = await builtBinary()
  provider = await startProviderServer(() => token)
  Object.assign(process.env, poison)
  world = await startWorld({
    models: [model],
    nodeBinary: binary,
    providerEnv: (index) => ({
      OPENAI_API_KEY: `key-${index}`,
      SVC_OPENAI_BASE_URL: provider.openaiUrl,
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
