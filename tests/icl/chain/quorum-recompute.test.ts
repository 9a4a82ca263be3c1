import { createTestClient, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startAnvil } from '../../../contracts/local/anvil.ts'
import { createViemChain } from '../../../icl/chain/viem.ts'
import { recomputeQuorum } from '../../../icl/start/recompute-quorum.ts'
import { systemClock } from '../../../lib/system.ts'
import { startTestChain, type TestChain } from '../../contracts/test-chain.ts'
import { holdTime } from '../../virtual-clock.ts'
import { createFakeChain } from '../fake-chain.ts'
import { createTestIcl, joinNode, origin, submit, type TestIcl } from '../test-icl.ts'

let chain: TestChain
let icl: TestIcl
beforeAll(async () => {
  chain = await startTestChain()
  const real = createViemChain({
    rpcUrl: chain.anvil.rpcUrl,
    chainId: chain.anvil.chainId,
    account: privateKeyToAccount(chain.anvil.accounts[1]!.privateKey),
    nodeRegistry: chain.nodeRegistry,
    promptKeyStore: chain.promptKeyStore,
    resultRegistry: chain.resultRegistry,
    confirmations: 1,
    clock: systemClock,
  })
  const latestBlock = async () => {
    const goOn = holdTime()
    return real.latestBlock().finally(goOn)
  }
  icl = await createTestIcl({ chain: { ...createFakeChain(), latestBlock } })
}, 60_000)
afterAll(async () => {
  await icl.stop()
  await chain.stop()
})

async function run(...args: readonly string[]) {
  const printed: string[] = []
  const print = (line: string) => printed.push(line)
  const terminal = { environment: { SVC_ICL_ENDPOINT: origin }, print, complain: print }
  return { exitCode: await recomputeQuorum(args, terminal, icl.fetch), text: printed.join('\n') }
}

describe('npm run quorum:recompute with --rpc-url', () => {
  it('asks the chain for the block of each draw, and tells when another chain stands there', async () => {
    const outside = { ...icl, chain: icl.deps.chain as typeof icl.chain }
    for (const name of ['n1', 'n2', 'n3', 'n4']) await joinNode(outside, name)
    const { jobId, readToken } = await submit(outside)
    const args = [jobId, '--read-token', readToken, '--rpc-url', chain.anvil.rpcUrl]
    const whole = await run(...args)
    expect([whole.exitCode, whole.text]).toEqual([
      0,
      expect.stringContaining('The chain was asked for the block of every draw.'),
    ])
    const other = await startAnvil()
    try {
      const elsewhere = [jobId, '--read-token', readToken, '--rpc-url', other.rpcUrl]
      const gone = await run(...elsewhere)
      expect([gone.exitCode, gone.text]).toEqual([
        1,
        expect.stringMatching(/draw 0: block \d+ has no place on this chain/),
      ])
      const test = createTestClient({ mode: 'anvil', transport: http(other.rpcUrl) })
      await test.mine({ blocks: 40 })
      expect((await run(...elsewhere)).text).toMatch(/draw 0: block \d+ has another hash/)
    } finally {
      await other.stop()
    }
  }, 60_000)

  it('ends with 75 when the chain does not answer', async () => {
    const { jobId, readToken } = await submit({ ...icl, chain: icl.deps.chain as typeof icl.chain })
    const nowhere = await run(jobId, '--read-token', readToken, '--rpc-url', 'http://127.0.0.1:9')
    expect([nowhere.exitCode, nowhere.text]).toEqual([
      75,
      expect.stringContaining('did not answer'),
    ])
  }, 60_000)
})
