import { randomUUID } from 'node:crypto'
import { hexToBytes, type LocalAccount, toHex, zeroHash } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { simulateContract, waitForTransactionReceipt, writeContract } from 'viem/actions'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { fundWallet } from '../../demo/fund-wallet.ts'
import { stake } from '../../demo/local-chain.ts'
import { startWorld, type World } from '../../demo/world.ts'
import { nodeRegistryAbi } from '../../lib/abi/node-registry.ts'
import { promptKeyStoreAbi } from '../../lib/abi/prompt-key-store.ts'
import { createApi } from '../../lib/api.ts'
import { createChainWriter } from '../../lib/chain/clients.ts'
import { storeKey } from '../../lib/chain/prompt-key-store.ts'
import { type Client, createClient } from '../../lib/client/client.ts'
import type { Inference } from '../../lib/client/inference.ts'
import type { Address, ComparatorId } from '../../lib/codecs.ts'
import { comparators } from '../../lib/comparators/all.ts'
import { createCofheCoprocessor } from '../../lib/coprocessor/cofhe.ts'
import type { Receipt } from '../../lib/schemas/receipt.ts'
import { evidenceKeyOf, jobSecretOf, outputKeyOf } from '../../lib/sealing/job-secret.ts'
import { joinKey, textOf, unseal } from '../../lib/sealing.ts'
import { systemClock, systemRandom } from '../../lib/system.ts'
import { builtBinary } from '../binary/executable.ts'
import { aHash } from '../branded.ts'
import { breadAnswer, liftAnswer } from '../lib/comparators/texts.ts'
import { blobLocations, chainPlaces, iclPlaces } from './everything-written.ts'
import { findLeaks, type Secret } from './leak-search.ts'
import { type ProviderCall, type ProviderServer, startProviderServer } from './provider-server.ts'

const openaiModel = 'openai:gpt-4o-mini'
const anthropicModel = 'anthropic:claude-sonnet-5-5'
// A server that is no built-in provider, and a name of a model with a colon in it.
const ownModel = 'ollama:llama3:8b'
const keyOf = (index: number) => `key-of-node-${index + 1}`

let world: World
let provider: ProviderServer
let answer: (call: ProviderCall) => string | undefined = () => ''
const secrets: Secret[] = []
const outputCids: string[] = []
const receiptHashes: `0x${string}`[] = []
/** The halves that were encrypted and decrypted for the last prompt, in their order: those of the prompt's key, then of the output's. */
const halves: bigint[] = []
const decrypted = new Map<bigint, bigint>()
let lastClient: Client

const handlesOf = ({ kpHighHandle, kpLowHandle }: Receipt) => ({
  highHandle: kpHighHandle,
  lowHandle: kpLowHandle,
})

/** Runs a prompt as a client whose keys and halves this test gets to know. */
async function infer(prompt: string, model: string, comparator?: ComparatorId): Promise<Inference> {
  const { rpcUrl, chainId, client: account } = world.chain
  const coprocessor = createCofheCoprocessor({ rpcUrl, chainId, account, clock: systemClock })
  halves.length = 0
  const secretHalf = (name: string, half: bigint) => {
    halves.push(half)
    const bytes = hexToBytes(toHex(half, { size: 16 }))
    secrets.push({ name, bytes }, { name: `${name} in decimal`, bytes: Buffer.from(`${half}`) })
  }
  const client = await createClient({
    icl: world.icl.url,
    rpcUrl,
    account,
    coprocessor: {
      encrypt: (high, low, options) => {
        secretHalf('high half of the prompt key', high)
        secretHalf('low half of the prompt key', low)
        const key = hexToBytes(`${toHex(high, { size: 16 })}${toHex(low, { size: 16 }).slice(2)}`)
        secrets.push({ name: 'prompt key', bytes: key })
        return coprocessor.encrypt(high, low, options)
      },
      decrypt: async (handle, options) => {
        const half = await coprocessor.decrypt(handle, options)
        secretHalf('half of the output key', half)
        decrypted.set(handle, half)
        return half
      },
    },
  })
  lastClient = client
  provider.calls.length = 0
  secrets.push({ name: 'prompt', bytes: Buffer.from(prompt) })
  const inference = await client.infer(prompt, {
    model,
    giveUpWhenStuckMs: 1_500,
    ...(comparator && { comparator }),
  })
  if (inference.status === 'accepted') {
    // A short answer stands in other bytes by chance.
    if (inference.output.length > 8) {
      secrets.push({ name: 'output', bytes: Buffer.from(inference.output) })
    }
    receiptHashes.push(inference.receiptHash)
    const own = (await client.context.secret()).bytes
    const job = await jobSecretOf(own, handlesOf(inference.receipt))
    secrets.push(
      { name: 'secret of the client', bytes: own },
      { name: 'secret of a job', bytes: job },
    )
    outputCids.push(inference.receipt.delivery.body.output_cid, inference.receipt.prompt_cid)
  }
  return inference
}

