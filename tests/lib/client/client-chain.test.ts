import { encodeEventTopics, encodeFunctionData, encodeFunctionResult, type Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterEach, describe, expect, it } from 'vitest'
import { nodeRegistryAbi } from '../../../lib/abi/node-registry.ts'
import { promptKeyStoreAbi } from '../../../lib/abi/prompt-key-store.ts'
import { resultRegistryAbi } from '../../../lib/abi/result-registry.ts'
import { createClient } from '../../../lib/client/client.ts'
import { createClientChain } from '../../../lib/client/client-chain.ts'
import { monotonicMs } from '../../../lib/clock.ts'
import { ProblemError } from '../../../lib/problem.ts'
import { systemClock } from '../../../lib/system.ts'
import { aHash, aJobId } from '../../branded.ts'
import { nodeAddress } from '../../icl/rules/sample-job.ts'
import { answerJson, type LocalServer, startServer } from '../../local-server.ts'
import { sampleNetwork } from '../../sample-network.ts'

const jobId: Hex = aHash(`0x${'1'.repeat(64)}`)
const receiptHash: Hex = aHash(`0x${'2'.repeat(64)}`)
const tx: Hex = aHash(`0x${'3'.repeat(64)}`)
const zero: Hex = aHash(`0x${'0'.repeat(64)}`)
const registry = nodeAddress('e')
const account = privateKeyToAccount(`0x${'11'.repeat(32)}`)
const network = sampleNetwork({
  contracts: {
    ...{ node_registry: nodeAddress('d'), prompt_key_store: nodeAddress('c') },
    result_registry: registry,
  },
})

const servers: LocalServer[] = []
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()))
})

/** A chain that answers these methods; a server of a few milliseconds. */
async function chainOf(answers: Record<string, unknown>) {
  const server = await startServer((response, { body }) => {
    type Call = { id: number; method: string; params: readonly { data?: string }[] }
    const answerTo = ({ id, method, params }: Call) => {
      // A call of a contract is named by its function, too.
      const named = [`${method} ${params?.[0]?.data?.slice(0, 10)}`, method]
      const name = named.find((one) => one in answers)
      const error = { code: -32601, message: method }
      return { jsonrpc: '2.0', id, ...(name === undefined ? { error } : { result: answers[name] }) }
    }
    const asked = JSON.parse(body) as Call | Call[]
    answerJson(response, 200, Array.isArray(asked) ? asked.map(answerTo) : answerTo(asked))
  })
  servers.push(server)
  return server
}
const clientChain = async (answers: Record<string, unknown>) => {
  const { url, seen } = await chainOf(answers)
  return { chain: createClientChain({ rpcUrl: url, network, account }), seen }
}

const committed = (about: Hex, hash: Hex, address: Hex = registry) => ({
  ...{ address, blockHash: zero, blockNumber: '0x1', logIndex: '0x0', removed: false },
  ...{ transactionHash: tx, transactionIndex: '0x0' },
  topics: encodeEventTopics({
    abi: resultRegistryAbi,
    eventName: 'ResultCommitted',
    args: { jobId: about },
  }),
  data: hash,
})
const receiptWith = (logs: readonly unknown[], status = '0x1') => ({
  eth_getTransactionReceipt: {
    ...{ blockHash: zero, blockNumber: '0x1', contractAddress: null, cumulativeGasUsed: '0x1' },
    ...{ effectiveGasPrice: '0x1', from: nodeAddress('1'), gasUsed: '0x1', logs },
    ...{ logsBloom: '0x', status, to: registry, transactionHash: tx, transactionIndex: '0x0' },
    type: '0x2',
  },
})

describe('what a client reads of a receipt’s commitment', () => {
  const read = async (answers: Record<string, unknown>) =>
    (await clientChain(answers)).chain.receiptHashIn(aHash(tx), aJobId(jobId))

  it('is the hash that the registry has for the job', async () => {
    const other = committed(zero, zero)
    expect(await read(receiptWith([other, committed(jobId, receiptHash)]))).toBe(receiptHash)
    const loud = committed(jobId, receiptHash, registry.toUpperCase().replace('X', 'x') as Hex)
    expect(await read(receiptWith([loud]))).toBe(receiptHash)
  })

  it('is nothing where another contract says so, another job is meant, or it failed', async () => {
    expect(
      await read(receiptWith([committed(jobId, receiptHash, nodeAddress('f'))])),
    ).toBeUndefined()
    expect(await read(receiptWith([committed(zero, receiptHash)]))).toBeUndefined()
    expect(await read(receiptWith([]))).toBeUndefined()
    expect(await read(receiptWith([committed(jobId, receiptHash)], '0x0'))).toBeUndefined()
    expect(await read({ eth_getTransactionReceipt: null })).toBeUndefined()
  })

  it('is a failure of the chain when that does not answer so', async () => {
    await expect(read({})).rejects.toMatchObject({
      ...{ code: 'chain-unavailable', message: expect.stringMatching(/^reading the commitment: /) },
    })
  })
})

