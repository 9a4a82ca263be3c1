import { pad, toHex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { nodeRegistryAbi } from '../../lib/abi/node-registry.ts'
import { promptKeyStoreAbi } from '../../lib/abi/prompt-key-store.ts'
import { resultRegistryAbi } from '../../lib/abi/result-registry.ts'
import { createCofheCoprocessor } from '../../lib/coprocessor/cofhe.ts'
import { systemClock } from '../../lib/system.ts'
import { DAY_S, MIN_STAKE, send, startTestChain, type TestChain } from './test-chain.ts'

const OWNER = 4
const NODE = 5

let chain: TestChain
beforeAll(async () => {
  chain = await startTestChain()
}, 60_000)
afterAll(() => chain.stop())

const used: string[] = []
const measure = async (
  name: string,
  limit: number,
  index: number,
  call: Parameters<typeof send>[1],
): Promise<bigint[]> => {
  const receipt = await send(chain.wallet(index), call)
  used.push(`${name} ${receipt.gasUsed}`)
  expect([name, receipt.gasUsed < BigInt(limit)]).toEqual([name, true])
  const stored = receipt.logs.find(
    (log) => log.address.toLowerCase() === chain.promptKeyStore && log.topics.length === 4,
  )
  return (stored?.topics ?? []).slice(2).map((topic) => BigInt(topic))
}

const nodes = (functionName: string, args: readonly unknown[] = [], value?: bigint) => ({
  address: chain.nodeRegistry,
  abi: nodeRegistryAbi,
  functionName,
  args,
  ...(value === undefined ? {} : { value }),
})
const keys = (functionName: string, args: readonly unknown[]) => ({
  address: chain.promptKeyStore,
  abi: promptKeyStoreAbi,
  functionName,
  args,
})
const resultFor = (job: number) => {
  const word = pad(toHex(job), { size: 32 })
  const verifiers = [chain.addressOf(5), chain.addressOf(6)]
  const counts = { matchCount: 2, noMatchCount: 0 }
  const leader = chain.addressOf(4)
  return { jobId: word, outputCidHash: word, receiptHash: word, leader, ...counts, verifiers }
}
const commit = (count: number, first: number) => ({
  address: chain.resultRegistry,
  abi: resultRegistryAbi,
  functionName: 'commitResults',
  args: [Array.from({ length: count }, (_, index) => resultFor(first + index))],
})

describe('gas', () => {
  it('of the main calls stays within its budget', async () => {
    await measure('register', 125_000, NODE, nodes('register', [[0]], MIN_STAKE))
    await measure('heartbeat', 40_000, NODE, nodes('heartbeat'))
    const account = chain.anvil.accounts[OWNER]
    if (account === undefined) throw new Error('no owner')
    const coprocessor = createCofheCoprocessor({
      ...chain.anvil,
      account: privateKeyToAccount(account.privateKey),
      clock: systemClock,
    })
    const plain = await coprocessor.encrypt(1n, 2n)
    await measure('storeKey, owner only', 290_000, OWNER, keys('storeKey', [plain.high, plain.low]))
    const { high, low } = await coprocessor.encrypt(3n, 4n)
    const readers = [6, 7, 8].map((index) => chain.addressOf(index))
    const until = BigInt((await chain.now()) + DAY_S)
    const [highHandle, lowHandle] = await measure(
      'storeKey, 3 readers and a delegate',
      510_000,
      OWNER,
      keys('storeKey', [high, low, readers, chain.addressOf(9), 3, until]),
    )
    const grant = [highHandle, lowHandle, chain.addressOf(NODE)]
    await measure('grantAccess by the delegate', 130_000, 9, keys('grantAccess', grant))
    await measure('grantAccess again', 46_000, 9, keys('grantAccess', grant))
    await measure('commitResults, 1 result', 195_000, 1, commit(1, 1))
    await measure('commitResults, 10 results', 1_700_000, 1, commit(10, 10))
    process.stdout.write(`gas: ${used.join('; ')}\n`)
  })
})
