import { spawn } from 'node:child_process'
import {
  createPublicClient,
  createTestClient,
  createWalletClient,
  encodeFunctionData,
  formatEther,
  type Hex,
  http,
  parseEther,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, describe, expect, it } from 'vitest'
import { nodeRegistryAbi } from '../../../lib/abi/node-registry.ts'
import type { Clock } from '../../../lib/clock.ts'
import { systemClock, systemRandom } from '../../../lib/system.ts'
import { createRegistryReader, registerGas } from '../../../node/chain/registry.ts'
import { ownNetworkOf, registryEndpoint } from '../../../node/commands/reach.ts'
import { registerItself } from '../../../node/commands/register-itself.ts'
import { loadConfig } from '../../../node/config-file.ts'
import { openWallet } from '../../../node/wallet.ts'
import { builtBinary } from '../../binary/executable.ts'
import { eventually } from '../../eventually.ts'
import { createVirtualClock } from '../../virtual-clock.ts'
import { type Operator, startCommandWorld } from './world.ts'

const dayS = 86_400
const binary = await builtBinary()

const commands = await startCommandWorld()
afterAll(() => commands.stop())

const newFunded = async (ether = '3'): Promise<Operator> => {
  const operator = await commands.newOperator()
  await commands.fund(operator.address, ether)
  return operator
}

const callsOf = (out: string): readonly string[] =>
  (JSON.parse(out).transactions as { call: string }[]).map(({ call }) => call)

it('svc-node init says what registering takes', async () => {
  const node = await commands.newOperator()
  const { out } = await node.run(['init', '--force', '--scrypt-n', '4096', '--json'])
  expect(JSON.parse(out).registration).toEqual({
    min_stake_wei: '1000000000000000000',
    gas_wei: expect.stringMatching(/^[1-9]\d+$/),
    node_registry: commands.world.chain.contracts.nodeRegistry,
  })
})