describe('what a client reads of its key', () => {
  const hash = aHash(`0x${'b'.repeat(64)}`)

  it('is the block that holds it now', async () => {
    const blockIn = async (receipt: object | null) => {
      const { chain } = await clientChain({ eth_getTransactionReceipt: receipt })
      return await chain.blockOf(tx)
    }
    const { eth_getTransactionReceipt: receipt } = receiptWith([])
    const found = { ...receipt, blockHash: hash, blockNumber: '0x9' }
    expect(await blockIn(found)).toEqual({ number: 9n, hash })
    // A reorganisation has taken it out, or has made it fail.
    expect(await blockIn(null)).toBeUndefined()
    expect(await blockIn({ ...found, status: '0x0' })).toBeUndefined()
    const { chain } = await clientChain({})
    await expect(chain.blockOf(tx)).rejects.toThrow(/^reading the block of the key: /)
  })

  it('is the list that it is bound to, or none', async () => {
    const boundTo = async (commitment: Hex) => {
      const result = encodeFunctionResult({
        ...{ abi: promptKeyStoreAbi, functionName: 'listOf' },
        result: [commitment, 7, false],
      })
      const { chain, seen } = await clientChain({ eth_call: result })
      const found = await chain.listOf(5n, 6n)
      expect(JSON.parse(seen[0]!.body).params[0].to).toBe(nodeAddress('c'))
      return found
    }
    expect(await boundTo(hash)).toEqual({ commitment: hash, used: 7 })
    expect(await boundTo(zero)).toBeUndefined()
  })
})

describe('what a client reads of a node', () => {
  const read = async (state: object, block?: bigint) => {
    const result = encodeFunctionResult({
      ...{ abi: nodeRegistryAbi, functionName: 'nodeOf' },
      result: {
        ...{ stake: 5n, modelTiers: [1, 3], lastHeartbeat: 0n, registeredAt: 9n },
        ...{ unbondingAt: 0n, pendingSlashes: 0, slashed: 0n, active: true },
        ...state,
      },
    })
    const minStake = { abi: nodeRegistryAbi, functionName: 'minStake' } as const
    const { chain, seen } = await clientChain({
      eth_call: result,
      [`eth_call ${encodeFunctionData(minStake)}`]: encodeFunctionResult({
        ...minStake,
        result: 5n,
      }),
    })
    const node = await chain.nodeOf(nodeAddress('a'), undefined, block)
    const params = seen.flatMap(({ body }) => JSON.parse(body)).map((call) => call.params)
    const at = block === undefined ? 'latest' : `0x${block.toString(16)}`
    expect(params.map(([, tag]) => tag)).toEqual([at, at])
    const calls = params.map(([call]) => call as { to: string; data: string })
    expect(calls.map(({ to }) => to)).toEqual([nodeAddress('d'), nodeAddress('d')])
    expect(calls.some(({ data }) => data.includes('a'.repeat(40)))).toBe(true)
    return node
  }

  it('has the least stake of its own block, however many are read at once', async () => {
    const { chain, seen } = await clientChain({ eth_call: '0x' })
    const reads = [undefined, undefined, 7n, 8n].map((block) =>
      chain.nodeOf(nodeAddress('a'), undefined, block),
    )
    await Promise.allSettled(reads)
    const minStake = encodeFunctionData({ abi: nodeRegistryAbi, functionName: 'minStake' })
    const calls = seen.flatMap(({ body }) => JSON.parse(body)).map(({ params }) => params)
    const asked = calls.filter(([{ data }]) => data === minStake).map(([, tag]) => tag)
    expect(asked.toSorted()).toEqual(['0x7', '0x8', 'latest'])
  })

  it('is whether it is active and has its stake, and for which tiers', async () => {
    expect(await read({})).toEqual({ staked: true, active: true, modelTiers: [1, 3] })
    expect(await read({}, 7n)).toMatchObject({ modelTiers: [1, 3] })
    expect(await read({ registeredAt: 0n, active: false, modelTiers: [] })).toEqual({
      ...{ staked: false, active: false, modelTiers: [] },
    })
    // Slashed of a part of it or all, it stays registered.
    for (const stake of [4n, 0n]) {
      expect(await read({ stake, active: false })).toMatchObject({ staked: false })
    }
    expect(await read({ unbondingAt: 7n, active: false })).toMatchObject({ staked: true })
  })

  it('is a failure of the chain when that does not answer', async () => {
    const { chain } = await clientChain({})
    await expect(chain.nodeOf(nodeAddress('a'))).rejects.toThrow(/^reading the node registry: /)
    await expect(chain.time()).rejects.toThrow(/^reading the latest block: /)
    await expect(chain.chainId()).rejects.toThrow(/^reading the chain id: /)
  })
})

