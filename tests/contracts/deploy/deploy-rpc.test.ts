import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTestClient, http, toHex } from 'viem'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { buildContracts } from '../../../contracts/build.ts'
import { startAnvil } from '../../../contracts/local/anvil.ts'
import { placeLocalCofhe } from '../../../contracts/local/cofhe.ts'
import { createChainReader } from '../../../lib/chain/clients.ts'
import { localFheChainId } from '../../../lib/known-networks.ts'
import { type HttpProxy, startProxy } from '../../e2e/proxy.ts'
import { deployBy, leaveSent } from './deploy-process.ts'

const arbiter = `0x${'a2'.repeat(20)}`

let proxy: HttpProxy
await buildContracts()
const folder = await mkdtemp(join(tmpdir(), 'svc-deploy-rpc-'))
const anvil = await startAnvil({ chainId: localFheChainId })
afterAll(async () => {
  await anvil.stop()
  await rm(folder, { recursive: true, force: true })
})
beforeEach(async () => {
  proxy = await startProxy()
  proxy.target = anvil.rpcUrl
})
afterEach(() => proxy.stop())

const methodOf = (body: string): string => (JSON.parse(body) as { method: string }).method
const none = (json: Record<string, unknown>) => ({ ...json, result: null })
const nonce = () =>
  createChainReader(anvil).publicClient.getTransactionCount({ address: anvil.accounts[0].address })
const key = () => ({ SVC_DEPLOYER_KEY: anvil.accounts[0].privateKey })
const args = (name: string, rpcUrl: string) => [
  ...['--network', 'local', '--rpc-url', rpcUrl, '--arbiter', arbiter],
  ...['--out', join(folder, name)],
]
const test = () => createTestClient({ mode: 'anvil', transport: http(anvil.rpcUrl) })

/** Makes no blocks while the work runs. */
const withoutBlocks = async <T>(work: () => Promise<T>): Promise<T> => {
  await test().setAutomine(false)
  try {
    return await work()
  } finally {
    await test().setAutomine(true)
  }
}

describe('contracts:deploy behind a chain RPC that is not at its best', () => {
  it('goes on when a transaction has arrived, whatever the answer says', async () => {
    const before = await nonce()
    const error = { code: -32_000, message: 'already known' }
    let lost = 0
    proxy.decide = ({ body }) => {
      if (methodOf(body) !== 'eth_sendRawTransaction' || lost > 0) return 'pass'
      lost += 1
      return { change: ({ id }) => ({ jsonrpc: '2.0', id, error }) }
    }
    const { code, err } = await deployBy(args('refused.json', proxy.url), key())
    expect([code, err]).toEqual([0, expect.stringContaining('Verified')])
    expect([lost, await nonce()]).toEqual([1, before + 3])
  })

  it('does not send again what waits and is not shown', async () => {
    let isHidden = true
    proxy.decide = ({ body }) =>
      isHidden && methodOf(body) === 'eth_getTransactionByHash' ? { change: none } : 'pass'
    const before = await nonce()
    const onLine = (line: string) => {
      if (!line.includes('sent before: NodeRegistry')) return
      isHidden = false
      void test()
        .setAutomine(true)
        .then(() => test().mine({ blocks: 1 }))
    }
    const { code, err } = await withoutBlocks(async () => {
      await leaveSent(args('hidden.json', anvil.rpcUrl), key())
      return deployBy(args('hidden.json', proxy.url), key(), { onLine })
    })
    expect([code, err]).toEqual([0, expect.stringContaining('Verified')])
    expect(await nonce()).toBe(before + 3)
  })

  it('sends nothing while the contract is shown, and its transaction is not', async () => {
    const before = await nonce()
    await withoutBlocks(async () => {
      await leaveSent(args('behind.json', anvil.rpcUrl), key())
      await test().mine({ blocks: 1 })
    })
    const hidden = ['eth_getTransactionByHash', 'eth_getTransactionReceipt']
    proxy.decide = ({ body }) => (hidden.includes(methodOf(body)) ? { change: none } : 'pass')
    const refused = await deployBy(args('behind.json', proxy.url), key())
    expect([refused.code, refused.err]).toEqual([
      75,
      expect.stringMatching(/shows a contract at 0x/),
    ])
    expect(await nonce()).toBe(before + 1)
    const { code } = await deployBy(args('behind.json', anvil.rpcUrl), key())
    expect([code, await nonce()]).toEqual([0, before + 3])
  })

  it('does not call a contract deployed whose code is not the compiled one', async () => {
    proxy.decide = ({ body }) =>
      methodOf(body) === 'eth_getCode'
        ? { change: (json) => ({ ...json, result: '0x60' }) }
        : 'pass'
    const { code, err } = await deployBy(args('other.json', proxy.url), key())
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(/is not what was to be: the code at 0x\S+ is not NodeRegistry's/),
    ])
    const again = await deployBy(args('other.json', anvil.rpcUrl), key())
    expect(again.code).toBe(0)
  })

  it.each([
    ['eth_getCode', /and not the contract at 0x/],
    ['eth_estimateGas', /^error: estimating \w+: /m],
  ])('says what it misses when the answer to %s is null', async (method, message) => {
    proxy.decide = ({ body }) => (methodOf(body) === method ? { change: none } : 'pass')
    const { code, err } = await deployBy(args(`${method}.json`, proxy.url), key())
    expect([code, err]).toEqual([75, expect.stringMatching(message)])
  })

  it('pays no more for gas than the plan said', async () => {
    const before = await nonce()
    let isDear = false
    const dear = (json: Record<string, unknown>) => ({
      ...json,
      result: { ...(json.result as object), baseFeePerGas: toHex(10n ** 13n) },
    })
    proxy.decide = ({ body }) => {
      const method = methodOf(body)
      if (method === 'eth_sendRawTransaction') isDear = true
      return isDear && method === 'eth_getBlockByNumber' ? { change: dear } : 'pass'
    }
    const { code, err } = await deployBy(args('dear.json', proxy.url), key())
    expect([code, err]).toEqual([
      75,
      expect.stringMatching(/PromptKeyStore failed: .*costs up to 12\d{3}\S* gwei, and the plan/),
    ])
    expect(await nonce()).toBe(before + 1)
    const again = await deployBy(args('dear.json', anvil.rpcUrl), key())
    expect([again.code, await nonce()]).toEqual([0, before + 3])
  })
})

it('contracts:deploy that waits for consent ends when it is told to stop', async () => {
  const rollup = await startAnvil({ chainId: 421_614 })
  try {
    await placeLocalCofhe({ rpcUrl: rollup.rpcUrl, chainId: rollup.chainId })
    const place = ['--network', 'arbitrum-sepolia', '--rpc-url', rollup.rpcUrl]
    const stop = new AbortController()
    const { code, err } = await deployBy(
      [...place, '--arbiter', arbiter, '--out', join(folder, 'stopped.json')],
      { SVC_DEPLOYER_KEY: rollup.accounts[0].privateKey },
      {
        confirm: () => {
          stop.abort(new Error('told to stop'))
          return new Promise(() => {})
        },
        signal: stop.signal,
      },
    )
    expect([code, err]).toEqual([1, expect.stringContaining('told to stop')])
  } finally {
    await rollup.stop()
  }
})
