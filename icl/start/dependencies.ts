import { privateKeyToAccount } from 'viem/accounts'
import { ComparatorId } from '../../lib/codecs.ts'
import { isForDevelopment } from '../../lib/development.ts'
import { toBase64Url } from '../../lib/digest.ts'
import { maxBlobBytes, maxBodyBytes } from '../../lib/endpoints.ts'
import { errorMessage } from '../../lib/error-message.ts'
import { isLoopbackAddress } from '../../lib/ip-address.ts'
import { knownNetworks } from '../../lib/known-networks.ts'
import { envelopeBytes } from '../../lib/sealing/envelope.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { systemRandom } from '../../lib/system.ts'
import type { RecoverKey } from '../../lib/wallet-signature.ts'
import { createBatches } from '../async/batches.ts'
import { createKeyedMutex } from '../async/mutex.ts'
import { createNotifier } from '../async/notifier.ts'
import { createClockWatch } from '../chain/clock-watch.ts'
import { createViemChain } from '../chain/viem.ts'
import type { Dependencies } from '../dependencies.ts'
import { mostDrawsWaiting } from '../operations/draw-queue.ts'
import { createPool } from '../pool/pool.ts'
import { createKeyring } from '../records/keyring.ts'
import { createOutages } from '../records/outages.ts'
import { createRevocations } from '../records/revocations.ts'
import type { Access } from '../rules/access.ts'
import { defaultJobLimits, type JobLimits, jobMs } from '../rules/job.ts'
import { instrumentedStore } from '../store/instrumented.ts'
import { lasting } from '../store/store.ts'
import { createFailures } from '../telemetry/failures.ts'
import { instrumented } from '../telemetry/instrumented.ts'
import type { Log } from '../telemetry/log.ts'
import { version } from '../version.ts'
import { accessOf } from './access.ts'
import type { Host } from './host.ts'
import { createJsonLog } from './log.ts'
import { openBlobs } from './open-blobs.ts'
import { createPrometheus } from './prometheus.ts'
import type { Settings } from './settings.ts'
import { serviceClockOver } from './steady-clock.ts'
import { revokedTpmsOf, tpmTrustOf } from './tpm.ts'

/** Makes everything that the ICL needs from its settings and its host. */
export async function createDependencies(settings: Settings, host: Host): Promise<Dependencies> {
  const clock = serviceClockOver(settings.SVC_ICL_DATABASE_URL, (text) => log.warn(text))
  const access = accessOf(settings, host.readText)
  const tpm = tpmTrustOf(settings, host.readText)
  const revokedTpms = revokedTpmsOf(settings, host.readText)
  // Before the store is opened, because a host without webhooks fails here, and an edge host retries the start again and again.
  const webhooks = webhooksOf(settings, host)
  const limits = { ...defaultJobLimits, maxJobsPerClient: settings.SVC_ICL_JOBS_AT_ONCE }
  const metrics = createPrometheus(host.figures)
  const log = createJsonLog(clock, settings.SVC_ICL_LOG_LEVEL, host.write)
  const store = instrumentedStore(await host.openStore(settings, log), metrics)
  const opening = { store: lasting(store), clock, log, localKubo: host.localKubo }
  const { blobs, place } = await openBlobs(settings, opening)
  const account = privateKeyToAccount(settings.SVC_ICL_COORDINATOR_KEY)
  const viemChain = createViemChain({
    rpcUrl: settings.SVC_ICL_RPC_URL,
    chainId: settings.SVC_ICL_CHAIN_ID,
    account,
    nodeRegistry: settings.SVC_ICL_NODE_REGISTRY,
    promptKeyStore: settings.SVC_ICL_PROMPT_KEY_STORE,
    resultRegistry: settings.SVC_ICL_RESULT_REGISTRY,
    confirmations: settings.SVC_ICL_CONFIRMATIONS,
    clock,
    onRpcMoved: (why) => log.warn('another chain RPC', { why }),
    onStalled: (reason) => log.warn('transactions wait', { reason }),
    onCommitted: ({ tx, results, gasUsed }) => {
      const gas = Number(gasUsed)
      metrics.committed(results, gas)
      log.info('results sent', { tx, results, gas, gasPerResult: Math.round(gas / results) })
    },
  })
  const chain = instrumented(
    'chain',
    viemChain,
    metrics,
    createFailures({ clock, log }, 'the chain fails', 60_000),
  )
  const keys = await createKeyring({ store: lasting(store), clock }, settings.SVC_ICL_SECRET)
  // The ICL starts even while the database is away: the background refreshes again.
  await keys.refresh().catch((error: unknown) => {
    // With a key ring that cannot be read, it would sign with keys that may be withdrawn.
    if (error instanceof SvcError) throw error
  })
  return {
    clock,
    random: systemRandom,
    replicaId: toBase64Url(systemRandom.bytes(12)),
    store,
    blobs,
    chain,
    pool: createPool({ store, chain, clock }),
    outages: createOutages({ store: lasting(store), clock, log }),
    clockWatch: createClockWatch({ clock, chain, log, aheadMs: clock.aheadMs }),
    keys,
    notifier: createNotifier(clock),
    turns: createKeyedMutex(),
    changes: createBatches(host.defer),
    log,
    metrics,
    network: { ...networkOf(settings, chain.coordinator, limits, access), blobs: place },
    limits,
    access,
    mockAttestationKey: settings.SVC_ICL_MOCK_ATTESTATION_KEY,
    sharesMockKey: sharesMockKey(settings),
    tpm,
    revocations: createRevocations({ store, clock }, revokedTpms),
    recover: await recoveryOf(host, log),
    readDocsScript: host.readDocsScript,
    webhooks,
  }
}

