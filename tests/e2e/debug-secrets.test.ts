import { randomUUID } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Hex, hexToBytes, toHex } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { LocalNode } from '../../demo/node-process.ts'
import { startWorld, type World } from '../../demo/world.ts'
import { createClient } from '../../lib/client/client.ts'
import { createCofheCoprocessor } from '../../lib/coprocessor/cofhe.ts'
import { systemClock } from '../../lib/system.ts'
import { builtBinary } from '../binary/executable.ts'
import { findLeaks, type Place, type Secret } from './leak-search.ts'
import { type ProviderServer, startProviderServer } from './provider-server.ts'

const model = 'openai:gpt-4o-mini'
const refusingModel = 'anthropic:claude-sonnet-5-5'
const prompt = `The violet ferry leaves at ${randomUUID()}`
const output = `token ${randomUUID()}`

const secrets: Secret[] = []
const logs: Place[] = []
const files: Place[] = []
let world: World
let provider: ProviderServer
let repeated = 0
let gossip: Bun.Server<undefined>

const text = (name: string, value: string): void => {
  secrets.push({ name, bytes: Buffer.from(value) })
}

/** A number is looked for as bytes, in hex and the like, and in decimal. */
const number = (name: string, hex: Hex): void => {
  secrets.push({ name, bytes: hexToBytes(hex) })
  text(`${name} in decimal`, String(BigInt(hex)))
}

/** All that a node must keep to itself from the day it is made; its session key is known to its process alone. */
function keepSecretsOf({ name, env, privateKey }: LocalNode): void {
  number(`wallet key of ${name}`, privateKey)
  const { SVC_MOCK_ATTESTATION_KEY = '' } = env
  text('mock attestation key', SVC_MOCK_ATTESTATION_KEY)
  number('mock attestation key as bytes', `0x${SVC_MOCK_ATTESTATION_KEY}`)
  const { SVC_KEY_PASSWORD = '', OPENAI_API_KEY = '', ANTHROPIC_API_KEY = '' } = env
  text(`password of ${name}`, SVC_KEY_PASSWORD)
  text(`OpenAI key of ${name}`, OPENAI_API_KEY)
  text(`Anthropic key of ${name}`, ANTHROPIC_API_KEY)
}

/** Runs the main job and one that every provider refuses, as a client whose secrets this test gets to know. */
async function runJobs(): Promise<void> {
  const { rpcUrl, chainId, client: account } = world.chain
  const coprocessor = createCofheCoprocessor({ rpcUrl, chainId, account, clock: systemClock })
  const client = await createClient({
    icl: world.icl.url,
    rpcUrl,
    account,
    coprocessor: {
      encrypt: (high, low, options) => {
        number('high half of the prompt key', toHex(high, { size: 16 }))
        number('low half of the prompt key', toHex(low, { size: 16 }))
        return coprocessor.encrypt(high, low, options)
      },
      decrypt: async (handle, options) => {
        const half = await coprocessor.decrypt(handle, options)
        number('half of the output key', toHex(half, { size: 16 }))
        return half
      },
    },
    fetch: async (request) => {
      const response = await fetch(request)
      if (request.method === 'POST' && new URL(request.url).pathname === '/v1/inference') {
        const { read_token } = (await response.clone().json()) as { read_token: string }
        text('read token', read_token)
      }
      return response
    },
  })
  const accepted = await client.infer(prompt, { model })
  expect(accepted).toMatchObject({ status: 'accepted', output })
  const refused = client.infer(prompt, { model: refusingModel, giveUpWhenStuckMs: 1_500 })
  await expect(refused).rejects.toMatchObject({ code: 'provider-key-refused' })
}

const filesIn = async (folder: string): Promise<Place[]> => {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
  return await Promise.all(paths.map(async (name) => ({ name, bytes: await readFile(name) })))
}