describe('a chain', () => {
  it('has an id, and the time of its latest block', async () => {
    const block = { number: '0x1', timestamp: '0x64', transactions: [], hash: zero }
    const { chain } = await clientChain({ eth_chainId: '0x7', eth_getBlockByNumber: block })
    expect(await chain.chainId()).toBe(7)
    expect(await chain.time()).toBe(100)
  })

  it('is not waited for by who has given up', async () => {
    const { chain } = await clientChain({ eth_chainId: '0x7' })
    const reason = new Error('enough')
    await expect(chain.chainId(AbortSignal.abort(reason))).rejects.toBe(reason)
  })
})

describe('a client', () => {
  const connect = async (
    described = network,
    answers: Record<string, unknown> = { eth_chainId: '0x7a69' },
    more: Partial<Parameters<typeof createClient>[0]> = {},
    answer: (request: Request) => Response = () => new Response('{}', { status: 404 }),
  ) => {
    const requests: Request[] = []
    const client = await createClient({
      icl: 'https://icl.test',
      rpcUrl: (await chainOf(answers)).url,
      account,
      coprocessor: { encrypt: () => Promise.reject(), decrypt: () => Promise.reject() },
      fetch: async (request) => {
        requests.push(request)
        if (!request.url.endsWith('/v1/network')) return answer(request)
        return new Response(JSON.stringify({ ...described, public_url: 'https://icl.test' }))
      },
      ...more,
    })
    return { client, requests }
  }

  it('knows its ICL, its wallet and its chain', async () => {
    const { client } = await connect()
    expect(client.network.chain_id).toBe(31_337)
    expect(client.context).toMatchObject({
      ...{ address: account.address.toLowerCase(), network: client.network },
    })
  })

  it('does not use a chain that is not the ICL’s, nor contracts that it does not trust', async () => {
    await expect(connect(network, { eth_chainId: '0x1' })).rejects.toMatchObject({
      ...{ code: 'chain-wrong', hint: "Use an RPC endpoint of the ICL's chain." },
      message: 'The RPC endpoint serves chain 1, and the ICL uses chain 31337',
    })
    const { contracts } = network
    const other = { ...contracts, result_registry: nodeAddress('f') }
    await expect(connect(network, undefined, { contracts: other })).rejects.toMatchObject({
      ...{ code: 'contracts-wrong', hint: expect.stringContaining('Do not use this ICL') },
      message: `The ICL names ${registry} as result_registry, and not ${nodeAddress('f')}`,
    })
    const loud = Object.fromEntries(
      Object.entries(contracts).map(([name, one]) => [name, one.toUpperCase().replace('X', 'x')]),
    ) as typeof contracts
    await connect(network, undefined, { contracts: loud })
  })

  it('signs what it asks of its own jobs, three times at most', async () => {
    const page = { jobs: [], next_cursor: null }
    const { client, requests } = await connect(undefined, undefined, {}, ({ url }) =>
      url.includes('/v1/models')
        ? new Response('{"models":[{"model_id":"a:b","nodes":2}]}')
        : new Response(JSON.stringify(page)),
    )
    expect(await client.models()).toEqual([{ model_id: 'a:b', nodes: 2 }])
    expect(await client.jobs({ status: 'accepted' })).toEqual(page)
    expect(await client.jobs()).toEqual(page)
    const [, models, jobs] = requests
    expect(models?.headers.has('signature')).toBe(false)
    expect(jobs?.url).toBe('https://icl.test/v1/inference?status=accepted')
    expect(jobs?.headers.get('signature-input')).toContain(
      `erc8128:31337:${account.address.toLowerCase()}`,
    )
  })

  it('asks for the models again after ten seconds', async () => {
    let ms = 0
    const clock = { ...systemClock, monotonic: () => monotonicMs(ms) }
    const { client, requests } = await connect(undefined, undefined, { clock }, () => {
      const models = [{ model_id: 'a:b', nodes: requests.length }]
      return new Response(JSON.stringify({ models }))
    })
    const first = await client.models()
    ms = 9_999
    expect(await client.models()).toEqual(first)
    ms = 10_000
    expect(await client.models()).not.toEqual(first)
  })

  it('tells what the ICL refuses as an error with a hint', async () => {
    const problem = new ProblemError('job-not-found', 'No such job').toProblem()
    const { client } = await connect(
      undefined,
      undefined,
      {},
      () => new Response(JSON.stringify(problem), { status: 404 }),
    )
    for (const call of [client.job, client.cancel, client.record]) {
      await expect(call(aJobId(jobId))).rejects.toMatchObject({
        ...{ name: 'SvcError', code: 'job-not-found', hint: expect.stringContaining('Check') },
      })
    }
  })
})
