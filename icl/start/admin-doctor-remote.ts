import { lookup } from 'node:dns/promises'
import { connect } from 'node:net'
import { formatEther } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { createApi } from '../../lib/api.ts'
import { toChainError } from '../../lib/chain/chain-error.ts'
import { type ChainWriter, createChainReader, createChainWriter } from '../../lib/chain/clients.ts'
import { rpcUrlsOf } from '../../lib/chain/rpc-list.ts'
import type { Clock } from '../../lib/clock.ts'
import { withDeadline } from '../../lib/deadline.ts'
import { errorMessage } from '../../lib/error-message.ts'
import { fetchNetwork } from '../../lib/fetch-network.ts'
import type { Check } from '../../lib/host/checks.ts'
import { checking, failed, ok, skipped } from '../../lib/host/checks.ts'
import { hostOf } from '../../lib/ip-address.ts'
import { localFheChainId } from '../../lib/known-networks.ts'
import { ask } from '../../lib/outgoing.ts'
import type { Random } from '../../lib/random.ts'
import { systemFetch } from '../../lib/system-fetch.ts'
import { whyRefused } from '../../lib/webhook-url.ts'
import { listEffects } from '../admin/effects.ts'
import { findFaults } from '../chain/find-faults.ts'
import type { Store } from '../store/store.ts'
import type { Log } from '../telemetry/log.ts'
import { openBlobs } from './open-blobs.ts'
import type { Settings } from './settings.ts'

const attemptMs = 10_000
const toleranceMs = 120_000
const mostServers = 20
const maxLivezBytes = 4_096
// Chains that make blocks only for transactions.
const restingChains = [31_337, localFheChainId]

const late = () => new Error(`no answer within ${attemptMs / 1000} s`)
const within = <T>(clock: Clock, work: (signal: AbortSignal) => Promise<T>): Promise<T> =>
  withDeadline(clock, attemptMs, undefined, late, work)

/** Checks the RPC's chain id, the contracts, the coordinator's role and gas money, and the clock. */
export async function checkChain(settings: Settings, clock: Clock): Promise<readonly Check[]> {
  const account = privateKeyToAccount(settings.SVC_ICL_COORDINATOR_KEY)
  const { SVC_ICL_RPC_URL: rpcUrl, SVC_ICL_CHAIN_ID: chainId } = settings
  const writer = createChainWriter({ rpcUrl, chainId, account })
  const chain = await Promise.all(rpcUrlsOf(rpcUrl).map((url) => checkChainId(url, chainId)))
  if (chain.every(({ status }) => status !== 'ok')) {
    const others = ['contracts', 'coordinator', 'clock']
    return [...chain, ...others.map((name) => skipped(name, 'needs the chain RPC'))]
  }
  const found = await Promise.all([checkContracts(writer, settings), checkClock(writer, clock)])
  return [...chain, ...found.flat()]
}

const checkChainId = (rpcUrl: string, chainId: number): Promise<Check> =>
  checking('chain', async () => {
    const { publicClient } = createChainReader({ rpcUrl, chainId })
    // Only the host: the path may hold an access key.
    const { host } = new URL(rpcUrl)
    const actual = await publicClient.getChainId().catch((error: unknown) => {
      throw toChainError(error, `reading the chain id from ${host}`)
    })
    if (actual === chainId) return ok('chain', `${host} is chain ${chainId}`)
    const remedy =
      'Correct SVC_ICL_RPC_URL, or the chain id (SVC_ICL_DEPLOYMENT, SVC_ICL_CHAIN_ID).'
    return failed('chain', `${host} is chain ${actual}, and the settings say ${chainId}`, remedy)
  })

async function checkContracts(writer: ChainWriter, settings: Settings): Promise<readonly Check[]> {
  const { publicClient, walletClient } = writer
  const { address } = walletClient.account
  const contracts = {
    nodeRegistry: settings.SVC_ICL_NODE_REGISTRY,
    promptKeyStore: settings.SVC_ICL_PROMPT_KEY_STORE,
    resultRegistry: settings.SVC_ICL_RESULT_REGISTRY,
  }
  let faults: readonly string[] = []
  const reached = await checking('contracts', async () => {
    faults = await findFaults(writer, contracts)
    return ok('contracts', 'NodeRegistry, PromptKeyStore, ResultRegistry')
  })
  if (reached.status !== 'ok') return [reached, skipped('coordinator', 'needs the contracts')]
  const checks = faults.map(contractFault)
  const balance = await checking('coordinator', async () => {
    const wei = await publicClient.getBalance({ address }).catch((error: unknown) => {
      throw toChainError(error, "reading the coordinator's balance")
    })
    return ok('coordinator', `${address} has ${formatEther(wei)} ETH, and its role`)
  })
  const isFine = (name: string) => checks.every((check) => check.name !== name)
  return [
    ...(isFine('contracts') ? [reached] : []),
    ...checks,
    ...(isFine('coordinator') ? [balance] : []),
  ]
}

function contractFault(fault: string): Check {
  if (fault.includes('gas money')) {
    return failed('coordinator', fault, 'Send money to it on this chain.')
  }
  if (fault.includes('coordinator role')) {
    const remedy =
      'Correct SVC_ICL_COORDINATOR_KEY, or have the holder of the role hand it over (docs/contracts.md).'
    return failed('coordinator', fault, remedy)
  }
  const remedy = fault.includes('eth_getLogs')
    ? 'Name an RPC that answers eth_getLogs in SVC_ICL_RPC_URL.'
    : 'Correct SVC_ICL_DEPLOYMENT, or the address. Check that the RPC is in step with its chain.'
  return failed('contracts', fault, remedy)
}

