import { dirname } from 'node:path'
import { type Api, createApi } from '../../lib/api.ts'
import { createGatewayBlobs } from '../../lib/blobs/gateways.ts'
import { isForDevelopment } from '../../lib/development.ts'
import { fetchNetwork } from '../../lib/fetch-network.ts'
import { errorText } from '../../lib/host/explain-error.ts'
import { fileExists } from '../../lib/host/private-files.ts'
import { listenForStop } from '../../lib/host/stop-signals.ts'
import { version } from '../../lib/host/version.ts'
import type { Network } from '../../lib/schemas/network.ts'
import { mockKeyMissing } from '../attestation/mock-key.ts'
import {
  type AttestationRecord,
  keepRenewed,
  notAttested,
  readRecord,
} from '../attestation/record.ts'
import { newSigner } from '../attestation/session.ts'
import { watchingClock } from '../clock-watch.ts'
import type { Config } from '../config.ts'
import { type LoadedConfig, loadConfig } from '../config-file.ts'
import { type DaemonDeps, runDaemon } from '../daemon.ts'
import { debuggingFetch, debuggingRpcFetch } from '../debug-fetch.ts'
import { checkIclDeployment } from '../deployment.ts'
import { createIclKeys } from '../icl-keys.ts'
import { offerModels } from '../inference/models.ts'
import { providersOf } from '../inference/providers.ts'
import { acksPathOf, openAcks } from '../journal/acks.ts'
import { checkDisk } from '../journal/check-disk.ts'
import { historyPathOf, openHistory } from '../journal/history.ts'
import { openJournal } from '../journal/journal-file.ts'
import { locked, lockPathOf } from '../journal/lock.ts'
import { journalPathOf } from '../journal/read-journal.ts'
import { openTransactions } from '../journal/transactions.ts'
import type { Log } from '../log.ts'
import { messages } from '../log-messages.ts'
import type { openMetrics } from '../metrics/open-metrics.ts'
import { openWallet, type Wallet } from '../wallet.ts'
import { attestRun } from './attest.ts'
import { type CommandContext, endsAtHangup } from './context.ts'
import { offerWhenReached } from './offer-when-reached.ts'
import type { Given } from './options.ts'
import { openLog, withRunFlags } from './run-log.ts'
import { untilReached } from './until-reached.ts'

/**
 * Runs the daemon until a signal stops it (spec 3.2). Throws SvcError `not-attested` when `attest` was never run, or `mock-key-missing`
 * where no start can attest.
 */
export async function runNode(flags: Given<'run'>, given: CommandContext): Promise<undefined> {
  const context = { ...given, environment: withRunFlags(given.environment, flags) }
  const unknown: string[] = []
  const known = await loadConfig(context.environment, (line) => unknown.push(line))
  const loaded = { ...known, unknown }
  const { config, attestationPath } = loaded
  if (!(await fileExists(attestationPath))) throw notAttested()
  const wallet = await openWallet(loaded, context)
  const icl = new URL(config.icl_endpoint).origin
  const record = await readRecord(attestationPath, { address: wallet.address, icl })
  if (record === undefined) throw notAttested()
  const isKeyLost = record.backend === 'mock' && config.mock_attestation_key === undefined
  if (isKeyLost && !isForDevelopment(icl, record.chain_id)) throw mockKeyMissing()
  await locked(lockPathOf(loaded.configPath), () => runLocked(context, loaded, wallet, record))
}

/** The configuration, and a line of each of its fields that the node does not know. */
type Loaded = LoadedConfig & { readonly unknown: readonly string[] }

