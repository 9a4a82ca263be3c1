import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Hex, parseTransaction } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { sendTransaction } from 'viem/actions'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startAnvil } from '../../../contracts/local/anvil.ts'
import { createChainWriter } from '../../../lib/chain/clients.ts'
import { type Sending, sendCall } from '../../../lib/chain/send.ts'
import type { Sender } from '../../../lib/chain/sender.ts'
import { Address } from '../../../lib/codecs.ts'
import { systemClock } from '../../../lib/system.ts'
import { type SendOptions, type Spent, sendingWith } from '../../../node/chain/sending.ts'
import { openTransactions } from '../../../node/journal/transactions.ts'
import { codeOf } from '../../code-of.ts'
import { startProxy } from '../../e2e/proxy.ts'
import { until } from '../../eventually.ts'
import { anvilClient } from '../../icl/chain/anvil-client.ts'
import { startPoolProxy } from './pool-proxy.ts'

const anvil = await startAnvil()
const test = anvilClient(anvil.rpcUrl)
const pool = await startPoolProxy(anvil.rpcUrl)
const folder = await mkdtemp(join(tmpdir(), 'svc-transactions-'))
afterAll(async () => {
  await pool.stop()
  await anvil.stop()
  await rm(folder, { recursive: true })
})

const account = privateKeyToAccount(anvil.accounts[1]!.privateKey)
const address = Address.parse(account.address.toLowerCase())
const to = anvil.accounts[2]!.address
const store = openTransactions(join(folder, 'config.json'), { chainId: anvil.chainId, address })
const files = () => readdir(join(folder, 'transactions')).catch(() => [])
const used = () => test.getTransactionCount({ address })

let lines: string[] = []
let running: AbortController
/** The node's sender, as a process of its own. */
const startNode = (
  changes: Partial<SendOptions> = {},
  rpcUrl = pool.url,
): Sending & { readonly sender: Sender } => {
  const place = { rpcUrl, chainId: anvil.chainId, account, pollingIntervalMs: 20 }
  const note = (line: string) => void lines.push(line)
  const log = { info: note, warning: note }
  const usual = { store, maxFeeGwei: undefined, log, stuckMs: 300, signal: running.signal }
  return sendingWith(createChainWriter(place), { ...usual, ...changes })
}
const call = { to, data: '0x', abi: [], functionName: 'storeKey' } as const
const statusOf = async (sent: ReturnType<typeof sendCall>) => (await sent).status
const signedIn = (sent: readonly Hex[]) => new Set(sent).size
/** Has the pool want so many times the fees that the chain names. */
const makeDear = async (times: bigint) => {
  pool.leastFee = (await test.estimateFeesPerGas()).maxFeePerGas * times
}
const refusal = (code: number, message: string) => () => ({
  ...{ status: 200, json: { jsonrpc: '2.0', id: 1, error: { code, message } } },
})

beforeEach(() => {
  lines = []
  running = new AbortController()
  pool.sent.length = 0
})
afterEach(async () => {
  running.abort()
  pool.leastFee = 0n
  pool.held.length = 0
  await test.setAutomine(true)
  await rm(join(folder, 'transactions'), { recursive: true, force: true })
})

