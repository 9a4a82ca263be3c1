import { pad, toHex } from 'viem'
import { afterAll, describe, expect, it } from 'vitest'
import { resultRegistryAbi } from '../../lib/abi/result-registry.ts'
import { eventsOf, read, revertOf, send, startTestChain } from './test-chain.ts'

const word = (value: number) => pad(toHex(value), { size: 32 })

const chain = await startTestChain()
afterAll(() => chain.stop())

const resultFor = (job: number, receipt = 2000 + job) => ({
  jobId: word(job),
  receiptHash: word(receipt),
})
const call = (functionName: string, args: readonly unknown[]) => ({
  address: chain.resultRegistry,
  abi: resultRegistryAbi,
  functionName,
  args,
})
const commit = (results: readonly unknown[], as = 1) =>
  send(chain.wallet(as), call('commitResults', [results]))
const resultOf = (job: number) => read(chain, call('resultOf', [word(job)]))
const committed = (job: number) => ({ name: 'ResultCommitted', ...resultFor(job) })
const conflict = (job: number, receipt: number) => ({
  name: 'ResultConflict',
  jobId: word(job),
  recordedReceiptHash: word(2000 + job),
  offeredReceiptHash: word(receipt),
})

describe('committed results', () => {
  it('are written by the coordinator only', async () => {
    const [role] = [pad(toHex('coordinator'), { dir: 'right', size: 32 })]
    expect(await revertOf(commit([resultFor(1)], 4))).toEqual([
      'MissingRole',
      role,
      chain.addressOf(4),
    ])
  })

  it('can be read by job', async () => {
    const receipt = await commit([resultFor(1), resultFor(2)])
    expect(eventsOf(receipt, resultRegistryAbi)).toEqual([committed(1), committed(2)])
    expect(await resultOf(1)).toBe(word(2001))
    expect(await resultOf(99)).toBe(word(0))
  })

  it('are skipped when repeated, and never overwritten; the rest of the batch goes through', async () => {
    const receipt = await commit([resultFor(1), resultFor(1, 7), resultFor(1, 0), resultFor(3)])
    expect(eventsOf(receipt, resultRegistryAbi)).toEqual([
      conflict(1, 7),
      conflict(1, 0),
      committed(3),
    ])
    expect(await resultOf(1)).toBe(word(2001))
  })

  it('may be empty batches, and two results for one job in one batch leave the first', async () => {
    expect((await commit([])).logs).toEqual([])
    const receipt = await commit([resultFor(5), resultFor(5, 9), resultFor(5)])
    expect(eventsOf(receipt, resultRegistryAbi)).toEqual([committed(5), conflict(5, 9)])
    expect(await resultOf(5)).toBe(word(2005))
  })

  it('have a hash: zero records nothing', async () => {
    expect((await commit([resultFor(6, 0)])).logs).toEqual([])
    const receipt = await commit([resultFor(6)])
    expect(eventsOf(receipt, resultRegistryAbi)).toEqual([committed(6)])
  })
})
