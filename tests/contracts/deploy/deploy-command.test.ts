import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as Keystore from 'ox/Keystore'
import { createTestClient, type Hex, http, parseEther } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, describe, expect, it } from 'vitest'
import { buildContracts } from '../../../contracts/build.ts'
import { type Anvil, startAnvil } from '../../../contracts/local/anvil.ts'
import { placeLocalCofhe } from '../../../contracts/local/cofhe.ts'
import { nodeRegistryAbi } from '../../../lib/abi/node-registry.ts'
import { createChainReader } from '../../../lib/chain/clients.ts'
import { taskManager } from '../../../lib/chain/task-manager.ts'
import { parseDeployment } from '../../../lib/deployment.ts'
import { localFheChainId } from '../../../lib/known-networks.ts'
import { deployBy, leaveSent, startDeploy } from './deploy-process.ts'

const arbitrumSepolia = 421_614
const arbiter = `0x${'a2'.repeat(20)}`
const coordinator = `0x${'c0'.repeat(20)}`
const treasury = `0x${'7e'.repeat(20)}`

await buildContracts()
const folder = await mkdtemp(join(tmpdir(), 'svc-deploy-'))
const local = await startAnvil({ chainId: localFheChainId })
const rollup = await startAnvil({ chainId: arbitrumSepolia })
afterAll(async () => {
  await Promise.all([local.stop(), rollup.stop()])
  await rm(folder, { recursive: true, force: true })
})

const keyOf = (anvil: Anvil) => ({ SVC_DEPLOYER_KEY: anvil.accounts[0].privateKey })
const reader = (anvil: Anvil) => createChainReader(anvil).publicClient
const nonceOf = (anvil: Anvil) =>
  reader(anvil).getTransactionCount({ address: anvil.accounts[0].address })
const testClient = (anvil: Anvil) =>
  createTestClient({ mode: 'anvil', transport: http(anvil.rpcUrl) })
const at = (anvil: Anvil, network: string, ...more: readonly string[]) => [
  ...['--network', network, '--rpc-url', anvil.rpcUrl, '--arbiter', arbiter],
  ...more,
]

describe('contracts:deploy', () => {
  it('deploys, verifies and writes the address file', async () => {
    const file = join(folder, 'local.json')
    const roles = ['--coordinator', coordinator, '--treasury', treasury, '--min-stake', '0.25']
    const args = at(local, 'local', '--out', file, ...roles)
    const { code, out, err } = await deployBy(args, keyOf(local))
    expect([code, err]).toEqual([0, expect.stringContaining('Verified: code and arguments')])
    expect(err).not.toContain(keyOf(local).SVC_DEPLOYER_KEY.slice(2))
    const deployment = parseDeployment(await readFile(file, 'utf8'))
    expect(JSON.parse(out)).toEqual(deployment)
    expect(deployment).toMatchObject({
      network: 'local',
      chain_id: localFheChainId,
      task_manager: taskManager,
      block: 1,
    })
    expect(deployment.coprocessor).toBeUndefined()
    const address = deployment.contracts.node_registry
    const minStake = reader(local).readContract({
      address,
      abi: nodeRegistryAbi,
      functionName: 'minStake',
    })
    expect(await minStake).toBe(parseEther('0.25'))
    expect((await readdir(folder)).filter((name) => name.startsWith('local'))).toEqual([
      'local.json',
    ])
    const again = await deployBy(args, keyOf(local))
    expect([again.code, again.err]).toEqual([
      1,
      expect.stringContaining('holds a deployment already'),
    ])
  })

  it('deploys on the chain of `npm run dev`', async () => {
    const anvil = await startAnvil()
    try {
      const file = join(folder, 'dev.json')
      const { code } = await deployBy(at(anvil, 'dev', '--out', file), keyOf(anvil))
      expect(code).toBe(0)
      const { network, chain_id } = parseDeployment(await readFile(file, 'utf8'))
      expect([network, chain_id]).toEqual(['dev', 31_337])
    } finally {
      await anvil.stop()
    }
  })

  it('prints what it would send in a dry run, and sends nothing', async () => {
    const before = await nonceOf(local)
    const file = join(folder, 'dry.json')
    const args = at(local, 'local', '--dry-run', '--out', file)
    const deployer = local.accounts[0].address
    const { code, out } = await deployBy([...args, '--json', '--deployer', deployer])
    const plan = JSON.parse(out)
    expect([code, plan.dry_run, plan.chain_id]).toEqual([0, true, localFheChainId])
    const names = plan.transactions.map(({ contract }: { contract: string }) => contract)
    expect(names).toEqual(['NodeRegistry', 'PromptKeyStore', 'ResultRegistry'])
    for (const { gas, bytes, address, nonce } of plan.transactions) {
      expect(Number(gas)).toBeGreaterThan(500_000)
      expect(bytes).toBeGreaterThan(1_500)
      expect(address).toMatch(/^0x[0-9a-f]{40}$/)
      expect(nonce).toBeGreaterThanOrEqual(before)
    }
    expect(plan.transactions[1].arguments).toEqual({
      nodeRegistry: plan.transactions[0].address,
    })
    expect(BigInt(plan.cost)).toBeGreaterThan(0n)
    const text = await deployBy(args, keyOf(local))
    expect(text.out).toMatch(/minStake 0\.1 ether[\s\S]*at most[\s\S]*Nothing was sent/)
    expect(await nonceOf(local)).toBe(before)
    expect((await readdir(folder)).filter((name) => name.startsWith('dry'))).toEqual([])

    // What was predicted is what then happens.
    await deployBy(at(local, 'local', '--out', file), keyOf(local))
    const { contracts } = parseDeployment(await readFile(file, 'utf8'))
    const predicted = plan.transactions.map(({ address }: { address: string }) => address)
    expect(Object.values(contracts)).toEqual(predicted)
  })

  it('takes the key from a keystore', async () => {
    const keystore = join(folder, 'keystore.json')
    const [key, options] = Keystore.scrypt({ password: 'correct horse', n: 4096 })
    const sealed = Keystore.encrypt(local.accounts[0].privateKey, key, options)
    await writeFile(keystore, JSON.stringify(sealed), { mode: 0o644 })
    const args = at(local, 'local', '--keystore', keystore, '--out', join(folder, 'kept.json'))
    const wrong = await deployBy(args, { SVC_DEPLOYER_PASSWORD: 'battery staple' })
    expect([wrong.code, wrong.err]).toEqual([1, expect.stringContaining('does not open')])
    expect(wrong.err).not.toContain('battery')
    const { code, err } = await deployBy(args, { SVC_DEPLOYER_PASSWORD: 'correct horse' })
    expect([code, err]).toEqual([0, expect.stringContaining(`others may read ${keystore}`)])
  })
})

