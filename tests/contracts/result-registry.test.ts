import { pad, toHex } from 'viem'
import { afterAll, describe, expect, it } from 'vitest'
import { resultRegistryAbi } from '../../lib/abi/result-registry.ts'
import { eventsOf, read, revertOf, send, startTestChain } from './test-chain.ts'

const word = (value: number) => pad(toHex(value), { size: 32 })

const chain = await startTestChain()
afterAll(() => chain.stop())

const checksummed = (index: number) => chain.wallet(index).walletClient.account.address
const resultFor = (job: number) => ({
  jobId: word(job),
  outputCidHash: word(1000 + job),
  receiptHash: word(2000 + job),
  leader: checksummed(4),
  matchCount: 2,
  noMatchCount: 0,
  verifiers: [checksummed(5), checksummed(6)],
})
const call = (functionName: string, args: readonly unknown[]) => ({
  address: chain.resultRegistry,
  abi: resultRegistryAbi,
  functionName,
  args,
})
const commit = (results: readonly unknown[], as = 1) =>
  send(chain.wallet(as), call('commitResults', [results]))
const resultOf = (job: number) =>
  read<readonly [unknown, bigint]>(chain, call('resultOf', [word(job)]))

describe('committed results', () => {
  it('are written by the coordinator only', async () => {
    const [role] = [pad(toHex('coordinator'), { dir: 'right', size: 32 })]
    expect(await revertOf(commit([resultFor(1)], 4))).toEqual([
      'MissingRole',
      role,
      chain.addressOf(4),
    ])
  })

  it('can be read by job, with quorum, counts and time', async () => {
    const receipt = await commit([resultFor(1), resultFor(2)])
    expect(eventsOf(receipt, resultRegistryAbi)).toEqual(
      [1, 2].map((job) => ({ name: 'ResultCommitted', ...resultFor(job) })),
    )
    expect(await resultOf(1)).toEqual([resultFor(1), BigInt(await chain.now())])
    expect((await resultOf(99))[1]).toBe(0n)
  })

  it('are skipped when repeated, and never overwritten; the rest of the batch goes through', async () => {
    const recorded = await resultOf(1)
    const other = { ...resultFor(1), receiptHash: word(7) }
    const receipt = await commit([resultFor(1), other, resultFor(3)])
    expect(eventsOf(receipt, resultRegistryAbi)).toEqual([
      {
        name: 'ResultConflict',
        jobId: word(1),
        recordedReceiptHash: word(2001),
        offeredReceiptHash: word(7),
        offeredOutputCidHash: word(1001),
      },
      { name: 'ResultCommitted', ...resultFor(3) },
    ])
    expect(await resultOf(1)).toEqual(recorded)
  })

  it('conflict when any field differs', async () => {
    const changes = [
      { outputCidHash: word(8) },
      { leader: checksummed(9) },
      { matchCount: 1 },
      { noMatchCount: 1 },
      { verifiers: [checksummed(5)] },
      { verifiers: [checksummed(6), checksummed(5)] },
    ]
    const receipt = await commit(changes.map((change) => ({ ...resultFor(2), ...change })))
    expect(eventsOf(receipt, resultRegistryAbi).map(({ name }) => name)).toEqual(
      changes.map(() => 'ResultConflict'),
    )
  })

  it('may be empty batches, and two results for one job in one batch leave the first', async () => {
    expect((await commit([])).logs).toEqual([])
    const second = { ...resultFor(5), receiptHash: word(9) }
    const receipt = await commit([resultFor(5), second, resultFor(5)])
    expect(eventsOf(receipt, resultRegistryAbi).map(({ name }) => name)).toEqual([
      'ResultCommitted',
      'ResultConflict',
    ])
    expect((await resultOf(5))[0]).toEqual(resultFor(5))
  })
})