beforeAll(async () => {
  provider = await startProviderServer(() => output)
  // The client gives up soon after the first refusal: none is given before all have asked.
  const allHaveAsked = Promise.withResolvers<void>()
  // Some providers repeat the key that they refuse.
  gossip = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    fetch: async (request) => {
      const { headers } = request
      if (request.method === 'GET') return Response.json({ data: [] })
      const message = `no such key: ${headers.get('authorization')}`
      if (world.nodes.some(({ env }) => message.endsWith(` ${env.ANTHROPIC_API_KEY}`)))
        repeated += 1
      if (repeated === world.nodes.length) allHaveAsked.resolve()
      await allHaveAsked.promise
      const error = { type: 'authentication_error', message }
      return Response.json({ type: 'error', error }, { status: 401 })
    },
  })
  world = await startWorld({
    nodeBinary: await builtBinary(),
    models: [model, refusingModel],
    providerEnv: () => ({
      SVC_LOG_LEVEL: 'DEBUG',
      OPENAI_API_KEY: `sk-${randomUUID()}`,
      ANTHROPIC_API_KEY: `sk-ant-${randomUUID()}`,
      SVC_OPENAI_BASE_URL: provider.openaiUrl,
      SVC_ANTHROPIC_BASE_URL: gossip.url.origin,
    }),
  })
  for (const node of world.nodes) keepSecretsOf(node)
  await runJobs()
  for (const { name, folder, process } of world.nodes) {
    process.kill('SIGTERM')
    await process.exited
    logs.push({ name: `the log of ${name}`, bytes: await readFile(process.logFile) })
    files.push(...(await filesIn(folder)))
  }
}, 240_000)

afterAll(async () => {
  await world?.stop()
  await provider.stop()
  await gossip.stop(true)
})

describe('nodes that log at DEBUG', () => {
  it('write prompts and answers, as that level is for: the right places are searched', () => {
    const shown = [
      { name: 'prompt', bytes: Buffer.from(prompt) },
      { name: 'output', bytes: Buffer.from(output) },
    ]
    expect(findLeaks(logs, shown).length).toBe(6)
    const all = Buffer.concat(logs.map(({ bytes }) => Buffer.from(bytes))).toString()
    expect(all).toMatch(/storeKey: transaction 0x[0-9a-f]{64}, gas used [1-9]/)
    expect(all).toMatch(/POST http:\S+\/chat\/completions -> 200 \{/)
    // The refusal repeats the key, so that leaving it out is the node's doing.
    expect(repeated).toBeGreaterThanOrEqual(world.nodes.length)
    for (const { bytes } of logs) {
      expect(Buffer.from(bytes).toString()).toContain('no such key')
      expect(Buffer.from(bytes).toString()).toContain('POST /internal/task/commit')
      for (const shown of [
        'Permit for decryptions made',
        'decrypted handle',
        'Chain RPC eth_call [secret, ',
        'Chain RPC eth_call -> 200 {',
      ]) {
        expect(Buffer.from(bytes).toString()).toContain(shown)
      }
    }
  })

  it('write no key, half, password, API key or token', () => {
    const names = new Set(secrets.map(({ name }) => name))
    for (const name of ['high half of the prompt key', 'half of the output key', 'read token']) {
      expect(names.has(name)).toBe(true)
    }
    for (const { name, bytes } of secrets) {
      expect({ name, isLong: bytes.length >= 16 }).toEqual({ name, isLong: true })
    }
    expect(findLeaks([...logs, ...files], secrets)).toEqual([])
  })

  it('would be caught if one did', () => {
    for (const secret of secrets) {
      const hex = Buffer.from(secret.bytes).toString('hex')
      const isText = /decimal|password|OpenAI|Anthropic|token|attestation key$/.test(secret.name)
      const written = isText ? Buffer.from(secret.bytes).toString() : hex
      const line = `[2026-01-01T00:00:00] [DEBUG] [0x0000...0000] planted ${written}\n`
      const planted = { name: 'log', bytes: Buffer.concat([logs[0]!.bytes, Buffer.from(line)]) }
      expect(findLeaks([planted], [secret])).toEqual([`${secret.name} in log`])
    }
  })
})