describe('contracts:deploy refuses, and sends nothing', () => {
  const refused = async (
    anvil: Anvil,
    args: readonly string[],
    environment: Record<string, string>,
  ) => {
    const before = await nonceOf(anvil)
    const { code, err } = await deployBy(args, environment)
    expect(await nonceOf(anvil)).toBe(before)
    return [code, err] as const
  }
  const saying = (code: number, ...parts: readonly string[]) => [
    code,
    expect.stringMatching(new RegExp(parts.join('[\\s\\S]*'))),
  ]
  const out = () => ['--out', join(folder, 'never.json')]

  it('the chain of another network', async () => {
    const args = at(rollup, 'local', ...out())
    expect(await refused(rollup, args, keyOf(rollup))).toEqual(
      saying(1, `serves chain ${arbitrumSepolia}`, `chain ${localFheChainId}`),
    )
  })

  it('a chain RPC that does not answer, without showing its path', async () => {
    const place = ['--network', 'local', '--rpc-url', 'http://127.0.0.1:9/access-key']
    const args = [...place, '--arbiter', arbiter, ...out()]
    const [code, err] = await refused(local, args, keyOf(local))
    expect([code, err]).toEqual(saying(75, 'the chain RPC'))
    expect(err).not.toContain('access-key')
  })

  it('a deployer without funds', async () => {
    const key = generatePrivateKey()
    const { address } = privateKeyToAccount(key)
    // As from a file with CRLF.
    const SVC_DEPLOYER_KEY = `${key}\r`
    expect(await refused(local, at(local, 'local', ...out()), { SVC_DEPLOYER_KEY })).toEqual(
      saying(1, address.toLowerCase(), 'has 0 ether'),
    )
  })

  it('a public network without a task manager, or without anybody who agrees', async () => {
    const args = at(rollup, 'arbitrum-sepolia', ...out())
    const yes = [...args, '--yes']
    expect(await refused(rollup, yes, keyOf(rollup))).toEqual(
      saying(1, `no CoFHE task manager at ${taskManager}`),
    )
    const dry = await deployBy([...args, '--dry-run'], keyOf(rollup))
    expect([dry.code, dry.out]).toEqual(saying(1, 'MISSING', 'Nothing was sent'))
    await placeLocalCofhe({ rpcUrl: rollup.rpcUrl, chainId: rollup.chainId })
    expect(await refused(rollup, args, keyOf(rollup))).toEqual(saying(2, '--yes'))
    const file = join(folder, 'rollup.json')
    const deploying = [...at(rollup, 'arbitrum-sepolia', '--out', file), '--yes']
    const { code } = await deployBy([...deploying, '--confirmations', '1'], keyOf(rollup))
    const deployment = parseDeployment(await readFile(file, 'utf8'))
    expect([code, deployment.coprocessor?.cofhe_url]).toEqual([0, expect.stringMatching(/^https:/)])
  })

  it('an arbiter who is the coordinator, missing keys, and mistyped addresses', async () => {
    const deployer = local.accounts[0].address
    const same = ['--network', 'local', '--rpc-url', local.rpcUrl, '--arbiter', deployer]
    expect(await refused(local, same, keyOf(local))).toEqual(saying(2, 'must not be the coordin'))
    expect(await refused(local, at(local, 'local', ...out()), {})).toEqual(saying(1, 'no key'))
    const bad = { SVC_DEPLOYER_KEY: `0x${'00'.repeat(31)}` }
    const [, err] = await refused(local, at(local, 'local', ...out()), bad)
    expect(err).toMatch(/SVC_DEPLOYER_KEY is no private key/)
    expect(err).not.toContain('0000')
    const { SVC_DEPLOYER_KEY: key } = keyOf(local)
    const typed = await refused(local, at(local, 'local', '--deployer', key, ...out()), {})
    expect(typed).toEqual(saying(2, '--deployer must be an address'))
    expect(typed[1]).not.toContain(key)
    const elsewhere = ['--network', 'sepolia', '--arbiter', arbiter]
    expect(await refused(local, elsewhere, keyOf(local))).toEqual(saying(2, 'SVC_RPC_URL'))
    const socket = { ...keyOf(local), SVC_RPC_URL: 'ws://127.0.0.1:1' }
    expect(await refused(local, elsewhere, socket)).toEqual(saying(2, 'http or https'))
    const mistyped = ['--treasury', '0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed']
    expect(await refused(local, at(local, 'local', ...mistyped, ...out()), keyOf(local))).toEqual(
      saying(2, '--treasury has capitals that do not fit'),
    )
  })
})

