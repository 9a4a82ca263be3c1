import { createTestClient, type Hex, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, describe, expect, it } from 'vitest'
import type { Chain } from '../../../icl/chain/chain.ts'
import { createViemChain, type ViemChainOptions } from '../../../icl/chain/viem.ts'
import { createMemoryStore } from '../../../icl/store/memory/store.ts'
import { resultRegistryAbi } from '../../../lib/abi/result-registry.ts'
import type { JobId } from '../../../lib/codecs.ts'
import { systemClock } from '../../../lib/system.ts'
import { anAddress } from '../../branded.ts'
import { startTestChain } from '../../contracts/test-chain.ts'
import { startProxy } from '../../e2e/proxy.ts'
import { createVirtualClock, holdTime } from '../../virtual-clock.ts'
import { createFakeChain } from '../fake-chain.ts'
import { runJob } from '../run-job.ts'
import { createReplica, joinNodes, type TestIcl } from '../test-icl.ts'

const coordinator = 1
const stranger = 7
const jobCount = 3
const tooMany = {
  status: 429,
  json: { error: 'too many requests' },
}

const table: string[] = []
/** What each transaction put on chain, and for how much gas. */
let batches: { readonly results: number; readonly gasUsed: bigint }[] = []
const chain = await startTestChain()
const proxy = await startProxy()
afterAll(async () => {
  process.stdout.write(['', ...table, ''].join('\n'))
  await proxy.stop()
  await chain.stop()
})

/** What the ICL needs for results comes from a real chain, the rest from one in memory; time stands while the real one works. */
function committingOn(options: Partial<ViemChainOptions>) {
  const real = createViemChain({
    rpcUrl: proxy.url,
    chainId: chain.anvil.chainId,
    timeoutMs: 2_000,
    account: privateKeyToAccount(chain.anvil.accounts[coordinator]!.privateKey),
    nodeRegistry: chain.nodeRegistry,
    promptKeyStore: chain.promptKeyStore,
    resultRegistry: chain.resultRegistry,
    confirmations: 1,
    clock: systemClock,
    onCommitted: (batch) => batches.push(batch),
    ...options,
  })
  const held =
    <A extends unknown[], T>(call: (...args: A) => Promise<T>) =>
    async (...args: A): Promise<T> => {
      const goOn = holdTime()
      try {
        return await call(...args)
      } finally {
        goOn()
      }
    }
  return {
    ping: held(real.ping),
    findCommitment: held(real.findCommitment),
    commitResults: held(real.commitResults),
    findFaults: held(real.findFaults),
  } satisfies Partial<Chain>
}

type Trouble = {
  readonly name: string
  readonly options?: () => Partial<ViemChainOptions>
  begin?(): Promise<void>
  end?(): Promise<void>
  readonly readiness: RegExp
  readonly commitError: RegExp
}

const setCode = (bytecode: Hex) =>
  createTestClient({ mode: 'anvil', transport: http(chain.anvil.rpcUrl) }).setCode({
    address: chain.resultRegistry,
    bytecode,
  })
let code: Hex = '0x'
const refusing = (refused: RegExp) => async () => {
  proxy.decide = ({ body }) => (refused.test(body) ? tooMany : 'pass')
}
const answering = async () => {
  proxy.decide = undefined
}

const troubles: readonly Trouble[] = [
  {
    name: 'absent: no contract at the address',
    options: () => ({ resultRegistry: anAddress(`0x${'de'.repeat(20)}`) }),
    readiness: /^ResultRegistry: there is no contract at 0x(de){20}/,
    commitError: /there is no contract at 0x(de){20}/,
  },
  {
    name: 'wrong address: another contract',
    options: () => ({ resultRegistry: chain.promptKeyStore }),
    readiness: /^ResultRegistry: the contract at 0x\w+ is another one/,
    commitError: /the contract at 0x\w+ is another one/,
  },
  {
    name: 'reverting: not the coordinator',
    options: () => ({ account: privateKeyToAccount(chain.anvil.accounts[stranger]!.privateKey) }),
    readiness: /^ResultRegistry: 0x\w+ does not have the coordinator role at 0x\w+/,
    commitError: /^committing results as 0x\w+: the contract at 0x\w+ refused: MissingRole/,
  },
  {
    name: 'reverting: whatever it is asked',
    begin: async () => {
      code = (await chain.wallet(0).publicClient.getCode({ address: chain.resultRegistry }))!
      await setCode('0x60006000fd')
    },
    end: () => setCode(code),
    readiness: /^ResultRegistry: the contract at 0x\w+ is another one/,
    commitError: /the contract at 0x\w+ is another one/,
  },
  {
    name: '429 for every request',
    begin: refusing(/./),
    end: answering,
    readiness: /the chain RPC refuses requests: too many requests/,
    commitError: /the chain RPC refuses requests: too many requests/,
  },
  {
    name: '429 for transactions only',
    begin: refusing(/eth_sendRawTransaction/),
    end: answering,
    readiness: /^results that wait to be committed: 3; last try: .*too many requests/,
    commitError:
      /^committing results as 0x\w+ at 0x\w+: the chain RPC refuses requests: too many requests/,
  },
  {
    name: 'away: connections are cut',
    begin: async () => {
      proxy.decide = () => 'lose-request'
    },
    end: answering,
    readiness: /the chain does not respond/,
    commitError: /the chain RPC does not respond/,
  },
]

