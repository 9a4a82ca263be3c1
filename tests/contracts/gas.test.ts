import { keccak256, pad, toHex } from 'viem'
import { afterAll, describe, expect, it } from 'vitest'
import { nodeRegistryAbi } from '../../lib/abi/node-registry.ts'
import { promptKeyStoreAbi } from '../../lib/abi/prompt-key-store.ts'
import { resultRegistryAbi } from '../../lib/abi/result-registry.ts'
import { createAccessWriter, createKeyActions } from './stored-keys.ts'
import { DAY_S, MIN_STAKE, send, startTestChain } from './test-chain.ts'

const OWNER = 4
const NODE = 5

const chain = await startTestChain()
const encryptAs = createKeyActions(chain).encryptAs
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
  return { jobId: word, receiptHash: keccak256(word) }
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
    const plain = await encryptAs(OWNER)
    await measure('storeKey, owner only', 217_000, OWNER, keys('storeKey', [plain.high, plain.low]))
    await measure('commitResults, 1 result', 56_000, 1, commit(1, 1))
    await measure('commitResults, 10 results', 290_000, 1, commit(10, 10))
    process.stdout.write(`gas: ${used.join('; ')}\n`)
  })

  it('of lists and output keys stays within its budget', async () => {
    used.length = 0
    // Positions 0 to 2 read at once, as in the first batch of a job; 3 joins.
    const seated = [6, 7, 8]
    for (const index of [...seated, 9]) {
      const register = nodes('register', [[0]], MIN_STAKE)
      await send(chain.wallet(index), register)
    }
    const others = [1, 2, 3, 0].map((index) => chain.addressOf(index))
    const more = pad('0x77', { size: 20 })
    const list = [...[...seated, 9].map((index) => chain.addressOf(index)), ...others, more]
    const until = BigInt((await chain.now()) + DAY_S)
    const [jobId, activator] = [pad('0x0a', { size: 32 }), chain.addressOf(1)]
    const plain = await encryptAs(OWNER)
    const store = keys('storeKey', [plain.high, plain.low, jobId])
    const [high, low] = await measure('storeKey, terms', 217_000, OWNER, store)
    const terms = [high, low, jobId, list]
    const commit = keys('commitList', [...terms, 0b111, activator, until])
    await measure('commitList of 9, 3 readers', 250_000, OWNER, commit)
    const join = keys('activate', [...terms, until, 3])
    await measure('activate', 125_000, 1, join)
    await measure('activate again', 60_000, 1, join)
    await measure('endList', 40_000, OWNER, keys('endList', [high, low]))
    const output = await encryptAs(seated[0]!)
    const opened = [high, jobId, activator, until, list, 0, 0b110]
    const storeOutput = keys('storeKey', [output.high, output.low, ...opened])
    await measure('storeKey, output key with 3 readers', 400_000, seated[0]!, storeOutput)
    process.stdout.write(`gas: ${used.join('; ')}\n`)
  })

  it('of every other call stays within its budget', async () => {
    used.length = 0
    const operator = 2
    const [id, other] = [1, 2].map((fault) => pad(toHex(fault), { size: 32 }))
    const evidence = pad('0xee', { size: 32 })
    const accuse = (fault: unknown) =>
      nodes('proposeSlash', [fault, chain.addressOf(operator), 5n, evidence])
    await send(chain.wallet(operator), nodes('register', [[0]], MIN_STAKE))
    await measure('addStake', 43_000, operator, nodes('addStake', [], 9n))
    await measure('setModelTiers', 67_000, operator, nodes('setModelTiers', [[1, 2]]))
    await measure('proposeSlash', 120_000, 1, accuse(id))
    await measure('answer', 58_000, operator, nodes('answer', [id, evidence]))
    await send(chain.wallet(1), accuse(other))
    await measure('cancelSlash', 44_000, 2, nodes('cancelSlash', [other]))
    await chain.increaseTime(3 * DAY_S)
    await measure('executeSlash', 85_000, 8, nodes('executeSlash', [id]))
    await measure('payTreasury', 42_000, 8, nodes('payTreasury'))
    await measure('beginUnbonding', 34_000, operator, nodes('beginUnbonding'))
    await measure('cancelUnbonding', 34_000, operator, nodes('cancelUnbonding'))
    await send(chain.wallet(operator), nodes('beginUnbonding'))
    await chain.increaseTime(7 * DAY_S)
    await measure('withdraw', 55_000, operator, nodes('withdraw'))
    const role = pad(toHex('treasury'), { dir: 'right', size: 32 })
    await measure('offerRole', 58_000, 3, nodes('offerRole', [role, chain.addressOf(9)]))
    await measure('acceptRole', 36_000, 9, nodes('acceptRole', [role]))
    const handles = [91n, 92n].map((hash) => (hash << 16n) | 0x0600n)
    await createAccessWriter(chain).allow(handles, chain.addressOf(OWNER))
    await measure('storeKey, handles', 64_000, OWNER, keys('storeKey', handles))
    process.stdout.write(`gas: ${used.join('; ')}\n`)
  })
})
