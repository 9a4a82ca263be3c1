import { privateKeyToAccount } from 'viem/accounts'
import { sendTransaction } from 'viem/actions'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { startAnvil } from '../../../contracts/local/anvil.ts'
import { createViemChain } from '../../../icl/chain/viem.ts'
import { type ChainWriter, createChainWriter } from '../../../lib/chain/clients.ts'
import type { ContractCall } from '../../../lib/chain/send.ts'
import { createSender, type Sender } from '../../../lib/chain/sender.ts'
import type { Address } from '../../../lib/codecs.ts'
import { systemClock } from '../../../lib/system.ts'
import { until } from '../../eventually.ts'
import { anvilClient } from './anvil-client.ts'

const stuckMs = 150

const anvil = await startAnvil()
const test = anvilClient(anvil.rpcUrl)
afterAll(() => anvil.stop())
beforeEach(async () => {
  await test.setAutomine(true)
  // A sender may have sent once more what the test before had it lose.
  await forgetAll()
})

const writer = () =>
  createChainWriter({
    ...anvil,
    account: privateKeyToAccount(anvil.accounts[1].privateKey),
    pollingIntervalMs: 10,
  })
const newSender = (from: ChainWriter = writer()) =>
  createSender(from, systemClock, { pollMs: 10, stuckMs })
/** A writer some of whose requests are answered by the test. */
const withRequests = (changes: Partial<ChainWriter['publicClient']>): ChainWriter => {
  const whole = writer()
  return { ...whole, publicClient: { ...whole.publicClient, ...changes } }
}
const sendTo = (sender: Sender) => {
  const to = anvil.accounts[0].address
  const call: ContractCall = { to, data: '0x', abi: [], functionName: 'nothing' }
  const sent = sender.send(call, 'result')
  sent.catch(() => {})
  return sent
}
const sender = () => anvil.accounts[1].address
const pool = async () => {
  const { pending, queued } = await test.getTxpoolContent()
  return [pending, queued].flatMap((part) =>
    Object.values(part).flatMap((byNonce) => Object.values(byNonce)),
  )
}
// One by one, this chain would drop none of those that wait for an earlier nonce.
const forgetAll = () =>
  test.request<{ Method: string; Parameters: []; ReturnType: null }>({
    method: 'anvil_dropAllTransactions',
    params: [],
  })
const minedWhen = async (sent: Promise<unknown>) => {
  let ended = false
  const note = () => {
    ended = true
  }
  sent.then(note, note)
  await until(async () => {
    await test.mine({ blocks: 1 })
    return ended
  })
}

it('a chain that was started anew ends the wait for what it forgot, and takes what is sent then', async () => {
  await test.setNonce({ address: sender(), nonce: 100 })
  await test.setAutomine(false)
  const some = newSender()
  const lost = [sendTo(some), sendTo(some)]
  await until(async () => (await pool()).length === 2)
  await test.setNonce({ address: sender(), nonce: 0 })
  let isOver = false
  void Promise.allSettled(lost).then(() => {
    isOver = true
  })
  // What it sends once more meanwhile is forgotten, too.
  await until(async () => {
    await forgetAll()
    return isOver
  })
  for (const one of lost) await expect(one).rejects.toMatchObject({ code: 'chain-nonce-gap' })
  await test.setAutomine(true)
  expect((await sendTo(some)).status).toBe('success')
})

it('a chain that makes no blocks is told of once, in the log and in the faults, for as long as it lasts', async () => {
  await test.setAutomine(false)
  const told: string[] = []
  const [nodeRegistry, promptKeyStore, resultRegistry] = [5, 6, 7].map(
    (digit) => `0x${String(digit).repeat(40)}` as Address,
  ) as [Address, Address, Address]
  const chain = createViemChain({
    ...{ ...anvil, nodeRegistry, promptKeyStore, resultRegistry, confirmations: 1, stuckMs },
    account: privateKeyToAccount(anvil.accounts[1].privateKey),
    pollingIntervalMs: 10,
    clock: systemClock,
    onStalled: (reason) => told.push(reason),
  })
  const stallOf = async () => (await chain.findFaults()).find((fault) => /no block/.test(fault))
  expect(await stallOf()).toBeUndefined()
  const sent = chain.commitResults([])
  await until(async () => told.length > 0)
  expect(told[0]).toMatch(
    /^no block takes the transactions of the coordinator \(1, for \d+ s\): check whether the chain/,
  )
  expect(await stallOf()).toMatch(/^no block takes/)
  await minedWhen(sent)
  await sent
  expect(await stallOf()).toBeUndefined()
  expect(told).toHaveLength(1)
})

it('several nonces that nobody fills are filled at once', async () => {
  await test.setAutomine(false)
  const nonce = await test.getTransactionCount({ address: sender() })
  const { walletClient } = writer()
  for (let index = 0; index < 5; index++) {
    const gas = 21_000n
    await sendTransaction(walletClient, { to: sender(), value: 0n, gas, nonce: nonce + index })
  }
  const sent = sendTo(newSender())
  await until(async () => (await pool()).length === 6)
  await forgetAll()
  await until(async () => (await pool()).length === 5)
  await minedWhen(sent)
  expect(await test.getTransactionCount({ address: sender() })).toBe(nonce + 6)
})

describe('an RPC', () => {
  it('that cannot give a receipt for a while does not make the transaction a stranger’s', async () => {
    let failures = 0
    const { getTransactionReceipt } = writer().publicClient
    const trouble = withRequests({
      getTransactionReceipt: (async (args) => {
        if (failures++ < 12) throw new Error('too many requests')
        return getTransactionReceipt(args)
      }) as typeof getTransactionReceipt,
    })
    expect((await sendTo(newSender(trouble))).status).toBe('success')
    expect(failures).toBeGreaterThan(12)
  })

  it('that refuses to replace what was dropped ends the wait, and says why', async () => {
    await test.setAutomine(false)
    let sends = 0
    const { sendRawTransaction } = writer().publicClient
    const trouble = withRequests({
      sendRawTransaction: (async (args) => {
        if (sends++ > 0) throw new Error('insufficient funds for gas * price + value')
        return sendRawTransaction(args)
      }) as typeof sendRawTransaction,
    })
    const sent = sendTo(newSender(trouble))
    await until(async () => (await pool()).length === 1)
    await forgetAll()
    await expect(sent).rejects.toThrow('insufficient funds')
  })

  it('that finds fees too low is not mistaken for another process of the account', async () => {
    const trouble = withRequests({
      sendRawTransaction: async () => {
        throw new Error('transaction underpriced: gas tip cap 0, minimum needed 1')
      },
    })
    await expect(sendTo(newSender(trouble))).rejects.toThrow('minimum needed')
  })
})