const addressOfKey = (key: string) =>
  world.nodes[Number(key.replace('key-of-node-', '')) - 1]?.address

beforeAll(async () => {
  provider = await startProviderServer((call) => answer(call))
  world = await startWorld({
    nodeBinary: await builtBinary(),
    models: [openaiModel, anthropicModel, ownModel],
    providerEnv: (index) => ({
      OPENAI_API_KEY: keyOf(index),
      ANTHROPIC_API_KEY: keyOf(index),
      OLLAMA_API_KEY: keyOf(index),
      SVC_OPENAI_BASE_URL: provider.openaiUrl,
      SVC_ANTHROPIC_BASE_URL: provider.anthropicUrl,
      SVC_OLLAMA_BASE_URL: provider.openaiUrl,
    }),
  })
}, 240_000)

afterAll(async () => {
  await world?.stop()
  await provider.stop()
})

describe('the whole service', () => {
  for (const model of [openaiModel, anthropicModel, ownModel]) {
    it(`answers with what three nodes got from the provider of ${model}`, async () => {
      const token = `token ${randomUUID()}`
      answer = () => token
      const prompt = `The violet ferry leaves at ${randomUUID()}`
      const result = await infer(prompt, model)
      if (result.status !== 'accepted') throw new Error(`It was ${result.status}`)
      expect(result.output).toBe(token)
      expect(result.verdicts.map(({ verdict }) => verdict)).toEqual(['match', 'match'])
      expect(result.commitTx).toMatch(/^0x[0-9a-f]{64}$/)
      expect(provider.calls.map((call) => call.prompt)).toEqual([prompt, prompt, prompt])
      const protocol = model === anthropicModel ? 'anthropic' : 'openai'
      const name = model.slice(model.indexOf(':') + 1)
      expect(new Set(provider.calls.map((call) => call.model))).toEqual(new Set([name]))
      expect(result.receipt.list.terms.model_id).toBe(model)
      expect(new Set(provider.calls.map((call) => call.protocol))).toEqual(new Set([protocol]))
      const keys = new Set(provider.calls.map(({ key }) => key))
      expect(keys).toEqual(new Set([keyOf(0), keyOf(1), keyOf(2)]))
      const pids = new Set(world.nodes.map(({ process }) => process.pid))
      expect(pids.size).toBe(3)
    })
  }

  it('answers although no two nodes were given the same words', async () => {
    const wordings = ['any motor', 'a motor', 'a motor at all']
    const given = new Map<string, string>()
    answer = ({ key }) => {
      const wording = wordings[given.size] ?? 'motors'
      const text = given.get(key) ?? liftAnswer.replace('any motor', wording)
      given.set(key, text)
      return text
    }
    const result = await infer(`How does it work, ${randomUUID()}?`, openaiModel)
    if (result.status !== 'accepted') throw new Error(`It was ${result.status}`)
    expect(new Set(given.values()).size).toBe(3)
    expect([...given.values()]).toContain(result.output)
    expect(result.receipt.list.terms.comparator).toBe('similar/2')
  })

  it('answers with what two of three nodes got, and names the third', async () => {
    let odd: string | undefined
    answer = ({ key }) => {
      odd ??= key
      return key === odd ? breadAnswer : liftAnswer
    }
    // What other comparators make of unrelated answers has a little chance in it.
    const result = await infer(`Who is right about ${randomUUID()}?`, openaiModel, 'exact')
    if (result.status !== 'accepted') throw new Error(`It was ${result.status}`)
    expect(result.output).toBe(liftAnswer)
    expect(result.agreed).toMatchObject({ agreed: 2, answers: 3 })
    const node = addressOfKey(odd ?? '')
    expect(result.agreed.differed).toEqual([{ node, how: 'different-answer' }])
  })

  it('shows no answer when each node got another one', async () => {
    answer = ({ key }) => `${liftAnswer} ${key}`
    const result = await infer(`Who is right about ${randomUUID()}?`, openaiModel, 'exact')
    expect(result).toMatchObject({ status: 'disputed', reason: 'quorum-disagreed' })
    expect('output' in result).toBe(false)
    expect(result.verdicts).toEqual([])
  })

  it("lets its ICL's operator read neither, with the coordinator's wallet and a registered one that was not drawn", async () => {
    const token = `token ${randomUUID()}`
    answer = () => token
    const result = await infer(`What does the operator read, ${randomUUID()}?`, openaiModel)
    if (result.status !== 'accepted') throw new Error(`It was ${result.status}`)
    const { kpHighHandle, kpLowHandle, jobId, list, delivery } = result.receipt
    const { rpcUrl, chainId, contracts, coordinatorKey, funder, client } = world.chain
    const coordinator = privateKeyToAccount(coordinatorKey)
    const stranger = privateKeyToAccount(generatePrivateKey())
    const writerOf = (account: LocalAccount) => createChainWriter({ rpcUrl, chainId, account })
    await fundWallet(writerOf(funder), stranger.address, 2n * stake)
    const { publicClient, walletClient } = writerOf(stranger)
    const registry = { address: contracts.nodeRegistry, abi: nodeRegistryAbi }
    const registering = {
      ...registry,
      functionName: 'register',
      args: [[0]],
      value: stake,
    } as const
    const hash = await writeContract(walletClient, registering)
    await waitForTransactionReceipt(publicClient, { hash })
    const activates = (members: readonly Address[], index: number) =>
      simulateContract(publicClient, {
        ...{ address: contracts.promptKeyStore, abi: promptKeyStoreAbi, account: coordinator },
        functionName: 'activate',
        args: [kpHighHandle, kpLowHandle, jobId, members, BigInt(list.until), index],
      })
    const { members } = list
    const own = stranger.address.toLowerCase() as Address
    await activates(members, 0)
    await expect(activates([...members, own], members.length)).rejects.toThrow('WrongList')
    await expect(activates(members.with(0, own), 0)).rejects.toThrow('WrongList')
    const { outHighHandle, outLowHandle } = delivery.body
    for (const handle of [kpHighHandle, kpLowHandle, outHighHandle, outLowHandle]) {
      const readBy = (account: LocalAccount) =>
        createCofheCoprocessor({ rpcUrl, chainId, account, clock: systemClock }).decrypt(handle)
      for (const account of [coordinator, stranger]) {
        await expect(readBy(account)).rejects.toMatchObject({ code: 'coprocessor-access-denied' })
      }
      expect(await readBy(client)).toBeTypeOf('bigint')
    }
  })

  it('both halves: who has them, all blobs, the receipt and the store reads neither prompt nor answer, and confirms no guess', async () => {
    answer = () => 'No.'
    const prompt = `Is the violet ferry late, ${randomUUID()}?`
    const result = await infer(prompt, openaiModel, 'exact')
    if (result.status !== 'accepted') throw new Error(`It was ${result.status}`)
    const { receipt } = result
    const { jobId, client, delivery, prompt_cid: promptCid } = receipt
    const { outHighHandle, outLowHandle, output_cid: outputCid, fence } = delivery.body
    const halfOf = (handle: bigint) => decrypted.get(handle) ?? 0n
    const promptKey = joinKey({ high: halves[0] ?? 0n, low: halves[1] ?? 0n })
    const outputKey = joinKey({ high: halfOf(outHighHandle), low: halfOf(outLowHandle) })
    const { blobs } = lastClient.context
    const envelope = await unseal(
      await blobs.download(promptCid),
      promptKey,
      `svc-envelope-v1:${client}`,
    )
    const inner = await unseal(
      await blobs.download(outputCid),
      outputKey,
      `svc-sealed-output-v2:${jobId}`,
    )
    const opened = [
      { name: 'the opened prompt', bytes: envelope },
      { name: 'the opened output', bytes: inner },
    ]
    expect(findLeaks(opened, [{ name: 'prompt', bytes: Buffer.from(prompt) }])).toEqual([])
    expect(
      findLeaks(
        opened,
        secrets.filter(({ name }) => name.startsWith('secret')),
      ),
    ).toEqual([])

    // What the stranger and the ICL with its secret can derive keys from.
    const own = (await lastClient.context.secret()).bytes
    const secret = await jobSecretOf(own, handlesOf(receipt))
    const icl = Buffer.from(world.icl.command.env.SVC_ICL_SECRET as string, 'hex')
    const known = [promptKey, outputKey, new Uint8Array(32), new Uint8Array(icl)]
    const guesses = await Promise.all(known.map((key) => jobSecretOf(key, handlesOf(receipt))))
    const opensOutput = (candidate: Uint8Array<ArrayBuffer>) =>
      outputKeyOf(candidate, jobId, fence)
        .then((key) => unseal(inner, key, `svc-output-v2:${jobId}:${fence}`))
        .then(textOf, () => undefined)
    const shows = async (candidate: Uint8Array<ArrayBuffer>) => {
      const key = await evidenceKeyOf(candidate, jobId)
      const shown = await comparators.exact.evidenceOf({ text: 'No.', prompt, key })
      return receipt.answers.some(({ body }) => body.evidence.digest === shown.digest)
    }
    for (const candidate of [...known, ...guesses]) {
      expect(await opensOutput(candidate)).toBeUndefined()
      expect(await shows(candidate)).toBe(false)
    }
    // The client's own secret does all of this, so the attempts above are the right ones.
    expect(await opensOutput(secret)).toBe('No.')
    expect(await shows(secret)).toBe(true)
  })

  it('names the models that are served', async () => {
    await expect(infer('Hello', 'openai:gpt-unknown')).rejects.toMatchObject({
      code: 'model-unknown',
      hint: expect.stringContaining(openaiModel),
    })
  })

  // The nodes offer no model for a while after it.
  it('says which key to check when the provider refuses it', async () => {
    answer = () => undefined
    const work = infer(`Is anyone there, ${randomUUID()}?`, openaiModel)
    await expect(work).rejects.toMatchObject({
      code: 'provider-key-refused',
      hint: expect.stringContaining('the API key of openai'),
    })
  })

  // Last, because it ends the ICL to see what it had stored.
  it('keeps prompts, outputs and keys to the client and the quorum', async () => {
    const names = new Set(secrets.map(({ name }) => name))
    for (const name of [
      ...['prompt', 'output', 'prompt key', 'half of the output key'],
      ...['secret of the client', 'secret of a job'],
    ]) {
      expect(names.has(name)).toBe(true)
    }
    const control = { name: 'control', bytes: Buffer.from(`planted ${randomUUID()}`) }
    const controlCid = await upload(control.bytes)
    const onChain = await chainPlaces(world)
    const blobs = await blobLocations(world, [...outputCids, controlCid])
    const icl = await iclPlaces(world)
    expect(findLeaks([...onChain, ...blobs, ...icl], secrets)).toEqual([])

    // What is there is found: these are the right places, and the search reads them.
    expect(findLeaks([...blobs, ...icl], [control])).toEqual([
      `control in blob ${controlCid}`,
      'control in the store of the ICL',
    ])
    const hash = { name: 'receipt hash', bytes: hexToBytes(receiptHashes[0] ?? '0x') }
    expect(findLeaks(onChain, [hash]).length).toBeGreaterThan(0)
  })
})

/** Stores bytes as if they were sealed, for a key that no job is for, as no client of ours would. */
async function upload(bytes: Uint8Array): Promise<string> {
  const { client, chainId, rpcUrl, contracts } = world.chain
  const place = { rpcUrl, chainId, account: client }
  const coprocessor = createCofheCoprocessor({ ...place, clock: systemClock })
  const { highHandle, lowHandle, block } = await storeKey({
    ...createChainWriter(place),
    ...(await coprocessor.encrypt(1n, 2n)),
    contract: contracts.promptKeyStore,
    terms: aHash(zeroHash),
  })
  const api = createApi({
    baseUrl: world.icl.url,
    fetch: (request) => fetch(request),
    clock: systemClock,
    random: systemRandom,
    signer: {
      kind: 'wallet',
      address: client.address.toLowerCase() as Address,
      chainId,
      signMessage: ({ raw }) => client.signMessage({ message: { raw } }),
    },
  })
  const key = { kpHighHandle: highHandle, kpLowHandle: lowHandle }
  const query = { ...key, block_number: block.number }
  return (await api.putBlob({ query, body: Uint8Array.of(1, ...bytes) })).cid
}
