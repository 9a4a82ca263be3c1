import fc from 'fast-check'
import { encodeFunctionResult } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterEach, expect, vi } from 'vitest'
import { createViemChain } from '../../../icl/chain/viem.ts'
import { resultRegistryAbi } from '../../../lib/abi/result-registry.ts'
import { createChainReader } from '../../../lib/chain/clients.ts'
import { isAllowed } from '../../../lib/chain/task-manager.ts'
import { SvcError } from '../../../lib/svc-error.ts'
import { systemClock } from '../../../lib/system.ts'
import { aHash, aJobId, anAddress } from '../../branded.ts'
import { changedJson, expectUnpolluted, hostileJson, itHolds, runs } from './runs.ts'

afterEach(() => vi.restoreAllMocks())

const address = (digit: number) => anAddress(`0x${String(digit).repeat(40)}`)
const hash = (digit: string) => aHash(`0x${digit.repeat(64)}`)
const place = { rpcUrl: 'https://chain.test', chainId: 31_337 }
const block = {
  number: '0x10',
  hash: hash('a'),
  timestamp: '0x65',
  transactions: [],
  baseFee: '0x1',
}
const log = {
  address: address(3),
  topics: [hash('b'), hash('c')],
  data: '0x',
  blockNumber: '0x1',
  transactionHash: hash('d'),
  logIndex: '0x0',
}

const committed = {
  jobId: aJobId(hash('c')),
  receiptHash: hash('f'),
  keyBlock: 1n,
}
const stored = encodeFunctionResult({
  abi: resultRegistryAbi,
  functionName: 'resultOf',
  result: committed.receiptHash,
})

/** Words of 32 bytes, as contracts answer: small numbers, offsets and lengths among them. */
const words = fc
  .array(
    fc.oneof(
      fc.constantFrom(0n, 1n, 32n, 64n, 96n, 2n ** 64n, 2n ** 256n - 1n),
      fc.bigInt({ min: 0n, max: 2n ** 160n }),
    ),
    { maxLength: 14 },
  )
  .map((list) => `0x${list.map((word) => word.toString(16).padStart(64, '0')).join('')}`)
const result = fc.oneof(
  words,
  words,
  hostileJson,
  changedJson(block),
  changedJson([log]),
  fc.constantFrom('0x', '0x0', '0x10', block, [log], stored),
  changedJson({ status: '0x1', logs: [log], transactionHash: hash('d') }),
)
// Others, viem asks for again after a real wait.
const failure = fc.record({
  code: fc.constantFrom(3, -32_000, -32_602),
  message: fc.constantFrom('execution reverted', 'execution reverted: why', 'no'),
  data: fc.oneof(words, fc.constantFrom('0x', '0x08c379a0', undefined)),
})
const answer = fc.oneof(
  { weight: 6, arbitrary: result.map((value) => ({ result: value })) },
  { weight: 1, arbitrary: failure.map((error) => ({ error })) },
)

itHolds('answers of a chain of any form are read, or are an error of this service', async () => {
  let now = 0
  const chain = createViemChain({
    ...place,
    account: privateKeyToAccount(hash('1')),
    nodeRegistry: address(1),
    promptKeyStore: address(2),
    resultRegistry: address(3),
    confirmations: 2,
    // Nothing of what was read before is remembered.
    clock: { ...systemClock, now: () => (now += 60_000) },
  })
  const reader = createChainReader(place)
  const questions: Readonly<Record<string, () => Promise<unknown>>> = {
    ping: chain.ping,
    latestBlock: chain.latestBlock,
    nodesOf: () => chain.nodesOf([address(7), address(8)]),
    outputKeyOf: () => chain.outputKeyOf(1n, 2n, 3n),
    isAllowed: () => chain.isAllowed(1n, address(4)),
    findCommitment: () => chain.findCommitment(committed, hash('d')),
    slashOf: () => chain.slashOf(hash('9')),
    findFaults: chain.findFaults,
    mayRead: () => isAllowed(reader, 1n, address(4)),
  }
  let read = 0
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...Object.keys(questions)),
      fc.array(answer, { minLength: 1, maxLength: 4 }),
      fc.boolean(),
      async (name, some, isStored) => {
        let asked = 0
        // What there is to look for once a result stands in the contract.
        const answers = isStored ? [{ result: stored }, { result: '0x10' }, ...some] : some
        vi.spyOn(globalThis, 'fetch').mockImplementation((async () =>
          Response.json({
            jsonrpc: '2.0',
            id: 1,
            ...answers[asked++ % answers.length],
          })) as unknown as typeof fetch)
        const failed = await questions[name]!().then(
          () => undefined,
          (error: unknown) => error,
        )
        if (failed === undefined) read++
        else expect(failed).toBeInstanceOf(SvcError)
        expect(asked).toBeGreaterThan(0)
      },
    ),
    {
      ...runs(200),
      examples: [['findCommitment', [{ result: { status: '0x1', logs: null } }], true]],
    },
  )
  expect(read).toBeGreaterThan(0)
  expectUnpolluted()
})
