import { createTestClient, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, expect, it } from 'vitest'
import { startAnvil } from '../../../contracts/local/anvil.ts'
import { createChainWriter } from '../../../lib/chain/clients.ts'
import { sendCall } from '../../../lib/chain/send.ts'
import { systemClock } from '../../../lib/system.ts'
import { systemFetch } from '../../../lib/system-fetch.ts'

const anvil = await startAnvil()
const test = createTestClient({ mode: 'anvil', transport: http(anvil.rpcUrl) })
afterAll(() => anvil.stop())

it('transactions that a process sends at once have nonces of their own, so that none is signed again', async () => {
  const account = privateKeyToAccount(anvil.accounts[1].privateKey)
  const raw = new Set<unknown>()
  const writer = createChainWriter({
    ...{ rpcUrl: anvil.rpcUrl, chainId: anvil.chainId, account, pollingIntervalMs: 10 },
    rpcFetch: async (request) => {
      const { method, params } = await request.clone().json()
      if (method === 'eth_sendRawTransaction') raw.add(params[0])
      return systemFetch(request)
    },
  })
  const call = { to: account.address, data: '0x', abi: [], functionName: 'none' } as const
  await Promise.all([1n, 2n, 3n].map((value) => sendCall(writer, { ...call, value })))
  expect(raw.size).toBe(3)
})

it('processes that share a wallet all get their transactions into a block, also before the first of them is in one', async () => {
  const account = privateKeyToAccount(anvil.accounts[0].privateKey)
  const { rpcUrl, chainId } = anvil
  const call = { to: account.address, data: '0x', abi: [], functionName: 'none' } as const
  await test.setAutomine(false)
  let waiting = 3
  const sent = [1n, 2n, 3n].map(async (value) => {
    // Each counts nonces for itself, as a process does.
    const writer = createChainWriter({ rpcUrl, chainId, account, pollingIntervalMs: 10 })
    try {
      return await sendCall(writer, { ...call, value })
    } finally {
      waiting -= 1
    }
  })
  const all = Promise.all(sent)
  all.catch(() => {})
  while (waiting > 0) {
    await systemClock.sleep(1_000)
    await test.mine({ blocks: 1 })
  }
  const receipts = await all
  expect(receipts.map(({ status }) => status)).toEqual(['success', 'success', 'success'])
  expect(new Set(receipts.map(({ transactionHash }) => transactionHash)).size).toBe(3)
})
