import { type Hex, parseEther } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { sendTransaction } from 'viem/actions'
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
  pool.behind = 0
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

/** How a job ends, and what a node says meanwhile: its log, status and doctor. */
async function trouble(prompt: string, line: RegExp) {
  const failure = await world.ask(prompt).then(JSON.stringify, (error: Error) => error.message)
  const texts = (await logs()).map((log, index) => log.slice(seen[index]))
  const index = texts.findIndex((log) => line.test(log))
  return { failure, index, log: texts.join('\n') }
}
const doctorOf = async (index: number, name: string) => {
  const { stdout } = await svcNode(index, 'doctor', '--json')
  const checks = JSON.parse(stdout).checks as { name: string; status: string; detail: string }[]
  return checks.find((check) => check.name === name)
}
const statusOf = async (index: number) =>
  JSON.parse((await svcNode(index, 'status', '--json')).stdout) as {
    takes_work: boolean
    troubles: { code: string; message: string }[]
  }

describe('a job is not answered, and the nodes say why, until it is mended', () => {
  it('when their RPC is 30 blocks behind', async () => {
    await test.mine({ blocks: 30 })
    pool.behind = 30
    const line =
      /aborted: the chain RPC at 127\.0\.0\.1:\d+ is \d+ or more blocks behind: its newest/
    const { failure, index, log } = await trouble('Late?', line)
    expect(failure).toContain('is behind the chain')
    expect(log).toMatch(line)
    const found = await eventually('the block is old enough for doctor', async () => {
      const check = await doctorOf(index, 'chain')
      return check?.status === 'failed' ? check : undefined
    })
    expect(found.detail).toMatch(/is 30 or more blocks behind: its newest block is \d+, \d+ s old/)
    const troubles = (await statusOf(index)).troubles
    expect(troubles.map(({ code }) => code)).toContain('chain-behind')
    pool.behind = 0
    expect(await doctorOf(index, 'chain')).toMatchObject({ status: 'ok' })
    expect((await world.ask('And now?')).status).toBe('accepted')
  })

  it('when their wallets are empty, and they take none meanwhile', async () => {
    const setAll = (value: bigint) =>
      Promise.all(world.nodes.map(({ address }) => test.setBalance({ address, value })))
    await setAll(parseEther('0.00001'))
    const line = /Taking no work: the wallet cannot pay for an answer\. Send gas money to 0x/
    const { failure, index } = await trouble('Poor?', line)
    expect(failure).toContain('wallet-empty')
    expect(await doctorOf(index, 'wallet')).toMatchObject({
      status: 'failed',
      detail: expect.stringContaining('too little for one answer: the node takes no work'),
    })
    const { takes_work, troubles } = await statusOf(index)
    expect([takes_work, troubles.map(({ code }) => code)]).toEqual([false, ['unfunded']])
    await setAll(parseEther('1'))
    await eventually('all take work again', async () => {
      const texts = (await logs()).map((log, at) => log.slice(seen[at]))
      return texts.every((log) => !line.test(log) || /can pay for answers again/.test(log))
    })
    expect((await world.ask('Rich?')).status).toBe('accepted')
  })
})

it("the command cancels another program's transaction while no daemon runs, and refuses to replace it", async () => {
  await world.kill(0)
  const { address, privateKey } = world.nodes[0]!
  const place = { rpcUrl: world.rpc.url, chainId: world.chain.chainId }
  const { walletClient } = createChainWriter({ ...place, account: privateKeyToAccount(privateKey) })
  pool.leastFee = (await test.estimateFeesPerGas()).maxFeePerGas * 2n
  const nonce = await test.getTransactionCount({ address })
  await sendTransaction(walletClient, { to: address, value: 1n, gas: 21_000n })
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
