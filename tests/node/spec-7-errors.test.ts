import { CofheError, CofheErrorCode } from '@cofhe/sdk'
import { encodeErrorResult, HttpRequestError } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { promptKeyStoreAbi } from '../../lib/abi/prompt-key-store.ts'
import { toCoprocessorError } from '../../lib/coprocessor/cofhe-errors.ts'
import { createNodeChain } from '../../node/chain/contracts.ts'
import { offerModels } from '../../node/inference/models.ts'
import { anAddress } from '../branded.ts'
import { modelId } from '../icl/test-icl.ts'
import { startRpcStandIn } from '../lib/chain/rpc-stand-in.ts'
import type { LocalServer } from '../local-server.ts'
import { holdTime } from '../virtual-clock.ts'
import { recordingLog } from './fakes.ts'
import {
  type Faults,
  prepareDaemon,
  type RunningDaemon,
  startDaemon,
  startDaemons,
} from './real-daemon.ts'
import { type RealIcl, startRealIcl } from './real-icl.ts'

// Each row of spec 7 that concerns the node, on real daemons and the real ICL: the line in the node's log, the abort
// that the ICL got, and that another node does the job.

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
const problem = (status: number, code: string) =>
  json(status, { type: 'x', title: code, status, code, retryable: status >= 500 })
const on =
  (path: string, answer: () => Promise<Response>): Faults['icl'] =>
  (request) =>
    new URL(request.url).pathname === path ? answer() : undefined

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

  it('that fails', () =>
    expectReassigned(
      (faults) => {
        faults.icl = on('/internal/task/claim', async () => problem(500, 'internal-error'))
      },
      /\[WARNING\] .*claim failed[\s\S]*\[ERROR\] .*key handles are missing/,
      'key-handles-missing',
    ))
})

describe('the prompt blob, when the gateway', () => {
  const refused = (status: number, headers?: Record<string, string>) => async () =>
    new Response(null, { status, ...(headers && { headers }) })
  const gateways: Record<string, [NonNullable<Faults['gateway']>, RegExp]> = {
    'is down': [() => Promise.reject(new TypeError('refused')), /cannot be reached/],
    'limits requests': [refused(429, { 'retry-after': '2' }), /answered 429/],
    'has not got the CID yet': [refused(404), /answered 404/],
    'is too slow': [
      (signal) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason))
        }),
      /gave no whole answer within 10000 ms/,
    ],
  }
  for (const [name, [gateway, words]] of Object.entries(gateways)) {
    it(name, () =>
      expectReassigned(
        (faults) => {
          faults.gateway = gateway
        },
        new RegExp(`\\[ERROR\\] .*the prompt blob could not be fetched: .*${words.source}`),
        'prompt-unavailable',
      ),
    )
  }
})

describe('the coprocessor', () => {
  it('denies the decryption (403)', () =>
    expectReassigned(
      (faults) => {
        const denied = new CofheError({
          code: CofheErrorCode.SealOutputFailed,
          message: 'HTTP 403',
          context: { status: 403 },
        })
        faults.decrypt = toCoprocessorError(denied, 'CoFHE decrypt failed')
      },
      /\[WARNING\] .*CoFHE decrypt failed: FHE decrypt denied \(403\).*trying again[\s\S]*\[ERROR\] .*CoFHE decrypt failed/,
      'fhe-decrypt-denied',
    ))

  it('is behind an RPC that limits requests (429)', () =>
    expectReassigned(
      (faults) => {
        const limited = new HttpRequestError({ url: 'http://rpc.test', status: 429 })
        faults.decrypt = toCoprocessorError(limited, 'CoFHE decrypt failed')
      },
      /\[ERROR\] .*CoFHE decrypt failed: too many requests/,
      'chain-rate-limited',
    ))
})