describe('a deployment that was interrupted', () => {
  it('is continued: what was sent counts, killed or told to stop', async () => {
    const test = testClient(local)
    const file = join(folder, 'continued.json')
    const args = at(local, 'local', '--out', file)
    const before = await nonceOf(local)
    await test.setAutomine(false)
    try {
      const first = startDeploy(args, keyOf(local))
      await first.says('NodeRegistry: sent')
      await test.mine({ blocks: 1 })
      await first.says('PromptKeyStore: sent')
      await first.kill('SIGKILL')
      const other = await deployBy([...args, '--min-stake', '7'], keyOf(local))
      expect([other.code, other.err]).toEqual([1, expect.stringMatching(/has another min_stake/)])

      const second = startDeploy(args, keyOf(local))
      await second.says('sent before: NodeRegistry, PromptKeyStore')
      await test.mine({ blocks: 1 })
      await second.says('ResultRegistry: sent')
      const stopped = await second.kill('SIGINT')
      expect([stopped.code, stopped.err]).toEqual([130, expect.stringMatching(/to continue/)])
      await test.mine({ blocks: 1 })
    } finally {
      await test.setAutomine(true)
    }
    const third = await deployBy(args, keyOf(local))
    expect([third.code, third.err]).toEqual([0, expect.stringContaining('Verified')])
    expect(await nonceOf(local)).toBe(before + 3)
    const { contracts } = parseDeployment(await readFile(file, 'utf8'))
    for (const address of Object.values(contracts)) {
      expect((await reader(local).getCode({ address }))?.length).toBeGreaterThan(100)
    }
  })

  /** Stops the command once its first transaction is sent, which the chain then loses; what it left behind. */
  const lose = async (file: string) => {
    const test = testClient(local)
    await test.setAutomine(false)
    try {
      await leaveSent(at(local, 'local', '--out', file), keyOf(local))
      const progress = JSON.parse(await readFile(`${file}.unfinished`, 'utf8'))
      await test.dropTransaction({ hash: progress.sent[0].tx as Hex })
      return progress
    } finally {
      await test.setAutomine(true)
    }
  }

  it('sends again what the chain has lost', async () => {
    const file = join(folder, 'lost.json')
    await lose(file)
    const { code } = await deployBy(at(local, 'local', '--out', file), keyOf(local))
    expect(code).toBe(0)
  })

  it('does not pass for done when the file beside it was changed', async () => {
    const file = join(folder, 'forged.json')
    const args = at(local, 'local', '--out', file)
    await writeFile(`${file}.unfinished`, '{"sent": 3}')
    const { code, err } = await deployBy(args, keyOf(local))
    expect([code, err]).toEqual([1, expect.stringContaining('of an earlier deployment')])

    // The registry of the first test, which has another smallest stake.
    const progress = await lose(join(folder, 'mixed.json'))
    const { transactions } = await reader(local).getBlock({ blockNumber: 1n })
    progress.sent[0].tx = transactions[0]
    const mixed = join(folder, 'mixed.json')
    await writeFile(`${mixed}.unfinished`, JSON.stringify(progress))
    const differing = await deployBy(at(local, 'local', '--out', mixed), keyOf(local))
    expect([differing.code, differing.err]).toEqual([
      1,
      expect.stringMatching(/is not what was to be/),
    ])
    expect(await readdir(folder)).not.toContain('mixed.json')
  })
})
