import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ask } from '../../demo/ask.ts'
import { startWorld, type World } from '../../demo/world.ts'
import { killFirstProof } from '../e2e/kill-proof.ts'
import { type ProviderServer, startProviderServer } from '../e2e/provider-server.ts'
import { builtBinary } from './executable.ts'

const model = 'openai:gpt-4o-mini'
// A list of two values, encrypted and proven.
const proofBytes = 19_194
// The first start of a machine makes keys; two proofs follow, each 10 s on an idle core.
const patienceMs = 20 * 60_000

describe('a job behind real ciphertexts, with executables as the nodes', () => {
  const token = `token ${randomUUID()}`
  let provider: ProviderServer
  let world: World

  beforeAll(async () => {
    const nodeBinary = await builtBinary()
    provider = await startProviderServer(() => token)
    world = await startWorld({
      models: [model],
      fhe: 'real',
      nodeBinary,
      providerEnv: (index) => ({
        OPENAI_API_KEY: `key-${index}`,
        SVC_OPENAI_BASE_URL: provider.openaiUrl,
      }),
    })
  }, patienceMs)
  afterAll(async () => {
    await world?.stop()
    await provider.stop()
  })

  it.skipIf(process.platform === 'win32')(
    "is answered although a node's proof process is killed in the middle",
    async () => {
      const asked = ask(world, { prompt: `Which token, ${randomUUID()}?`, model })
      const hit = await killFirstProof(world.nodes, asked)
      const result = await asked
      expect(result).toMatchObject({
        status: 'accepted',
        output: token,
        proof: { bytes: proofBytes },
      })
      expect(result.verdicts.map(({ verdict }) => verdict)).toEqual(['match', 'match'])
      const log = await readFile(hit?.process.logFile ?? '', 'utf8')
      expect(log).toMatch(/WARNING.*starting it again/)
    },
    patienceMs,
  )
})