describe('svc-node register', () => {
  it('says what it takes before it sends anything', async () => {
    const poor = await commands.newOperator()
    const { code, err } = await poor.run(['register', '--yes'])
    expect(code).toBe(1)
    expect(err).toMatch(/the wallet has 0 ETH, but this takes 1 ETH of stake and up to 0\.\d+ ETH/)
    expect(err).toContain(`ETH to ${poor.address}, then try again.`)
  })

  it('wants a confirmation, and sends nothing without one', async () => {
    const node = await newFunded()
    expect(await node.run(['register'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('register for tier 0 with a stake of 1 ETH'),
    })
    expect(JSON.parse((await node.run(['status', '--json'])).out).chain.registered).toBe(false)
  })

  it('registers once, and then brings the registration up to date', async () => {
    const node = await newFunded()
    const first = await node.run(['register', '--yes', '--json'])
    expect([first.code, callsOf(first.out)]).toEqual([0, ['register']])
    const again = await node.run(['register', '--yes', '--json'])
    expect([again.code, callsOf(again.out)]).toEqual([0, []])
    const more = ['--stake', '1.000000000000000001', '--tiers', '1,0']
    const grown = await node.run(['register', '--yes', '--json', ...more])
    expect([grown.code, callsOf(grown.out)]).toEqual([0, ['addStake', 'setModelTiers']])
    expect(JSON.parse(grown.out)).toMatchObject({
      active: true,
      stake_wei: '1000000000000000001',
      model_tiers: [0, 1],
    })
    const less = await node.run(['register', '--yes', '--stake', '1'])
    expect([less.code, less.out]).toEqual([0, expect.stringContaining('`svc-node unregister`')])
  })

  it('refuses stakes and tiers that the contract would not take', async () => {
    const node = await newFunded()
    for (const args of [
      ['--stake', '0.5'],
      ['--stake', 'much'],
      ['--tiers', '0,256'],
      ['--tiers', ''],
      // By mock it would get no jobs.
      ['--tiers', '1,9'],
    ]) {
      const { code, err } = await node.run(['register', '--yes', ...args])
      expect([args, code, err.split(' ')[0]]).toEqual([args, 2, 'error:'])
    }
  })

  it('pays no stake twice: it waits for what an earlier try has sent', async () => {
    const node = await newFunded('9')
    await node.run(['register', '--yes'])
    const transport = http(commands.world.chain.rpcUrl)
    const chain = createTestClient({ mode: 'anvil', transport })
    const { getTransactionCount } = createPublicClient({ transport })
    const more = ['register', '--yes', '--stake', '3']
    await chain.setAutomine(false)
    try {
      const env = { PATH: process.env.PATH ?? '', ...node.env }
      const first = spawn(binary, more, { env, stdio: 'ignore' })
      const { address } = node
      while ((await getTransactionCount({ address, blockTag: 'pending' })) < 2) {
        expect(first.exitCode).toBe(null)
        await systemClock.sleep(20)
      }
      // Its operator has lost patience.
      first.kill('SIGKILL')
      const { code, err } = await node.run(more)
      expect([code, err]).toEqual([75, expect.stringContaining('has 1 transaction in no block')])
    } finally {
      await chain.setAutomine(true)
      await chain.mine({ blocks: 1 })
    }
    const { code, out } = await node.run([...more, '--json'])
    expect([code, callsOf(out), JSON.parse(out).stake_wei]).toEqual([0, [], `3${'0'.repeat(18)}`])
  })

  it('pays no stake twice when it is started twice', async () => {
    const node = await newFunded('9')
    await node.run(['register', '--yes'])
    const more = () => node.start(['register', '--yes', '--stake', '3'])
    const codes = (await Promise.all([more(), more(), more()])).map(({ code }) => code)
    expect(codes).toContain(0)
    const { out } = await node.run(['status', '--json'])
    expect(JSON.parse(out).chain.stake_wei).toBe(`3${'0'.repeat(18)}`)
  })

  it('stakes at no other contract than the one that is meant', async () => {
    const node = await newFunded()
    const { nodeRegistry, promptKeyStore } = commands.world.chain.contracts
    const other = await node.run(['register', '--yes', '--node-registry', promptKeyStore])
    expect([other.code, other.err]).toEqual([1, expect.stringContaining(nodeRegistry)])
    expect((await node.run(['register', '--yes', '--node-registry', '0x1'])).code).toBe(2)
    expect((await node.run(['status'])).out).toContain('not registered')
    const meant = await node.run(['register', '--yes', '--node-registry', nodeRegistry])
    expect(meant.code).toBe(0)
  })

  it('ends with 75 when ICL or chain are away', async () => {
    const node = await commands.newOperator()
    for (const away of ['SVC_ICL_ENDPOINT', 'SVC_COFHE_ENDPOINT']) {
      const { code } = await node.run(['register', '--yes'], { [away]: 'http://127.0.0.1:9' })
      expect([away, code]).toEqual([away, 75])
    }
  })
})

describe('svc-node unregister', () => {
  it('starts unbonding, says until when, withdraws then, and may be repeated at any point', async () => {
    const node = await newFunded()
    expect(await node.run(['unregister', '--yes'])).toMatchObject({
      code: 0,
      out: `${node.address} is not registered.\n`,
    })
    await node.run(['register', '--yes'])
    expect((await node.run(['unregister', '--withdraw', '--yes'])).err).toContain('not unbonding')
    expect((await node.run(['unregister'])).code).toBe(2)

    const begun = await node.run(['unregister', '--yes'])
    expect(begun.code).toBe(0)
    expect(begun.out).toMatch(
      /is leaving: its stake of 1 ETH is free from .+ UTC \(in (7 d|6 d 23 h)/,
    )
    expect(begun.err).toContain('`svc-node run` registers the wallet again')
    const again = await node.run(['unregister', '--yes', '--json'])
    expect([again.code, JSON.parse(again.out).transaction]).toEqual([0, null])
    const early = await node.run(['unregister', '--withdraw', '--yes'])
    expect([early.code, early.err]).toEqual([75, expect.stringContaining('the stake is free from')])

    await commands.pass(7 * dayS + 60)
    const left = await node.run(['unregister', '--yes', '--json'])
    expect(JSON.parse(left.out)).toMatchObject({
      registered: false,
      transaction: expect.stringMatching(/^0x/),
    })
    const allowed = { SVC_REGISTER_UP_TO: '0' }
    const once = await node.run(['unregister', '--withdraw', '--yes'], allowed)
    expect([once.code, once.err]).toEqual([0, ''])
  })

  it('is undone by register', async () => {
    const node = await newFunded()
    await node.run(['register', '--yes'])
    await node.run(['unregister', '--yes'])
    const back = await node.run(['register', '--yes', '--json'])
    expect([callsOf(back.out), JSON.parse(back.out).active]).toEqual([['cancelUnbonding'], true])
  })
})

const codesOf = (out: string): readonly string[] =>
  (JSON.parse(out).troubles as { code: string }[]).map(({ code }) => code)

describe('svc-node status', () => {
  it('goes with the node from its start to its first heartbeat', async () => {
    const node = await commands.newOperator()
    const status = () => node.run(['status', '--json'], { SVC_KEY_PASSWORD: '' })
    const fresh = await status()
    expect([fresh.code, codesOf(fresh.out)]).toEqual([
      1,
      ['not-attested', 'unfunded', 'not-registered'],
    ])
    // Just enough to register.
    await commands.fund(node.address, '1.002')
    await node.run(['register', '--yes'])
    await node.run(['attest'])
    expect(codesOf((await status()).out)).toEqual(['unfunded', 'no-heartbeat'])

    const env = { PATH: process.env.PATH ?? '', ...node.env }
    const daemon = spawn(binary, ['run'], {
      env,
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    let log = ''
    daemon.stdout.on('data', (chunk) => {
      log += chunk
    })
    try {
      const hasStarted = () => /Heartbeat sent/.test(log) && /the wallet can/i.test(log)
      while (!hasStarted() && daemon.exitCode === null) await systemClock.sleep(50)
      expect(log).toContain(`Send gas money to ${node.address}`)
      await commands.fund(node.address, '1')
      const works = await eventually('it gets jobs', async () => {
        const told = await status()
        return told.code === 0 ? told : undefined
      })
      expect(codesOf(works.out)).toEqual([])
      expect(JSON.parse(works.out)).toMatchObject({
        address: node.address,
        eligible: true,
        chain: { active: true, stake_wei: '1000000000000000000' },
        models: [{ model_id: 'openai:gpt-4o-mini', key_present: true }],
        record: { metrics: { reputation_score: 100 } },
      })
      const { out } = await node.run(['status'])
      expect(out).toMatch(/^Gets jobs: +yes$/m)
      expect(out).toMatch(/^Certificate: +mock, valid for \d+ s/m)
    } finally {
      daemon.kill('SIGTERM')
    }
  })

  it('says what is away, and the rest all the same', async () => {
    const node = await newFunded()
    await node.run(['register', '--yes'])
    await node.run(['attest'])
    const noChain = await node.run(['status', '--json'], {
      SVC_COFHE_ENDPOINT: 'http://127.0.0.1:9',
    })
    expect(JSON.parse(noChain.out)).toMatchObject({
      icl: { reachable: true },
      chain: null,
      certificate: { backend: 'mock' },
    })
    expect(codesOf(noChain.out)).toContain('chain-unavailable')
    const noIcl = await node.run(['status', '--json'], { SVC_ICL_ENDPOINT: 'http://127.0.0.1:9' })
    expect(JSON.parse(noIcl.out)).toMatchObject({
      address: node.address,
      icl: { reachable: false },
      eligible: null,
    })
    expect(codesOf(noIcl.out)[0]).toBe('icl-unreachable')
  })

  it('names a missing provider key and a stake that is leaving', async () => {
    const node = await newFunded()
    await node.run(['register', '--yes'])
    await node.run(['attest'])
    await node.run(['unregister', '--yes'])
    const { code, out } = await node.run(['status'], { OPENAI_API_KEY: '' })
    expect(code).toBe(1)
    expect(out).toContain('Set OPENAI_API_KEY')
    expect(out).toMatch(/^Leaving: +stake free from .+ UTC$/m)
    expect(out).toContain('run `svc-node register` to stay')
  })
})

describe('svc-node run registers', () => {
  /** What `run` does for this operator: the first try, and later ones until `stop`. */
  async function start(
    { env, address }: Operator,
    clock: Clock = systemClock,
    changes: Record<string, string> = {},
    chainId = commands.world.chain.chainId,
  ) {
    const environment = { ...env, ...changes }
    const loaded = await loadConfig(environment, () => {})
    const lines: string[] = []
    const say = (line: string) => void lines.push(line)
    const context = {
      ...{ environment, clock, random: systemRandom, fetch, print: say, warn: say },
      terminal: { input: process.stdin, output: process.stderr },
    }
    const wallet = await openWallet(loaded, context)
    const network = await ownNetworkOf(loaded.config, context)
    const stop = new AbortController()
    const log = { info: say, warning: say }
    const at = { ...network, chain_id: chainId }
    await registerItself({ loaded, wallet, network: at, log }, context, stop.signal)
    const registry = createRegistryReader(registryEndpoint(network, env.SVC_COFHE_ENDPOINT ?? ''))
    return { lines, stop, registration: () => registry.registrationOf(address) }
  }

  it('once, with the smallest stake, and says so', async () => {
    const node = await newFunded()
    const { lines, registration } = await start(node)
    expect(lines).toEqual([expect.stringContaining('Done: register for tier 0 with a stake of 1')])
    expect(await registration()).toMatchObject({ stake: parseEther('1'), active: true })
    expect((await start(node)).lines).toEqual([])
  })

  it('with no fee that would pass the allowed amount', async () => {
    const { getGasPrice, getTransaction } = createPublicClient({
      transport: http(commands.world.chain.rpcUrl),
    })
    const most = (await getGasPrice()) + 1n
    const allowed = { SVC_REGISTER_UP_TO: formatEther(parseEther('1') + registerGas * most) }
    const { lines } = await start(await newFunded(), systemClock, allowed)
    const hash = /transaction (0x[0-9a-f]{64})/.exec(lines[0] ?? '')?.[1] as Hex
    expect((await getTransaction({ hash })).maxFeePerGas).toBeLessThanOrEqual(most)
  })

  it('as soon as the wallet has the money, of which it says how much and where to', async () => {
    const poor = await commands.newOperator()
    const clock = createVirtualClock()
    const { lines, stop, registration } = await start(poor, clock)
    expect(lines).toHaveLength(1)
    expect(lines[0]).toMatch(/Not registered yet, .*this takes 1 ETH of stake/)
    expect(lines[0]).toMatch(new RegExp(`Send at least 1\\.\\d+ ETH to ${poor.address}`))
    await commands.fund(poor.address, '3')
    await clock.advance(2_000)
    await eventually('it is registered', async () => (await registration()) !== undefined)
    await eventually('it says so', () => lines.some((line) => line.startsWith('Done: ')))
    stop.abort()
  })

  it.each([
    ['nothing is allowed', { SVC_REGISTER_UP_TO: '0' }, []],
    ['too little is allowed', { SVC_REGISTER_UP_TO: '1' }, [/1 ETH are allowed.*register_up_to/]],
    ['the ICL names another contract', { SVC_NODE_REGISTRY: `0x${'11'.repeat(20)}` }, [/another/]],
  ])('nothing while %s', async (_, changes, told) => {
    const { lines, stop, registration } = await start(await newFunded(), systemClock, changes)
    stop.abort()
    expect(lines).toHaveLength(told.length)
    for (const [at, pattern] of told.entries()) expect(lines[at]).toMatch(pattern)
    expect(await registration()).toBeUndefined()
  })

  it('nothing on another chain until the operator names the contract, and says so', async () => {
    const allowed = { SVC_REGISTER_UP_TO: '2' }
    const { lines, registration } = await start(await newFunded(), systemClock, allowed, 5)
    expect(lines).toEqual([expect.stringContaining('set node_registry (SVC_NODE_REGISTRY)')])
    expect(await registration()).toBeUndefined()
  })

  it('nothing more while the registration of an earlier run is pending, and none after it', async () => {
    const node = await newFunded('9')
    const { rpcUrl, contracts } = commands.world.chain
    const transport = http(rpcUrl)
    const chain = createTestClient({ mode: 'anvil', transport })
    const abi = nodeRegistryAbi
    await chain.setAutomine(false)
    const account = privateKeyToAccount(node.privateKey)
    await createWalletClient({ account, transport }).sendTransaction({
      ...{ chain: null, to: contracts.nodeRegistry, value: parseEther('1') },
      data: encodeFunctionData({ abi, functionName: 'register', args: [[0]] }),
    })
    const waiting = await start(node)
    waiting.stop.abort()
    await chain.mine({ blocks: 1 })
    await chain.setAutomine(true)
    expect(waiting.lines).toEqual([expect.stringContaining('1 transaction in no block yet')])
    expect((await start(node)).lines).toEqual([])
    expect(await waiting.registration()).toMatchObject({ stake: parseEther('1') })
  })
})
