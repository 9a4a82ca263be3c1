/*
 * The real ICL with the real client, and between them a server that has the ICL's secret: it changes what the ICL says and signs that
 * with the ICL's own keys. So it can do what an ICL can whose operator has changed its program.
 */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { createTestClient, hexToBytes, http } from 'viem'
import { generatePrivateKey, privateKeyToAccount, privateKeyToAddress } from 'viem/accounts'
import { waitForTransactionReceipt, writeContract } from 'viem/actions'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { runInfer } from '../../client/infer/run-infer.ts'
import { clientEnvironment } from '../../demo/client-environment.ts'
import { freePort } from '../../demo/free-port.ts'
import { randomHex } from '../../demo/random-hex.ts'
import { startWorld, type World } from '../../demo/world.ts'
import { deriveSigningKeys } from '../../icl/records/icl-keys.ts'
import { nodeRegistryAbi } from '../../lib/abi/node-registry.ts'
import { createChainWriter } from '../../lib/chain/clients.ts'
import type { Address } from '../../lib/codecs.ts'
import type { Check } from '../../lib/host/checks.ts'
import type { PoolNode } from '../../lib/pool-line.ts'
import { snapshotPool } from '../../lib/pool-snapshot.ts'
import { receiptHash } from '../../lib/receipt.ts'
import { DrawnList, SignedList } from '../../lib/schemas/list.ts'
import { Receipt } from '../../lib/schemas/receipt.ts'
import { AnswerPost } from '../../lib/schemas/statements.ts'
import { type SigningKey, signingKeyFromSeed } from '../../lib/session-key.ts'
import { systemClock, systemRandom } from '../../lib/system.ts'
import { builtBinary } from '../binary/executable.ts'
import { acknowledgedReveal, forged, listFrom, signedList } from './forge.ts'
import { type Draft, listLies, type Means, receiptLies } from './lies.ts'
import { type ProviderServer, startProviderServer } from './provider-server.ts'
import { type Fate, type HttpProxy, startProxy } from './proxy.ts'

const model = 'openai:gpt-4o-mini'
const svcNode = join(import.meta.dirname, '..', '..', 'node', 'main.ts')
const keyOf = (index: number) => `key-of-node-${index + 1}`
const means: { -readonly [K in keyof Means]: Means[K] } = {
  ownNode: privateKeyToAddress(generatePrivateKey()).toLowerCase() as Address,
  earlier: undefined,
}

let world: World
let provider: ProviderServer
let front: HttpProxy
let tallyKey: SigningKey
let environment: Readonly<Record<string, string>>
/** The node that asks its provider first, which says something else to it: its answer is the dissent. */
let dissenter: string | undefined

beforeAll(async () => {
  const secret = randomHex()
  const port = await freePort()
  tallyKey = (await deriveSigningKeys(hexToBytes(`0x${secret.replace(/^0x/, '')}`), 1)).tally
  provider = await startProviderServer(({ key }) => {
    dissenter ??= key
    return key === dissenter ? 'The train leaves in the evening' : 'The ferry leaves at noon'
  })
  front = await startProxy()
  front.target = `http://127.0.0.1:${port}`
  world = await startWorld({
    nodeBinary: await builtBinary(),
    nodes: 4,
    models: [model],
    providerEnv: (index) => ({
      OPENAI_API_KEY: keyOf(index),
      SVC_OPENAI_BASE_URL: provider.openaiUrl,
    }),
    iclEnv: { SVC_ICL_PORT: String(port), SVC_ICL_PUBLIC_URL: front.url, SVC_ICL_SECRET: secret },
  })
  environment = await clientEnvironment(world)
}, 240_000)

afterAll(async () => {
  await world?.stop()
  await provider.stop()
  await front.stop()
})

/** Runs the command; one answer of four differs. */
async function infer(...more: readonly string[]) {
  dissenter = undefined
  let output = ''
  let said = ''
  const exitCode = await runInfer(
    ['--model', model, '--comparator', 'exact', '--json', ...more, 'When does it leave?'],
    {
      environment,
      input: (async function* () {})(),
      output: {
        write: (text: string) => {
          output += text
          return true
        },
      },
      errors: {
        write: (text: string) => {
          said += text
          return true
        },
      },
      clock: systemClock,
      random: systemRandom,
      signal: new AbortController().signal,
    },
  )
  const told = JSON.parse(output) as {
    output: string | null
    error?: { code: string; message: string }
  }
  return { exitCode, told, said }
}

const otherCid = `bafkrei${'d'.repeat(51)}a`

const jobPath = /^\/v1\/inference\/0x[0-9a-f]{64}$/

/** The ICL lies about every list that it is asked for. */
const lyingAboutLists =
  (lie: (body: SignedList['body'], means: Means) => SignedList['body']) =>
  ({ path }: { readonly path: string }): Fate =>
    path === '/v1/inference/list'
      ? {
          change: async ({ reading, ...json }) => ({
            ...(await signedList(tallyKey, lie(SignedList.parse(json).body, means))),
            reading,
          }),
        }
      : 'pass'