describe('a transaction that pays too little', () => {
  it('is replaced with higher fees, lands, and leaves no file', async () => {
    await makeDear(2n)
    expect(await statusOf(sendCall(startNode(), call))).toBe('success')
    expect(signedIn(pool.sent)).toBeGreaterThan(1)
    expect(lines[0]).toMatch(
      /^Transaction \d+ \(storeKey\) is in no block: sent again with a fee of up to [\d.]+ gwei$/,
    )
    expect(lines.at(-1)).toMatch(/ is in a block$/)
    expect(await files()).toEqual([])
  })

  it('is told once it is in a block, with the gas and the wei that the wallet paid', async () => {
    const before = await test.getBalance({ address })
    const spent: Spent[] = []
    await sendCall(startNode({ onSpent: (one) => spent.push(one) }), call)
    const paid = before - (await test.getBalance({ address }))
    expect(spent).toEqual([{ gas: 21_000n, wei: paid }])
  })

  it('waits when the limit of the operator is reached, and the log names the setting', async () => {
    await makeDear(20n)
    const stop = new AbortController()
    const most = Number(pool.leastFee / 10n)
    const sent = sendCall(startNode({ maxFeeGwei: most / 1e9 }), call, stop.signal)
    await until(() => lines.some((line) => line.includes('max_fee_gwei sets the limit')))
    const fees = pool.sent.map((raw) => parseTransaction(raw).maxFeePerGas ?? 0n)
    expect(Math.max(...fees.map(Number))).toBeLessThanOrEqual(most)
    stop.abort(new Error('the lease is over'))
    await expect(sent).rejects.toThrow('the lease is over')
  })

  it('costs no more than its caller allowed, also after a restart, until the operator raises it', async () => {
    await makeDear(20n)
    const mostWei = pool.leastFee / 10n
    const stop = new AbortController()
    const sent = sendCall(startNode(), { ...call, mostWei }, stop.signal)
    await until(() => pool.held.length > 0)
    stop.abort(new Error('over'))
    await expect(sent).rejects.toThrow('over')
    running.abort()
    running = new AbortController()
    startNode()
    await until(() => lines.some((line) => line.includes('register_up_to')))
    const highest = () =>
      Math.max(...pool.sent.map((raw) => Number(parseTransaction(raw).maxFeePerGas)))
    expect(highest()).toBeLessThanOrEqual(Number(mostWei))
    const over = new AbortController()
    const raised = startNode().sender.raise(await used(), 'replace', over.signal)
    await until(() => highest() > mostWei)
    over.abort()
    await expect(raised).rejects.toThrow()
  })

  it('is cancelled, once its call is of no use, by the process after a restart, which sends its own next', async () => {
    await makeDear(20n)
    const lease = new AbortController()
    const sent = sendCall(startNode(), { ...call, isOnlyForNow: true }, lease.signal)
    await until(() => pool.held.length > 0)
    lease.abort(new Error('the lease is over'))
    await expect(sent).rejects.toThrow('the lease is over')
    running.abort()
    await until(async () => (await store.all()).some((one) => one.isGivenUp === true))
    const nonce = await used()
    running = new AbortController()
    await makeDear(2n)
    expect(await statusOf(sendCall(startNode(), call))).toBe('success')
    expect(await used()).toBe(nonce + 2)
    expect(lines.join()).toContain(
      `Transaction ${nonce} (storeKey) is in no block and not needed: replaced by an empty transfer`,
    )
    await until(async () => (await files()).length === 0)
  })

  it('of another program is replaced by an empty transfer, so that those after it land', async () => {
    await makeDear(2n)
    const { walletClient } = createChainWriter({ ...anvil, rpcUrl: pool.url, account })
    await sendTransaction(walletClient, { to, value: 1n, gas: 21_000n })
    const nonce = await used()
    expect(await statusOf(sendCall(startNode(), call))).toBe('success')
    expect(await used()).toBe(nonce + 2)
  })

  it.each(['replace', 'cancel'] as const)('obeys another process: %s', async (how) => {
    await makeDear(2n)
    const sent = sendCall(startNode({ stuckMs: 600_000 }), call)
    const ended = codeOf(sent)
    await until(() => pool.held.length > 0)
    const nonce = await used()
    pool.leastFee = 0n
    // It leaves the file to the daemon, which would not find the last version else.
    const shared = { ...store, remove: async () => {} }
    const { sender } = startNode({ stuckMs: 600_000, store: shared })
    await sender.raise(nonce, how, new AbortController().signal).catch(() => {})
    expect(await ended).toBe(how === 'cancel' ? 'chain-cancelled' : undefined)
    expect(await used()).toBe(nonce + 1)
  })
})