/** Why the ICL is not wholly well, besides having its store in memory. */
const reasonsOf = async (icl: TestIcl): Promise<readonly string[]> => {
  const { reasons } = await icl.clock.until(icl.api().getReadiness())
  return reasons.filter((reason) => !reason.startsWith('the store is in memory'))
}

/** How often each job's result was put on chain. */
async function timesCommitted(jobs: readonly JobId[]): Promise<readonly number[]> {
  const events = await chain.wallet(0).publicClient.getContractEvents({
    address: chain.resultRegistry,
    abi: resultRegistryAbi,
    eventName: 'ResultCommitted',
    fromBlock: 0n,
  })
  return jobs.map((id) => events.filter(({ args }) => args.jobId === id).length)
}

describe('a ResultRegistry that takes no results', () => {
  for (const { name, options, begin, end, readiness, commitError } of troubles) {
    it(`is told of in /readyz and in the jobs, and has each result once after the repair (${name})`, async () => {
      proxy.target = chain.anvil.rpcUrl
      batches = []
      const shared = {
        clock: createVirtualClock(),
        chain: createFakeChain(),
        store: createMemoryStore(),
      }
      const start = (changes: Partial<ViemChainOptions>): Promise<TestIcl> =>
        createReplica(shared, { chain: { ...shared.chain, ...committingOn(changes) } })
      let icl = await start(options?.() ?? {})
      const nodes = await joinNodes(icl, 3)
      await begin?.()
      const jobs: JobId[] = []
      const views: (() => Promise<{
        commit_error?: string | undefined
        commit_tx?: Hex | undefined
      }>)[] = []
      for (let count = 0; count < jobCount; count++) {
        const { job, view } = await runJob(icl, nodes, ['yes', 'yes', 'yes'])
        const { jobId, status } = await view()
        expect(status).toBe('accepted')
        jobs.push(jobId)
        views.push(() => icl.api().getJob({ params: { jobId } }, { readToken: job.readToken }))
      }
      await icl.clock.advance(4_000)
      const reasons = await reasonsOf(icl)
      const errors = await Promise.all(views.map(async (view) => (await view()).commit_error))
      table.push(
        name,
        ...reasons.map((reason) => `  /readyz        ${reason}`),
        `  commit_error   ${errors[0]}`,
      )
      expect(reasons.filter((reason) => readiness.test(reason))).toHaveLength(1)
      for (const error of errors) expect(error).toMatch(commitError)
      expect(await timesCommitted(jobs)).toEqual(jobs.map(() => 0))

      await end?.()
      if (options) {
        await icl.stop()
        icl = await start({})
      }
      for (let waited = 0; waited < 120 && (await timesCommitted(jobs)).includes(0); waited++) {
        await icl.clock.advance(1_000)
      }
      await icl.clock.advance(60_000)
      const after = await Promise.all(views.map((view) => view()))
      expect(after.map((view) => view.commit_error)).toEqual(jobs.map(() => undefined))
      expect(after.every((view) => view.commit_tx !== undefined)).toBe(true)
      expect(await timesCommitted(jobs)).toEqual(jobs.map(() => 1))
      expect(await reasonsOf(icl)).toEqual([])
      // One that was sent twice finds the results there, and costs little.
      expect(batches.reduce((sum, { results }) => sum + results, 0)).toBeGreaterThanOrEqual(
        jobCount,
      )
      expect(batches.every(({ gasUsed }) => gasUsed > 21_000n)).toBe(true)
      const gas = batches.map(({ results, gasUsed }) => `${results} for ${gasUsed} gas`).join(', ')
      table.push(
        `  after repair   ${jobCount} of ${jobCount} results committed, each once (${gas})`,
      )
      await icl.stop()
    })
  }
})