/** The ICL lies in every receipt, and names the hash of the false one. */
const lyingInReceipts =
  (lie: (draft: Draft, means: Means) => Draft, signer = tallyKey) =>
  ({ path, authorization = '' }: { path: string; authorization?: string | undefined }): Fate => {
    if (path.endsWith('/receipt')) {
      return {
        change: async (json) =>
          z.encode(Receipt, await forged(signer, json, (draft) => lie(draft, means))),
      }
    }
    if (!jobPath.test(path)) return 'pass'
    return {
      change: async (job) => {
        if (job.status !== 'accepted') return job
        const answer = await fetch(`${front.target}${path}/receipt`, { headers: { authorization } })
        const receipt = await forged(signer, await answer.json(), (draft) => lie(draft, means))
        return { ...job, receipt_hash: await receiptHash(receipt) }
      },
    }
  }

it('an honest ICL has its answer taken, with one of four that differs', async () => {
  let receipt: Receipt | undefined
  let list: SignedList['body'] | undefined
  front.decide = ({ path }) =>
    path.endsWith('/receipt') || path === '/v1/inference/list'
      ? {
          change: (json) => {
            if (path.endsWith('/receipt')) receipt = Receipt.parse(json)
            else list = DrawnList.parse(json).body
            return json
          },
        }
      : 'pass'
  const { exitCode, told } = await infer()
  expect(told.output).toBe('The ferry leaves at noon')
  expect(exitCode).toBe(0)
  if (!receipt || !list) throw new Error('It asked for no receipt or no list')
  means.earlier = { receipt, list }
  expect(receipt.answers).toHaveLength(4)
})

describe('an ICL that lies about the list', () => {
  for (const [what, [code, why, lie]] of Object.entries(listLies)) {
    it(`gets no prompt: ${what}`, async () => {
      front.decide = lyingAboutLists(lie)
      const { exitCode, told } = await infer()
      expect(told.error).toMatchObject({ code, message: expect.stringMatching(why) })
      expect(told.output).toBeNull()
      expect(exitCode).not.toBe(0)
    })
  }
})

describe('an ICL that lies about the nodes', () => {
  /** The ICL publishes another pool than its own, and draws its lists from it. */
  async function publish(nodes: readonly PoolNode[]): Promise<void> {
    const inOrder = nodes.toSorted((a, b) => (a.address < b.address ? -1 : 1))
    const { root, parts } = await snapshotPool(inOrder)
    front.decide = async ({ path, body }) => {
      const bytes = parts.get(path.replace('/ipfs/', ''))
      if (bytes) return { bytes }
      if (path.startsWith('/v1/inference/quorum-preview')) {
        return { change: (json) => ({ ...json, pool_cid: root }) }
      }
      if (path !== '/v1/inference/list') return 'pass'
      return {
        status: 200,
        json: await signedList(tallyKey, await listFrom(world, inOrder, JSON.parse(body))),
      }
    }
  }

  const nodeOf = (address: string): PoolNode => ({
    address: address.toLowerCase() as Address,
    weight: 100,
    tiers: [0],
    models: [model],
    comparators: ['exact'],
  })
  const stranger = () => nodeOf(privateKeyToAddress(generatePrivateKey()))
  const honest = () => world.nodes.map(({ address }) => nodeOf(address))

  it('gets no prompt with a pool of its own nodes, which have no stake', async () => {
    await publish([stranger(), stranger(), stranger()])
    const { exitCode, told } = await infer()
    expect(told.error).toMatchObject({
      code: 'pool-inactive',
      message: expect.stringMatching(/None of the 3 nodes of the pool is active on chain/),
    })
    expect(exitCode).not.toBe(0)
  })

  it('gets no prompt with one node without a stake among the others', async () => {
    const own = stranger()
    await publish([...honest(), own])
    const { exitCode, told } = await infer()
    expect(told.error).toMatchObject({
      code: 'pool-unstaked',
      message: `The pool has the node ${own.address}, which has no stake on chain`,
    })
    expect([told.output, exitCode === 0]).toEqual([null, false])
  })

  it('has its client told how many active nodes its pool leaves out', async () => {
    await publish(honest().slice(1))
    // The job goes no further here: the real ICL behind knows no such pool.
    const { exitCode, told, said } = await infer()
    expect(said).toContain('note: the pool leaves out 1 of 4 active nodes')
    expect([told.output, exitCode === 0]).toEqual([null, false])
  })

  it('has no answer printed when it names another output', async () => {
    front.decide = ({ path }) =>
      jobPath.test(path)
        ? { change: (job) => ({ ...job, ...(job.output_cid ? { output_cid: otherCid } : {}) }) }
        : 'pass'
    const { exitCode, told } = await infer()
    expect(told.error).toMatchObject({
      code: 'receipt-invalid',
      message: expect.stringMatching(/it is about another output/),
    })
    expect(told.output).toBeNull()
    expect(exitCode).not.toBe(0)
  })

  it('has no answer printed when a key has signed the tally that it has not published', async () => {
    const stranger = await signingKeyFromSeed(systemRandom.bytes(32))
    front.decide = lyingInReceipts((draft) => draft, stranger)
    const { exitCode, told } = await infer()
    expect(told.error).toMatchObject({
      code: 'receipt-invalid',
      message: expect.stringMatching(/the tally key is not one of the ICL/),
    })
    expect(exitCode).not.toBe(0)
  })
})