describe('an RPC', () => {
  it.each([
    ['that limits requests', () => ({ status: 429, json: {}, headers: { 'retry-after': '1' } })],
    ['whose pool is full', refusal(-32_000, 'txpool is full')],
    ['that fails inside', refusal(-32_603, 'Internal error')],
  ] as const)('%s gets the same bytes again', async (_, response) => {
    pool.next.push(response, response)
    const nonce = await used()
    expect(await statusOf(sendCall(startNode({ stuckMs: 60_000 }), call))).toBe('success')
    expect([signedIn(pool.sent), pool.sent.length, await used()]).toEqual([1, 3, nonce + 1])
    expect(lines[0]).toMatch(/the chain RPC does not take it now, sending the same again: /)
  })

  it('that took the transaction but says that it failed is not asked to take another one', async () => {
    pool.next.push(async (pass) => {
      await pass()
      return refusal(-32_603, 'Internal error')()
    })
    expect(await statusOf(sendCall(startNode(), call))).toBe('success')
    expect([pool.sent.length, lines]).toEqual([1, []])
  })
})

describe('an RPC whose receipts name no price of the gas', () => {
  it('does not hold up the caller, who is told the gas alone', async () => {
    const proxy = await startProxy()
    proxy.target = anvil.rpcUrl
    proxy.decide = ({ body }) =>
      body.includes('eth_getTransactionReceipt')
        ? { change: (json) => ({ ...json, result: withoutPrice(json.result) }) }
        : 'pass'
    const spent: Spent[] = []
    const node = startNode({ onSpent: (one) => spent.push(one) }, proxy.url)
    try {
      expect(await statusOf(sendCall(node, call, AbortSignal.timeout(4_000)))).toBe('success')
    } finally {
      await proxy.stop()
    }
    expect(spent).toEqual([{ gas: 21_000n, wei: undefined }])
  })
})

const withoutPrice = (receipt: unknown) => receipt && { ...receipt, effectiveGasPrice: undefined }

describe('a reorganisation', () => {
  const reorg = (depth: number) =>
    test.request<{ Method: string; Parameters: [number, never[]]; ReturnType: null }>({
      method: 'anvil_reorg',
      params: [depth, []],
    })

  it('that removes a transaction has the same bytes sent again, and the log says so', async () => {
    const receipt = await sendCall(startNode(), call)
    const nonce = await used()
    await reorg(1)
    expect(await used()).toBe(nonce - 1)
    await until(async () => (await used()) === nonce)
    expect(pool.sent).toEqual([pool.sent[0], pool.sent[0]] as Hex[])
    expect((await test.getTransactionReceipt({ hash: receipt.transactionHash })).status).toBe(
      'success',
    )
    await until(() => lines.length === 2)
    expect(lines).toEqual([
      `A reorganisation of the chain removed transaction ${nonce - 1} (storeKey) from its block: sent again`,
      `Transaction ${nonce - 1} (storeKey) is in a block`,
    ])
  })

  it('leaves no gap: the next transaction lands', async () => {
    const node = startNode()
    await sendCall(node, call)
    await reorg(1)
    expect(await statusOf(sendCall(node, call))).toBe('success')
  })
})

it('a file that holds another call than the wallet signed changes nothing', async () => {
  const other = privateKeyToAccount(anvil.accounts[3]!.privateKey)
  const raw = await other.signTransaction({
    to,
    value: 5n,
    gas: 21_000n,
    nonce: 0,
    gasPrice: 1n,
    chainId: anvil.chainId,
  })
  const fees = { gasPrice: 1n }
  const kept = {
    nonce: 0,
    call: 'x',
    request: { to, data: '0x', gas: 1n },
    fees,
    versions: [raw],
  } as const
  await store.save({ ...kept, cancels: [], firstSentAt: systemClock.now(), isGivenUp: false })
  expect([(await files()).length, await store.all()]).toEqual([1, []])
})