const checkClock = ({ publicClient, ...writer }: ChainWriter, clock: Clock): Promise<Check> =>
  checking('clock', async () => {
    const name = 'clock'
    const { timestamp } = await publicClient.getBlock().catch((error: unknown) => {
      throw toChainError(error, 'reading the latest block')
    })
    const aheadMs = clock.now() - Number(timestamp) * 1000
    const seconds = Math.round(Math.abs(aheadMs) / 1000)
    const remedy = 'Set the clock of this machine, for example with NTP (timedatectl set-ntp true).'
    if (aheadMs < -toleranceMs) {
      return failed(name, `${seconds} s behind the latest block`, remedy)
    }
    const isResting = restingChains.includes(writer.walletClient.chain.id)
    if (aheadMs > toleranceMs && !isResting) {
      const detail = `the latest block is ${seconds} s old: the clock is ahead, or the RPC is behind`
      return failed(name, detail, `${remedy} If it is right, use another RPC.`, true)
    }
    return ok(name, `the latest block is ${seconds} s ${aheadMs < 0 ? 'ahead' : 'old'}`)
  })

/** Checks that the blob store responds. Where the settings leave it open, finds what a start would choose. */
export const checkBlobs = (
  settings: Settings,
  {
    store,
    ...parts
  }: { store: Store | undefined; clock: Clock; log: Log; localKubo: string | undefined },
): Promise<Check> =>
  checking('blobs', async () => {
    const { SVC_ICL_BLOBS: location } = settings
    if (location === 'store') return ok('blobs', 'are in the store')
    if (store === undefined) return skipped('blobs', 'needs the store')
    const { blobs, place, why, warning } = await openBlobs(settings, { store, ...parts })
    if (warning) return failed('blobs', warning, 'Start Kubo, or correct SVC_ICL_BLOBS.', true)
    if (location === 'auto') return ok('blobs', `go to ${place}: ${why}`)
    const { host } = new URL(location.rpcUrl)
    const { clock } = parts
    try {
      await within(clock, (signal) => blobs.ping(signal))
      return ok('blobs', `Kubo responds at ${host}`)
    } catch (error) {
      const remedy = 'Start Kubo, or correct SVC_ICL_BLOBS and SVC_ICL_KUBO_AUTHORIZATION.'
      return failed('blobs', `Kubo at ${host}: ${errorMessage(error)}`, remedy, true)
    }
  })

/** Checks that servers with waiting messages can be reached from here. Sends them nothing. */
export const checkWebhooks = (
  { SVC_ICL_WEBHOOKS: state, SVC_ICL_WEBHOOKS_ALLOW_PRIVATE: allowPrivate }: Settings,
  { store, clock, random }: { store: Store | undefined; clock: Clock; random: Random },
): Promise<Check> =>
  checking('webhooks', async () => {
    const name = 'webhooks'
    if (state === 'off') return skipped(name, 'SVC_ICL_WEBHOOKS is off')
    if (store === undefined) return skipped(name, 'needs the store')
    const urls = new Map<string, URL>()
    for await (const { jobId, pending } of listEffects({ store, clock, random, operator: '' })) {
      if (pending.effect.type !== 'notify' || urls.size >= mostServers) continue
      const url = (await store.findJob(jobId))?.document.webhook?.url
      if (url && !whyRefused(url, allowPrivate)) urls.set(new URL(url).origin, new URL(url))
    }
    const reached = await Promise.all([...urls.values()].map((url) => reach(url, clock)))
    const unreached = reached.filter((error) => error !== undefined)
    if (unreached.length === 0) return ok(name, `servers to notify: ${urls.size}`)
    const remedy =
      'Check the DNS and the outgoing connections of this machine. Else its client has to act.'
    return failed(name, unreached.join(', '), remedy, true)
  })

/** Connects to the server of a URL. Returns the failure, or undefined. */
async function reach(url: URL, clock: Clock): Promise<string | undefined> {
  try {
    const { address } = await within(clock, () => lookup(hostOf(url)))
    const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80))
    await within(clock, (signal) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const socket = connect({ host: address, port }, () => resolve())
      socket.once('error', reject)
      signal.addEventListener('abort', () => reject(signal.reason), { once: true })
      return promise.finally(() => socket.destroy())
    })
    return undefined
  } catch (error) {
    return `${url.host}: ${errorMessage(error)}`
  }
}

/** Checks that the public URL leads to the ICL, if it runs. */
export const checkPublicUrl = (
  settings: Settings,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
): Promise<Check> =>
  checking('public url', async () => {
    const name = 'public url'
    const { origin } = new URL(settings.SVC_ICL_PUBLIC_URL)
    const { SVC_ICL_HOST: host, SVC_ICL_PORT: port } = settings
    const here = `http://${['0.0.0.0', '::'].includes(host) ? '127.0.0.1' : host}:${port}`
    const isUp = await within(clock, (signal) =>
      ask(systemFetch, `${here}/livez`, { signal, maxBytes: maxLivezBytes }),
    ).then(
      ({ ok }) => ok,
      () => false,
    )
    if (!isUp) return skipped(name, `no ICL runs at ${here}`)
    try {
      const api = createApi({ baseUrl: origin, fetch: systemFetch, clock, random })
      await within(clock, (signal) => fetchNetwork(api, origin, signal))
      return ok(name, `${origin} leads to this ICL`)
    } catch (error) {
      const remedy =
        'Check DNS, proxy and certificate of SVC_ICL_PUBLIC_URL: callers use this name.'
      return failed(name, `${origin}: ${errorMessage(error)}`, remedy)
    }
  })
