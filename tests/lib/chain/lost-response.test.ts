import type { TransactionReceipt } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startAnvil } from '../../../contracts/local/anvil.ts'
import { createChainWriter } from '../../../lib/chain/clients.ts'
import { sendCall } from '../../../lib/chain/send.ts'
import { createSender } from '../../../lib/chain/sender.ts'
import { systemClock } from '../../../lib/system.ts'
import { type Fate, startProxy } from '../../e2e/proxy.ts'
import { anvilClient } from '../../icl/chain/anvil-client.ts'

const anvil = await startAnvil()
const test = anvilClient(anvil.rpcUrl)
const proxy = await startProxy()
proxy.target = anvil.rpcUrl
afterAll(async () => {
  await proxy.stop()
  await anvil.stop()
})
let before = 0
beforeEach(async () => {
  before = await used('pending')
})
afterEach(async () => {
  proxy.decide = undefined
  await test.setAutomine(true)
  await test.mine({ blocks: 1 })
})

const address = () => anvil.accounts[0].address
const used = (blockTag: 'pending' | 'latest') =>
  test.getTransactionCount({ address: address(), blockTag })
const writer = () => {
  const account = privateKeyToAccount(anvil.accounts[0].privateKey)
  const { chainId } = anvil
  return createChainWriter({ rpcUrl: proxy.url, chainId, account, pollingIntervalMs: 10 })
}
const callOf = (value: bigint) =>
  ({ to: address(), data: '0x', abi: [], functionName: 'none', value }) as const

/** Decides on the broadcasts of transactions, the first one being 1; all else passes. */
const broadcasts = (decide: (count: number, body: string) => Fate | Promise<Fate>) => {
  let count = 0
  proxy.decide = ({ body }) =>
    body.includes('eth_sendRawTransaction') ? decide(++count, body) : 'pass'
}
// The chain has it, and the connection ends within the response.
const lost = 'cut-answer'

/** Sees one transaction into a block once it waits for one. */
async function minedInTheEnd(sent: Promise<TransactionReceipt>) {
  sent.catch(() => {})
  while ((await used('pending')) === before) await systemClock.sleep(10)
  await test.setAutomine(true)
  await test.mine({ blocks: 1 })
  expect((await sent).status).toBe('success')
  expect((await used('pending')) - before).toBe(1)
}

describe('a transaction whose response is lost', () => {
  it('is not sent again when a block has taken it meanwhile', async () => {
    broadcasts((count) => (count === 1 ? lost : 'pass'))
    const receipt = await sendCall(writer(), callOf(1n))
    expect(receipt.status).toBe('success')
    expect((await used('pending')) - before).toBe(1)
  })

  it('is not sent again while it waits for a block', async () => {
    await test.setAutomine(false)
    broadcasts((count) => (count === 1 ? lost : 'pass'))
    await minedInTheEnd(sendCall(writer(), callOf(1n)))
  })

  it('is found by its hash when no response ever comes', async () => {
    broadcasts(() => lost)
    expect((await sendCall(writer(), callOf(1n))).status).toBe('success')
    expect((await used('pending')) - before).toBe(1)
  })

  it('is handed out again, as it is, when it had not arrived', async () => {
    broadcasts((count) => (count <= 2 ? 'lose-request' : 'pass'))
    expect((await sendCall(writer(), callOf(1n))).status).toBe('success')
    expect((await used('pending')) - before).toBe(1)
  })
})

it('a transaction that the chain has is waited for while its receipt cannot be read', async () => {
  let asked = 0
  proxy.decide = ({ body }) => {
    if (!body.includes('eth_getTransactionReceipt') || ++asked > 1) return 'pass'
    const error = { code: -32_000, message: 'the index is being built' }
    return { status: 200, json: { jsonrpc: '2.0', id: JSON.parse(body).id, error } }
  }
  expect((await sendCall(writer(), callOf(1n))).status).toBe('success')
  expect((await used('pending')) - before).toBe(1)
})

describe('a transaction that a proxy passes on twice', () => {
  const twice = () =>
    broadcasts(async (_, body): Promise<Fate> => {
      const headers = { 'content-type': 'application/json' }
      await fetch(anvil.rpcUrl, { method: 'POST', headers, body })
      return 'pass'
    })

  it('is one when the second finds its nonce used', async () => {
    twice()
    expect((await sendCall(writer(), callOf(1n))).status).toBe('success')
    expect((await used('pending')) - before).toBe(1)
  })

  it('is one when the chain knows the second already', async () => {
    await test.setAutomine(false)
    twice()
    await minedInTheEnd(sendCall(writer(), callOf(1n)))
  })

  it('is one for the ICL, too', async () => {
    twice()
    const sender = createSender(writer(), systemClock, { pollMs: 10, stuckMs: 10_000 })
    expect((await sender.send(callOf(0n), 'result')).status).toBe('success')
    expect((await used('pending')) - before).toBe(1)
  })
})

describe('transactions that one process sends at the same time', () => {
  it('do not wait for one whose fees cannot be read yet', async () => {
    let goOn = () => {}
    const stalled = new Promise<void>((resolve) => {
      goOn = resolve
    })
    let asked = 0
    proxy.decide = async ({ body }): Promise<Fate> => {
      if (body.includes('eth_getBlockByNumber') && ++asked === 1) await stalled
      return 'pass'
    }
    const one = writer()
    const slow = sendCall(one, callOf(1n))
    slow.catch(() => {})
    while (asked === 0) await systemClock.sleep(10)
    expect((await sendCall(one, callOf(2n))).status).toBe('success')
    goOn()
    expect((await slow).status).toBe('success')
  })

  it('go on after one that the chain refuses', async () => {
    const refusal = { code: -32_000, message: 'insufficient funds for transfer' }
    broadcasts((count, body) => {
      if (count > 1) return 'pass'
      return { status: 200, json: { jsonrpc: '2.0', id: JSON.parse(body).id, error: refusal } }
    })
    const one = writer()
    await expect(sendCall(one, callOf(1n))).rejects.toThrow(/insufficient funds/i)
    expect((await sendCall(one, callOf(2n))).status).toBe('success')
  })
})
