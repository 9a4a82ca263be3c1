import { createApi } from '../../lib/api.ts'
import { createGatewayBlobs } from '../../lib/blobs/gateways.ts'
import type { Address } from '../../lib/codecs.ts'
import type { Fetch } from '../../lib/outgoing.ts'
import { systemRandom } from '../../lib/system.ts'
import { attest } from '../../node/attestation/attest.ts'
import { createAttestor } from '../../node/attestation/attestor.ts'
import { newSigner } from '../../node/attestation/session.ts'
import type { NodeChain } from '../../node/chain/chain.ts'
import { type DaemonDeps, runDaemon } from '../../node/daemon.ts'
import { createIclKeys } from '../../node/icl-keys.ts'
import { createOpenAi } from '../../node/inference/openai.ts'
import { createLog } from '../../node/log.ts'
import { activeNode } from '../icl/fake-chain.ts'
import { modelId, walletOf } from '../icl/test-icl.ts'
import { privateKeyOf, readerOf } from '../sample-reading.ts'
import { denied, memoryAcks, memoryHistory, memoryJournal, storeCosts } from './fakes.ts'
import { mockKeyHex, type RealIcl } from './real-icl.ts'

/** What a test may break; undefined works as it should. */
type Faults = {
  /** Answers a call to the ICL in its place; undefined lets it pass. */
  icl?: ((request: Request) => Promise<Response> | undefined) | undefined
  /** Answers for the provider. */
  provider?: (request: Request) => Promise<Response>
  mockKey?: string | undefined
}

/** A whole daemon of this source tree that works for the real ICL, with fakes for chain and coprocessor only. */
export type RealDaemon = Awaited<ReturnType<typeof prepareDaemon>>

const answered = (content: string) =>
  Response.json({ choices: [{ index: 0, message: { role: 'assistant', content } }] })

/** Makes a registered node that is attested, and not yet running. */
export async function prepareDaemon(icl: RealIcl, name: string) {
  const { clock, chainId, url } = icl
  const { account, address, signer } = walletOf(name)
  icl.chain.nodes.set(address, activeNode)
  const faults: Faults = {}
  const lines: string[] = []
  const log = createLog({ level: 'DEBUG', address, clock, write: (line) => lines.push(line) })
  const nodeSigner = await newSigner(address, systemRandom)
  const readingKey = await readerOf(privateKeyOf(name))
  const fetch: Fetch = (request) => faults.icl?.(request) ?? icl.travel(request)
  const shared = { baseUrl: url, fetch, clock, random: systemRandom }
  const attestations: number[] = []
  const attestOnce = async (signal?: AbortSignal): Promise<number> => {
    attestations.push(clock.now())
    const { expiresAt } = await attest({
      api: createApi({ ...shared, signer }),
      account,
      signer: nodeSigner,
      icl: url,
      chainId,
      readingKey,
      attestor: createAttestor('mock', { mockKeyHex: faults.mockKey ?? mockKeyHex }),
      clock,
      signal,
    })
    return expiresAt
  }
  const provider = createOpenAi({
    ...{ name: 'openai', keyVariable: 'OPENAI_API_KEY', apiKey: 'sk-test' },
    baseUrl: 'http://provider.test/v1',
    clock,
    log,
    fetch: async (request) => (await faults.provider?.(request)) ?? answered('Four.'),
  })
  const api = createApi({ ...shared, signer: nodeSigner })
  const journal = memoryJournal()
  const history = memoryHistory()
  const acks = memoryAcks()
  const models = new Map([[modelId, { provider, model: 'test' }]])
  const deps: Omit<DaemonDeps, 'expiresAt'> = {
    address,
    sessionKey: nodeSigner.key,
    readingKey,
    api,
    iclOrigin: url,
    chainId,
    promptKeyStore: icl.deps.network.contracts.prompt_key_store,
    iclKeys: createIclKeys(api),
    coprocessor: coprocessorOf(icl, address),
    blobs: createGatewayBlobs({
      gateways: ['http://gateway.test'],
      clock,
      fetch: (request) =>
        icl.travel(new Request(`${url}${new URL(request.url).pathname}`, request)),
    }),
    chain: chainOf(icl, address),
    models,
    offer: { now: models, withdrawn: new Map(), onChange: () => {} },
    journal,
    history,
    acks,
    clock,
    random: systemRandom,
    log,
    version: '1.2.3',
    backend: 'mock',
    attest: attestOnce,
    maxConcurrentJobs: 2,
    pollSeconds: 5,
    drainMs: 60_000,
    residentBytes: () => 1,
    shrinkMemory: () => {},
    checkDisk: async () => {},
  }
  return { name, address, faults, lines, deps, attestOnce, attestations, journal, history, acks }
}

function coprocessorOf(icl: RealIcl, address: Address): DaemonDeps['coprocessor'] {
  return {
    encrypt: icl.coprocessor.encrypt,
    decrypt: async (handle) => {
      if (icl.chain.readers.has(`${handle}:${address}`)) return icl.coprocessor.plain(handle)
      throw denied()
    },
  }
}

function chainOf(icl: RealIcl, address: Address): NodeChain {
  return {
    registration: async () => ({
      lastHeartbeat: Math.floor(icl.clock.now() / 1000),
      modelTiers: [0],
    }),
    answersPaidFor: async () => 100,
    newestBlock: async () => ({ number: 1_000_000n, timestamp: 0, host: 'rpc.example' }),
    leaveRpc: () => {},
    listCommitmentOf: async (high, low) => (await icl.chain.listOf(high, low))?.commitment,
    sendHeartbeat: async () => `0x${'99'.repeat(32)}`,
    storeOutputKey: async (key) => {
      const highHandle = icl.coprocessor.store(icl.coprocessor.plain(key.high.ctHash))
      const lowHandle = icl.coprocessor.store(icl.coprocessor.plain(key.low.ctHash))
      icl.chain.storeOutputKey(highHandle, lowHandle, address, key)
      return { highHandle, lowHandle, ...storeCosts }
    },
  }
}

/** Daemons that run, and how to end them. */
export function startDaemon(icl: RealIcl, daemon: RealDaemon, expiresAt: number) {
  const stop = new AbortController()
  const running = runDaemon({ ...daemon.deps, expiresAt }, stop.signal)
  // Watched from the start, whenever it is awaited.
  running.catch(() => {})
  return {
    ...daemon,
    running,
    askToStop: () => stop.abort(),
    stop: async () => {
      stop.abort()
      await icl.clock.until(running)
    },
  }
}

export type RunningDaemon = ReturnType<typeof startDaemon>

/** Makes, attests and starts nodes, and waits until the ICL has heard of them. */
export async function startDaemons(icl: RealIcl, names: readonly string[]) {
  const daemons: RunningDaemon[] = []
  for (const name of names) {
    const daemon = await prepareDaemon(icl, name)
    daemons.push(startDaemon(icl, daemon, await icl.clock.until(daemon.attestOnce())))
  }
  await icl.clock.advance(1_000)
  return daemons
}
