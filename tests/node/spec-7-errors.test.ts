import { privateKeyToAccount } from 'viem/accounts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createNodeChain } from '../../node/chain/contracts.ts'
import { anAddress } from '../branded.ts'
import { startRpcStandIn } from '../lib/chain/rpc-stand-in.ts'
import type { LocalServer } from '../local-server.ts'
import { holdTime } from '../virtual-clock.ts'
import { type Faults, type RunningDaemon, startDaemons } from './real-daemon.ts'
import { type RealIcl, startRealIcl } from './real-icl.ts'

// Rows of spec 7 on real daemons and the real ICL: a node gives back what it cannot do, and another does it. What the log
// says of each cause is in tests/causes.

let icl: RealIcl
let daemons: readonly RunningDaemon[] = []
beforeEach(async () => {
  icl = await startRealIcl()
})
afterEach(async () => {
  for (const daemon of daemons) await daemon.stop()
  daemons = []
  await icl.stop()
})

/** Has a job done by three of four nodes of which the leader is broken, and gives what the world has seen. */
async function withBrokenLeader(breakIt: (faults: Faults) => void) {
  daemons = await startDaemons(icl, ['a', 'b', 'c', 'd'])
  const job = await icl.ask('What is two and two?', (leader) =>
    breakIt(daemons.find(({ address }) => address === leader)!.faults),
  )
  await icl.clock.advance(120_000)
  const view = await icl.clock.until(job.view())
  const broken = daemons.find(({ address }) => address === job.leader)!
  return { job, view, broken, log: broken.lines.filter((line) => line.includes(job.jobId)) }
}

async function expectReassigned(breakIt: (faults: Faults) => void, line: RegExp, reason: string) {
  const { view, job, broken, log } = await withBrokenLeader(breakIt)
  expect(log.join('\n')).toMatch(line)
  expect(log.join('\n')).toMatch(/\[ERROR\] .* aborted: /)
  const given = view.quorum.find(({ node }) => node === job.leader)
  expect(given).toMatchObject({ status: 'aborted', reason })
  expect(view.status).toBe('accepted')
  const done = view.quorum.filter(({ status }) => status === 'revealed').map(({ node }) => node)
  expect(done).toHaveLength(3)
  expect(done).not.toContain(job.leader)
  expect(broken.history.records.at(-1)).toMatchObject({ outcome: 'aborted', reason })
}

const json = (status: number, body: unknown, headers: Record<string, string> = {}) =>
  Response.json(body, { status, headers })

describe('a claim', () => {
  it('that returns empty handles', () =>
    expectReassigned(
      (faults) => {
        faults.icl = (request) =>
          new URL(request.url).pathname === '/internal/task/claim'
            ? icl.travel(request).then(async (answer) => {
                const claim = (await answer.json()) as object
                return json(200, { ...claim, kpHighHandle: '0', kpLowHandle: '0' })
              })
            : undefined
      },
      /\[ERROR\] .*key handles are missing, the prompt cannot be decrypted/,
      'key-handles-missing',
    ))
})

describe('storeOutputKey', () => {
  let rpc: LocalServer | undefined
  afterEach(async () => {
    await rpc?.close()
    rpc = undefined
  })

  /** The node's real chain adapter on an RPC that answers as told. */
  async function storeBy(answers: Parameters<typeof startRpcStandIn>[0]) {
    const server = await startRpcStandIn(answers)
    rpc = server
    const address = `0x${'0c'.repeat(20)}` as const
    const { storeOutputKey } = createNodeChain({
      rpcUrl: server.url,
      chainId: 31_337,
      account: privateKeyToAccount(`0x${'17'.repeat(32)}`),
      nodeRegistry: anAddress(address),
      promptKeyStore: anAddress(address),
    })
    return async (...args: Parameters<typeof storeOutputKey>) => {
      const goOn = holdTime()
      try {
        return await storeOutputKey(...args)
      } finally {
        goOn()
      }
    }
  }

  // A call to an address without a contract succeeds, and stores nothing.
  const empty = {
    blockNumber: '0x2',
    blockHash: `0x${'cd'.repeat(32)}`,
    transactionHash: `0x${'ab'.repeat(32)}`,
    transactionIndex: '0x0',
    from: `0x${'11'.repeat(20)}`,
    to: `0x${'0c'.repeat(20)}`,
    status: '0x1',
    logs: [],
    logsBloom: `0x${'00'.repeat(256)}`,
    gasUsed: '0x1',
    cumulativeGasUsed: '0x1',
    effectiveGasPrice: '0x1',
    contractAddress: null,
    type: '0x2',
  }
  const rows = {
    'goes to a wrong PromptKeyStore address': [
      { eth_estimateGas: { result: '0x5208' }, eth_getTransactionReceipt: { result: empty } },
      /storeOutputKey reverted: no key was stored\. Check the PromptKeyStore address/,
      'store-key-reverted',
    ],
  } as const
  for (const [name, [answers, words, reason]] of Object.entries(rows)) {
    it(`${name}: the transaction fails`, async () => {
      const storeOutputKey = await storeBy(answers)
      daemons = await startDaemons(icl, ['a', 'b', 'c', 'd'])
      let broken: RunningDaemon | undefined
      for (const daemon of daemons) {
        daemon.faults.storeOutputKey = async (key, signal) => {
          broken = daemon
          for (const { faults } of daemons) faults.storeOutputKey = undefined
          return await storeOutputKey(key, signal)
        }
      }
      const job = await icl.ask('What is two and two?')
      await icl.clock.advance(120_000)
      const log = broken?.lines.join('\n')
      expect(log).toMatch(new RegExp(`\\[ERROR\\] .* aborted: .*${words.source}`))
      const view = await icl.clock.until(job.view())
      expect(view.status).toBe('accepted')
      expect(view.agreement?.group).toContain(broken?.address)
      expect(view.agreement?.deliverer).not.toBe(broken?.address)
      // It checks what the next member delivers.
      expect(broken?.history.records.at(-1)).toMatchObject({ outcome: 'match' })
      const receipt = (await icl.deps.store.findJob(job.jobId))?.document.receipt
      expect(receipt?.failed_deliveries.map(({ reason: why }) => why)).toEqual([reason])
    }, 240_000)
  }
})

describe('an ICL that is away for half a minute', () => {
  it('when a result is ready still gets it, within the turn of its node', async () => {
    daemons = await startDaemons(icl, ['a', 'b', 'c', 'd'])
    const backAt = icl.clock.now() + 30_000
    for (const { faults } of daemons) {
      faults.icl = (request) =>
        /blobs|result/.test(request.url) && icl.clock.now() < backAt
          ? Promise.reject(new TypeError('no route'))
          : undefined
    }
    const job = await icl.ask('What is two and two?')
    await icl.clock.advance(60_000)
    const view = await icl.clock.until(job.view())
    expect(view.status).toBe('accepted')
    const deliverer = daemons.find(({ address }) => address === view.agreement?.deliverer)
    expect(deliverer?.lines.join('\n')).toMatch(/Leader result accepted/)
    const receipt = (await icl.deps.store.findJob(job.jobId))?.document.receipt
    expect(receipt?.failed_deliveries).toEqual([])
  }, 240_000)
})
