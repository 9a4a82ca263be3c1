import type { Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createChainWriter } from '../../lib/chain/clients.ts'
import { runCommand } from '../../lib/host/run-command.ts'
import { builtBinary } from '../binary/executable.ts'
import { eventually } from '../eventually.ts'
import { anvilClient } from '../icl/chain/anvil-client.ts'
import { poolOn } from '../node/chain/pool-proxy.ts'
import { type DaemonWorld, startDaemonWorld } from './daemon-world.ts'

// Three daemons behind an RPC with the pool of geth: each job ends with an answer, whatever happens to the transaction of its delivery.

let world: DaemonWorld
let pool: ReturnType<typeof poolOn>
let test: ReturnType<typeof anvilClient>
beforeAll(async () => {
  world = await startDaemonWorld({ rpcProxy: true })
  pool = poolOn(world.rpc)
  test = anvilClient(world.chain.rpcUrl)
})
afterAll(() => world?.stop())
let seen = [0, 0, 0]
beforeEach(async () => {
  seen = (await logs()).map((log) => log.length)
  pool.sent.length = 0
  pool.leastFee = 0n
})

const logs = () => Promise.all([0, 1, 2].map((index) => world.logOf(index)))
/** What the daemons logged of transactions in this test. */
const said = async () => {
  const texts = (await logs()).map((log, index) => log.slice(seen[index]))
  return texts.join('\n').match(/(Transaction \d+|A reorganisation).*/g) ?? []
}
const svcNode = async (index: number, ...args: string[]) => {
  const env = { PATH: process.env.PATH, ...world.nodes[index]?.env }
  const { code, stdout, stderr } = await runCommand([await builtBinary(), ...args], {
    env,
    timeoutMs: 120_000,
  })
  return { code, stdout, stderr }
}
const refused = (status: number, error: object) => () => ({
  ...{ status, json: { jsonrpc: '2.0', id: 1, error } },
})
const internal = refused(200, { code: -32_603, message: 'Internal error' })
/** The node that has a transaction in the pool. */
const waiting = () =>
  eventually('a transaction waits', async () => {
    const [from] = pool.held.map((one) => one.from)
    const index = world.nodes.findIndex(({ address }) => address === from)
    return index < 0 ? undefined : index
  })

describe('a job is answered', () => {
  it('whose delivery pays too little at first: status, doctor and transactions show it, and the next job is answered, too', async () => {
    pool.leastFee = (await test.estimateFeesPerGas()).maxFeePerGas * 2n
    const asked = world.ask('What is dear?')
    const index = await waiting()
    const [status, doctor, listed] = await Promise.all([
      svcNode(index, 'status', '--json'),
      svcNode(index, 'doctor', '--json'),
      svcNode(index, 'transactions'),
    ])
    const [shown] = JSON.parse(status.stdout).transactions
    expect(shown).toMatchObject({ call: 'storeKey', fee_wei: expect.stringMatching(/^\d+$/) })
    const checks = JSON.parse(doctor.stdout).checks as { name: string; detail: string }[]
    const line = checks.find(({ name }) => name === 'transactions')?.detail
    expect(line).toMatch(/^nonce \d+, storeKey, for \d+ s, fee up to [\d.]+ gwei$/)
    expect([listed.code, listed.stdout]).toEqual([
      0,
      expect.stringMatching(/^Transaction nonce \d+, storeKey/),
    ])
    expect((await asked).status).toBe('accepted')
    expect((await said())[0]).toMatch(/is in no block: sent again with a fee of up to/)
    pool.leastFee = 0n
    expect((await world.ask('And the next?')).status).toBe('accepted')
  })

  it.each([
    ['limits requests', refused(429, {}), /does not take it now/],
    [
      'has a full pool',
      refused(200, { code: -32_000, message: 'txpool is full' }),
      /txpool is full/,
    ],
  ] as const)('when the RPC %s once', async (_, response, line) => {
    pool.next.push(response)
    expect((await world.ask('Once more?')).status).toBe('accepted')
    expect((await said())[0]).toMatch(line)
    expect(new Set(pool.sent).size).toBe(1)
  })

  it('when the RPC took the transaction and says that it failed', async () => {
    pool.next.push(async (pass) => {
      await pass()
      return internal()
    })
    expect((await world.ask('Failed?')).status).toBe('accepted')
    expect([await said(), pool.sent.length]).toEqual([[], 1])
  })

  it('when a reorganisation removes the delivery between send and receipt', async () => {
    pool.next.push(async (pass) => {
      const json = (await pass()) as { readonly result: Hex }
      // anvil responds before it has made the block: a reorganisation then would remove the block of the client's list.
      await test.waitForTransactionReceipt({ hash: json.result, pollingInterval: 20 })
      await test.request({ method: 'anvil_reorg', params: [1, []] } as never)
      return { status: 200, json }
    })
    expect((await world.ask('Gone?')).status).toBe('accepted')
    expect(new Set(pool.sent).size).toBe(1)
    expect(pool.sent.length).toBeGreaterThan(1)
  })
})

it("the command cancels another program's transaction while no daemon runs, and refuses to replace it", async () => {
  await world.kill(0)
  const { address, privateKey } = world.nodes[0]!
  const place = { rpcUrl: world.rpc.url, chainId: world.chain.chainId }
  const { walletClient } = createChainWriter({ ...place, account: privateKeyToAccount(privateKey) })
  pool.leastFee = (await test.estimateFeesPerGas()).maxFeePerGas * 2n
  const nonce = await test.getTransactionCount({ address })
  await walletClient.sendTransaction({ to: address, value: 1n, gas: 21_000n })
  const doctor = await svcNode(0, 'doctor')
  expect(doctor.stdout).toContain(`1 in no block: nonce ${nonce}, of another program`)
  const replaced = await svcNode(0, 'transactions', '--replace', String(nonce), '--yes')
  expect([replaced.code, replaced.stderr]).toEqual([
    1,
    expect.stringContaining(`--cancel ${nonce}`),
  ])
  const cancelled = await svcNode(0, 'transactions', '--cancel', String(nonce), '--yes')
  expect(cancelled).toMatchObject({ code: 0, stdout: 'No transaction waits for a block.\n' })
  expect(await test.getTransactionCount({ address })).toBe(nonce + 1)
})