describe('an ICL that lies about the agreement', () => {
  for (const [what, [code, why, lie]] of Object.entries(receiptLies)) {
    it(`has no answer printed: ${what}`, async () => {
      front.decide = lyingInReceipts(lie)
      const { exitCode, told } = await infer()
      expect(told.error).toMatchObject({
        code: expect.stringMatching(code),
        message: expect.stringMatching(why),
      })
      expect(told.output).toBeNull()
      expect(exitCode).not.toBe(0)
    })
  }
})

it('an ICL that takes an answer, acknowledges it and calls its node late is believed by its client, and shown to lie by the acknowledgement that the node kept', async () => {
  /** The ICL keeps the answer of the dissenting node from its own records. */
  function swallowDissent(): void {
    front.decide = async ({ path, node, body }) => {
      const isDissent = world.nodes.findIndex(({ address }) => address === node)
      if (path !== '/internal/task/reveal' || keyOf(isDissent) !== dissenter) return 'pass'
      const answer = AnswerPost.parse(JSON.parse(body))
      return { status: 200, json: await acknowledgedReveal(tallyKey, answer) }
    }
  }

  /** `svc-node receipt verify`: the code that it ends with, and what it prints. */
  async function verify(receipt: string, ...more: readonly string[]) {
    const args = ['receipt', 'verify', receipt, '--json', `--icl-key=${tallyKey.publicKey}`]
    const run = spawn(process.execPath, [svcNode, ...args, ...more], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [told, [code]] = await Promise.all([text(run.stdout), once(run, 'close')])
    return { code, told: JSON.parse(told) as { verdict: string; checks: readonly Check[] } }
  }

  swallowDissent()
  const file = join(world.folder, 'receipt.json')
  const { exitCode, told, said } = await infer('--receipt', file)
  expect([told.output, exitCode]).toEqual(['The ferry leaves at noon', 0])
  expect(said).toContain('3 of 3 agreed')
  expect(await verify(file)).toMatchObject({ code: 0, told: { verdict: 'consistent' } })
  const late = world.nodes.find((_, index) => keyOf(index) === dissenter)
  const refused = await verify(file, '--with', join(late?.folder ?? '', 'acks.jsonl'))
  expect(refused).toMatchObject({ code: 1, told: { verdict: 'invalid' } })
  expect(refused.told.checks.find(({ name }) => name === 'acks')).toMatchObject({
    status: 'failed',
    detail: `The receipt does not hold: the ICL acknowledged the reveal of ${late?.address}, and the receipt has no answer of it`,
  })
})

it('nodes that have nothing to lose any more have no answer printed, however well they signed', async () => {
  /** Takes a node's stake out, as its operator can after a week. */
  async function withdraw(address: Address): Promise<void> {
    const { rpcUrl, chainId, contracts } = world.chain
    const key = world.nodes.find((node) => node.address === address)?.privateKey
    if (!key) throw new TypeError(`${address} is none of the nodes`)
    const account = privateKeyToAccount(key)
    const { publicClient, walletClient } = createChainWriter({ rpcUrl, chainId, account })
    const call = async (functionName: 'beginUnbonding' | 'withdraw') => {
      const contract = { address: contracts.nodeRegistry, abi: nodeRegistryAbi }
      const hash = await writeContract(walletClient, { ...contract, functionName })
      await waitForTransactionReceipt(publicClient, { hash })
    }
    await call('beginUnbonding')
    const chain = createTestClient({ mode: 'anvil', transport: http(rpcUrl) })
    await chain.increaseTime({ seconds: 7 * 86_400 })
    await call('withdraw')
  }

  // Last: on the chain a week passes.

  let gone: Address | undefined
  front.decide = ({ path }) =>
    path.endsWith('/receipt')
      ? {
          change: async (json) => {
            const { deliverer } = Receipt.parse(json).tally.body
            if (!gone) await withdraw(deliverer)
            gone = deliverer
            return json
          },
        }
      : 'pass'
  const { exitCode, told } = await infer()
  expect(told.error).toMatchObject({
    code: 'signer-unstaked',
    message: `${gone} signed the receipt without a stake for that tier`,
  })
  expect(told.output).toBeNull()
  expect(exitCode).not.toBe(0)
})