async function runLocked(
  context: CommandContext,
  loaded: Loaded,
  wallet: Wallet,
  record: AttestationRecord,
): Promise<void> {
  const { config } = loaded
  const { log, close } = openLog(context, config, wallet.address)
  for (const line of loaded.unknown) log.warning(line)
  const { fetch, ...fetches } = fetchesOf(context, config, log)
  const signals = listenForStop({
    endsAtThird: true,
    endsAtHangup: endsAtHangup(context),
    // The line opens a log file again that was moved away.
    onSignal: (name) => log.info(`${name} received`),
  })
  // A stop waits for running jobs, whose transactions are watched until then.
  const ended = new AbortController()
  let metrics: Metrics | undefined
  try {
    // Loaded late, because most nodes do without.
    if (config.metrics) {
      const { openMetrics } = await import('../metrics/open-metrics.ts')
      metrics = await openMetrics(config.metrics, { ...context, log, address: wallet.address })
    }
    const network = await reachNetwork({ ...context, fetch }, loaded, log, signals.stop)
    if (network === undefined) return
    const { stop, abandon } = signals
    const on = { stop, ended: ended.signal, onSpent: metrics?.spent }
    const known = { record, network, log, fetches, ...on }
    const deps = await connect({ ...context, fetch }, loaded, wallet, known)
    const { registerItself } = await import('./register-itself.ts')
    await registerItself({ loaded, wallet, network, log }, { ...context, fetch }, stop)
    await runDaemon(metrics?.measure(deps, deps.api) ?? deps, stop, abandon)
  } finally {
    ended.abort()
    metrics?.close()
    signals.release()
    close()
  }
}

/** Waits until the ICL has named its network, and checks that the RPC is for its chain. Undefined when stopped in the meantime. */
async function reachNetwork(
  context: CommandContext,
  { config }: LoadedConfig,
  log: Log,
  signal: AbortSignal,
): Promise<Network | undefined> {
  const icl = new URL(config.icl_endpoint).origin
  const api = createApi({ ...context, baseUrl: icl })
  const ask = () => fetchNetwork(api, icl, signal)
  const network = await untilReached(context.clock, signal, ask, (why, nextMs) =>
    log.warning(`Waiting for the ICL, next try in ${Math.ceil(nextMs / 1000)} s: ${why}`),
  )
  if (network === undefined) return undefined
  await checkIclDeployment(network, config)
  const { checkEndpoint } = await import('../chain/check-endpoint.ts')
  const endpoint = { rpcUrl: config.cofhe_endpoint, chainId: network.chain_id }
  const check = () => checkEndpoint(endpoint, signal, (text) => log.warning(text))
  const checked = await untilReached(context.clock, signal, check, (why, nextMs) =>
    log.warning(`Waiting for the chain RPC, next try in ${Math.ceil(nextMs / 1000)} s: ${why}`),
  )
  return checked && network
}

type Metrics = Awaited<ReturnType<typeof openMetrics>>

type Known = {
  readonly record: AttestationRecord
  readonly network: Network
  readonly log: Log
  readonly fetches: Omit<ReturnType<typeof fetchesOf>, 'fetch'>
  readonly stop: AbortSignal
  readonly ended: AbortSignal
  readonly onSpent: Metrics['spent'] | undefined
}

const ownMemory = {
  residentBytes: () => process.memoryUsage.rss(),
  shrinkMemory: () => Bun.shrink(),
}

/** Opens the job journal, and logs that a kill has cut off its last line. */
function openOwnJournal(configPath: string, log: Log) {
  const journal = openJournal(journalPathOf(configPath))
  if (journal.wasTorn)
    log.warning(
      'Job journal: the last line was cut off when the daemon was killed. It had no effect',
    )
  return journal
}