/** Whether the ICL is for development and takes requests of this machine alone, without a proxy that would bring others. */
export const sharesMockKey = (settings: Settings): boolean =>
  isForDevelopment(settings.SVC_ICL_PUBLIC_URL, settings.SVC_ICL_CHAIN_ID) &&
  (settings.SVC_ICL_HOST === 'localhost' || isLoopbackAddress(settings.SVC_ICL_HOST)) &&
  settings.SVC_ICL_TRUSTED_PROXIES === 0

/** Loads the fast key recovery. Without it, viem recovers wallets' keys at three times the cost. */
async function recoveryOf(host: Host, log: Log): Promise<RecoverKey | undefined> {
  try {
    return await host.loadRecovery?.()
  } catch (error) {
    log.warn('WebAssembly for wallet signatures does not load: they cost three times as much', {
      error: errorMessage(error),
    })
    return undefined
  }
}

function webhooksOf(settings: Settings, host: Host): Dependencies['webhooks'] {
  if (settings.SVC_ICL_WEBHOOKS === 'off') return undefined
  if (host.openWebhooks) {
    return host.openWebhooks({ allowPrivate: settings.SVC_ICL_WEBHOOKS_ALLOW_PRIVATE })
  }
  throw new SvcError('settings-invalid', 'SVC_ICL_WEBHOOKS cannot be on here', {
    hint: 'Leave it off: this host cannot say where a name leads before it connects.',
  })
}

/** The coprocessor's URLs from the settings, or else from the known networks. */
const coprocessorOf = (settings: Settings) =>
  settings.SVC_ICL_COFHE_URLS ??
  knownNetworks.find(({ chainId }) => chainId === settings.SVC_ICL_CHAIN_ID)?.coprocessor

const networkOf = (
  settings: Settings,
  coordinator: Dependencies['chain']['coordinator'],
  limits: JobLimits,
  access: Access,
): Omit<Dependencies['network'], 'blobs'> => ({
  version,
  public_url: new URL(settings.SVC_ICL_PUBLIC_URL).origin,
  chain_id: settings.SVC_ICL_CHAIN_ID,
  contracts: {
    node_registry: settings.SVC_ICL_NODE_REGISTRY,
    prompt_key_store: settings.SVC_ICL_PROMPT_KEY_STORE,
    result_registry: settings.SVC_ICL_RESULT_REGISTRY,
  },
  coordinator,
  ...(coprocessorOf(settings) && { coprocessor: coprocessorOf(settings) }),
  attestation_backends: [
    ...(settings.SVC_ICL_TPM_ROOTS ? ['tpm' as const] : []),
    ...(settings.SVC_ICL_MOCK_ATTESTATION_KEY ? ['mock' as const] : []),
  ],
  comparators: [...ComparatorId.options],
  default_comparator: settings.SVC_ICL_DEFAULT_COMPARATOR,
  limits: {
    body_bytes: maxBodyBytes,
    blob_bytes: maxBlobBytes,
    prompt_bytes: maxBlobBytes - envelopeBytes,
    wait_seconds: 30,
    poll_seconds: settings.SVC_ICL_POLL_SECONDS,
    offer_seconds: limits.offerMs / 1000,
    lease_seconds: limits.leaseMs / 1000,
    reveal_seconds: limits.revealMs / 1000,
    job_seconds: jobMs / 1000,
    deliver_seconds: limits.deliverMs / 1000,
    check_seconds: limits.checkMs / 1000,
    jobs_at_once: limits.maxJobsPerClient,
    draws_waiting: mostDrawsWaiting,
    jobs_per_day: access.jobsPerDay ?? null,
    rates: access.rates,
  },
  client_allow_list: access.clients !== undefined,
  blob_retention_days: 30,
  slash_wei: settings.SVC_ICL_SLASH_WEI,
  webhooks: settings.SVC_ICL_WEBHOOKS_ALLOW_PRIVATE ? 'http' : 'https',
  ...(settings.SVC_ICL_WEBHOOKS === 'off' && { webhooks: 'off' }),
})
