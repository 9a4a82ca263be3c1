import { createPublicClient, custom, type Hex, pad, toHex } from 'viem'
import { describe, expect, it } from 'vitest'
import { waitForReceipt } from '../../../lib/chain/wait-for-receipt.ts'

const hash = pad('0x01', { size: 32 })

/** A chain whose one block is there before its receipts can be looked up, and which makes no other until it is asked often. */
function slowChain({ lookups, blocks = [1] }: { lookups: number; blocks?: readonly number[] }) {
  let asked = 0
  let heights = 0
  const answers: Record<string, () => unknown> = {
    eth_getTransactionReceipt: () => {
      asked += 1
      if (asked <= lookups) return null
      return { transactionHash: hash, blockNumber: toHex(1), status: '0x1', logs: [] }
    },
    eth_blockNumber: () => toHex(blocks[Math.min(heights++, blocks.length - 1)] ?? 1),
  }
  const request = async ({ method }: { method: string }) => {
    const answer = answers[method]
    if (answer === undefined) throw new Error(`no ${method} here`)
    return answer()
  }
  const publicClient = createPublicClient({
    transport: custom({ request }),
    pollingInterval: 1,
    cacheTime: 0,
  })
  return { chain: { publicClient } as never, asked: () => asked }
}

describe('a receipt', () => {
  it('is found also when it comes later than its block, and no other block follows', async () => {
    const { chain, asked } = slowChain({ lookups: 3 })
    expect(await waitForReceipt(chain, hash)).toMatchObject({ status: 'success', blockNumber: 1n })
    expect(asked()).toBe(4)
  })

  it('counts once it has its confirmations', async () => {
    const { chain, asked } = slowChain({ lookups: 0, blocks: [1, 2, 3] })
    await waitForReceipt(chain, hash, { confirmations: 3 })
    expect(asked()).toBe(3)
  })

  it('is waited for until the time is over, or the signal says so', async () => {
    const { chain } = slowChain({ lookups: Number.POSITIVE_INFINITY })
    const late: Promise<unknown> = waitForReceipt(chain, hash, { timeoutMs: 20 })
    await expect(late).rejects.toMatchObject({ name: 'WaitForTransactionReceiptTimeoutError' })
    const stop = new AbortController()
    const waiting = waitForReceipt(chain, hash as Hex, { signal: stop.signal })
    const why = new Error('no longer needed')
    stop.abort(why)
    await expect(waiting).rejects.toBe(why)
  })
})