async function connect(
  context: CommandContext,
  loaded: LoadedConfig,
  wallet: Wallet,
  { record, network, log, stop, ended, fetches, onSpent }: Known,
): Promise<DaemonDeps & { readonly api: Api }> {
  const { environment, fetch, clock, random } = context
  const { config } = loaded
  const { account, address } = wallet
  const { icl } = record
  const { node_registry: nodeRegistry, prompt_key_store: promptKeyStore } = network.contracts
  const signer = await newSigner(address, random)
  const { providerFetch, ...rpc } = fetches
  const made = await offerModels(config, environment, clock, log, providerFetch)
  for (const { modelId, variable } of made.missingKeys) {
    log.warning(`Model ${modelId} is not offered: ${variable} is not set`)
  }
  const providers = providersOf(config.supported_model_ids, config)
  const offered = await offerWhenReached(
    { ...made, providers, log, stop },
    { environment, fetch: providerFetch ?? fetch, clock },
  )
  const journal = openOwnJournal(loaded.configPath, log)
  // Loaded late, because the SDKs behind these load slowly.
  const { createNodeChain } = await import('../chain/contracts.ts')
  const { createCofheCoprocessor } = await import('../../lib/coprocessor/cofhe.ts')
  const { createProcessProver } = await import('../../lib/host/coprocessor/process-prover.ts')
  const endpoint = { rpcUrl: config.cofhe_endpoint, chainId: network.chain_id, account, ...rpc }
  const store = openTransactions(loaded.configPath, { address, chainId: network.chain_id })
  const sending = { store, maxFeeGwei: config.max_fee_gwei, log, onSpent, signal: ended }
  const shared = { baseUrl: icl, fetch: watchingClock(fetch, clock, log), clock, random }
  const api = createApi({ ...shared, signer })
  const prover = createProcessProver({
    clock,
    onDeath: (why) => log.warning(`${why}; starting it again`),
  })
  const coprocessor = createCofheCoprocessor({
    ...endpoint,
    clock,
    prover,
    coprocessor: config.cofhe_urls,
    onPermit: (news) => log.debug(messages.permitMade(news)),
  })
  // Made ahead, because the first decryption waits for the permit. It makes the permit itself if this fails.
  coprocessor.makePermit(stop).catch((error: unknown) => {
    if (!stop.aborted)
      log.warning(`No permit for decryptions yet, the first one makes it: ${errorText(error)}`)
  })
  return {
    address,
    version,
    sessionKey: signer.key,
    readingKey: wallet.readingKey,
    ...offered,
    journal,
    history: openHistory(historyPathOf(loaded.configPath)),
    acks: openAcks(acksPathOf(loaded.configPath), clock),
    clock,
    random,
    log,
    api,
    iclOrigin: icl,
    chainId: network.chain_id,
    promptKeyStore,
    iclKeys: createIclKeys(api),
    coprocessor,
    blobs: createGatewayBlobs({ gateways: [...(config.ipfs_gateway ?? []), icl], fetch, clock }),
    chain: createNodeChain({ ...endpoint, nodeRegistry, promptKeyStore, sending }),
    backend: record.backend,
    expiresAt: 0,
    attest: async (signal) => {
      const run = { wallet, icl, chainId: network.chain_id, signer, signal }
      const renewed = await attestRun(record.backend, run, loaded, context)
      await keepRenewed(loaded.attestationPath, renewed, log)
      return renewed.expires_at
    },
    maxConcurrentJobs: config.max_concurrent_jobs,
    pollSeconds: network.limits.poll_seconds,
    drainMs: config.drain_seconds * 1000,
    checkDisk: () => checkDisk(dirname(loaded.configPath)),
    ...ownMemory,
  }
}

/** The fetch functions for the ICL and the gateways, the providers, and the chain RPC. At DEBUG they log what they send. Each log says when another RPC is used. */
function fetchesOf({ environment, fetch }: CommandContext, config: Config, log: Log) {
  const onRpcMoved = (news: string) => log.warning(`Another chain RPC: ${news}`)
  if (config.log_level !== 'DEBUG')
    return { fetch, onRpcMoved, providerFetch: undefined, rpcFetch: undefined }
  const providers = providersOf(config.supported_model_ids, config)
  const secrets = providers.map(({ keyVariable }) => environment[keyVariable])
  return {
    fetch: debuggingFetch(fetch, log, { icl: new URL(config.icl_endpoint).origin }),
    providerFetch: debuggingFetch(fetch, log, { secrets }),
    rpcFetch: debuggingRpcFetch(fetch, log),
    onRpcMoved,
  }
}