describe('the provider', () => {
  const refusals = [
    [401, 'invalid_api_key', 'provider-key-refused'],
    [404, 'model_not_found', 'provider-model-unknown'],
    [429, 'rate_limit_exceeded', 'provider-rate-limited'],
    [503, 'overloaded', 'provider-unavailable'],
  ] as const
  for (const [status, code, reason] of refusals) {
    it(`answers ${status} (${code})`, () =>
      expectReassigned(
        (faults) => {
          faults.provider = async () => json(status, { error: { message: 'no', code } })
        },
        new RegExp(`\\[ERROR\\] .*provider openai at \\S+ failed: status ${status} \\(${code}\\)`),
        reason,
      ))
  }

  it('is down', () =>
    expectReassigned(
      (faults) => {
        faults.provider = () => Promise.reject(new TypeError('refused'))
      },
      /\[WARNING\] .*provider openai at \S+ failed[\s\S]*\[ERROR\] .*provider openai/,
      'provider-unreachable',
    ))

  it('limits its rate for a while, which the lease outlasts', async () => {
    let calls = 0
    const { view, job, log } = await withBrokenLeader((faults) => {
      faults.provider = async () =>
        ++calls === 1
          ? json(429, { error: { message: 'no', code: 'x' } }, { 'retry-after': '40' })
          : json(200, { choices: [{ index: 0, message: { content: 'Four.' } }] })
    })
    expect(calls).toBe(2)
    expect(log.join('\n')).toMatch(/Inference complete in 40\.\d s/)
    expect(log.join('\n')).toMatch(/\[WARNING\] .*slow inference, 40\.\d s/)
    expect(view.status).toBe('accepted')
    expect(view.quorum.find(({ node }) => node === job.leader)?.status).toBe('revealed')
  }, 240_000)

  it('asks for a longer wait than the lease has: the job is given back at once', async () => {
    let calls = 0
    await expectReassigned(
      (faults) => {
        faults.provider = async () => {
          calls++
          return json(429, { error: { message: 'no', code: 'x' } }, { 'retry-after': '600' })
        }
      },
      /status 429 \(x\), asks to wait 600 s/,
      'provider-rate-limited',
    )
    expect(calls).toBe(1)
  }, 240_000)

  it('has no key: the model is not offered, and the ICL does not consider the node', async () => {
    const config = { supported_model_ids: [modelId], providers: {} }
    const offered = await offerModels(config, {}, icl.clock, recordingLog())
    expect(offered.missingKeys).toEqual([{ modelId, variable: 'OPENAI_API_KEY' }])
    const daemon = await prepareDaemon(icl, 'keyless')
    const expiresAt = await icl.clock.until(daemon.attestOnce())
    const deps = { ...daemon.deps, models: offered.models }
    daemons = [startDaemon(icl, { ...daemon, deps }, expiresAt)]
    await icl.clock.advance(1_000)
    expect(daemon.lines.join('\n')).toMatch(
      /\[WARNING\] .*does not consider this node for jobs: it offers no model/,
    )
  }, 240_000)
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

  const invalidHandle = {
    error: {
      code: 3,
      message: 'execution reverted',
      data: encodeErrorResult({ abi: promptKeyStoreAbi, errorName: 'InvalidHandle', args: [7n] }),
    },
  }
  const noFunds = {
    error: { code: -32_000, message: 'insufficient funds for gas * price + value' },
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
    'has too little gas money': [
      { eth_estimateGas: noFunds },
      /storeOutputKey reverted: no funds for gas\. Send gas money to 0x/,
      'wallet-empty',
    ],
    'goes to a wrong PromptKeyStore address': [
      { eth_estimateGas: { result: '0x5208' }, eth_getTransactionReceipt: { result: empty } },
      /storeOutputKey reverted: no key was stored\. Check the PromptKeyStore address/,
      'store-key-reverted',
    ],
    'has invalid handles': [
      { eth_estimateGas: invalidHandle },
      /storeOutputKey reverted: InvalidHandle\. The handles are not valid for this wallet and contract/,
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

describe('a heartbeat that cannot reach the ICL', () => {
  it('is a WARNING, and the next period tries again', async () => {
    daemons = await startDaemons(icl, ['a'])
    const [{ faults, lines }] = daemons as [RunningDaemon]
    faults.icl = on('/internal/heartbeat', () => Promise.reject(new TypeError('no route')))
    const before = lines.filter((line) => line.includes('Heartbeat sent to ICL')).length
    await icl.clock.advance(60_000)
    expect(lines.join('\n')).toMatch(/\[WARNING\] \[0x[0-9a-f.]+\] Heartbeat failed: /)
    faults.icl = undefined
    await icl.clock.advance(60_000)
    const after = lines.filter((line) => line.includes('Heartbeat sent to ICL')).length
    expect(after).toBe(before + 1)
  }, 240_000)
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

describe('an attestation', () => {
  // Bun's `rejects` turns the event loop itself, slowly: the error is caught first.
  const refusalOf = (work: Promise<unknown>) =>
    icl.clock.until(work).then(
      () => 'no refusal',
      (error: unknown) => error,
    )

  it('with another mock key is refused with 403, and the daemon says so', async () => {
    const daemon = await prepareDaemon(icl, 'a')
    daemon.faults.mockKey = '00'.repeat(16)
    expect(await refusalOf(daemon.attestOnce())).toMatchObject({
      status: 403,
      code: 'attestation-hmac-invalid',
    })
    daemons = [startDaemon(icl, daemon, 0)]
    await icl.clock.advance(1_000)
    expect(daemon.lines.join('\n')).toMatch(
      /\[WARNING\] .*Attestation failed, taking no work, .*SVC_MOCK_ATTESTATION_KEY/,
    )
  }, 240_000)

  it('with a nonce older than 300 s is refused with 403', async () => {
    const daemon = await prepareDaemon(icl, 'a')
    daemon.faults.beforeProof = () => icl.clock.sleep(301_000)
    expect(await refusalOf(daemon.attestOnce())).toMatchObject({
      status: 403,
      code: 'challenge-expired',
    })
  }, 240_000)

  it('by a backend that the ICL does not take is refused with 403', async () => {
    await icl.stop()
    icl = await startRealIcl({ mock: false })
    const daemon = await prepareDaemon(icl, 'a')
    expect(await refusalOf(daemon.attestOnce())).toMatchObject({
      status: 403,
      code: 'attestation-backend-refused',
    })
  }, 240_000)
})
