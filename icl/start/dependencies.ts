import { privateKeyToAccount } from 'viem/accounts'
import { maxBlobBytes, maxBodyBytes } from '../../lib/endpoints.ts'
import { systemClock, systemRandom } from '../../lib/system.ts'
import { createMemoryBlobs } from '../blobs/memory.ts'
import { createViemChain } from '../chain/viem.ts'
import type { Dependencies } from '../dependencies.ts'
import { deriveKeys } from '../keys.ts'
import { defaultJobLimits, type JobLimits, jobMs } from '../rules/job.ts'
import { createMemoryStore } from '../store/memory.ts'
import { version } from '../version.ts'
import { createWaiters } from '../waiters.ts'
import { createJsonLog } from './log.ts'
import type { Settings } from './settings.ts'

const blobRoomBytes = 256 * 1024 * 1024

/** Everything the ICL needs, made from its settings; `dump` shows all that it keeps. */
export async function createDependencies(
  settings: Settings,
  write: (line: string) => void,
): Promise<{ deps: Dependencies; dump: () => unknown }> {
  const clock = systemClock
  const store = createMemoryStore(clock)
  const blobs = createMemoryBlobs(blobRoomBytes, clock)
  const account = privateKeyToAccount(settings.SVC_ICL_COORDINATOR_KEY)
  const chain = createViemChain({
    rpcUrl: settings.SVC_ICL_RPC_URL,
    chainId: settings.SVC_ICL_CHAIN_ID,
    account,
    nodeRegistry: settings.SVC_ICL_NODE_REGISTRY,
    promptKeyStore: settings.SVC_ICL_PROMPT_KEY_STORE,
    resultRegistry: settings.SVC_ICL_RESULT_REGISTRY,
    confirmations: settings.SVC_ICL_CONFIRMATIONS,
    clock,
  })
  const deps: Dependencies = {
    clock,
    random: systemRandom,
    store,
    blobs,
    chain,
    keys: await deriveKeys(settings.SVC_ICL_SECRET),
    waiters: createWaiters(clock),
    log: createJsonLog(clock, settings.SVC_ICL_LOG_LEVEL, write),
    network: networkOf(settings, chain.coordinator, defaultJobLimits),
    limits: defaultJobLimits,
    mockAttestationKey: settings.SVC_ICL_MOCK_ATTESTATION_KEY,
  }
  return { deps, dump: () => ({ store: store.dump(), blobs: blobs.list() }) }
}

const networkOf = (
  settings: Settings,
  coordinator: Dependencies['chain']['coordinator'],
  limits: JobLimits,
): Dependencies['network'] => ({
  version,
  public_url: new URL(settings.SVC_ICL_PUBLIC_URL).origin,
  chain_id: settings.SVC_ICL_CHAIN_ID,
  contracts: {
    node_registry: settings.SVC_ICL_NODE_REGISTRY,
    prompt_key_store: settings.SVC_ICL_PROMPT_KEY_STORE,
    result_registry: settings.SVC_ICL_RESULT_REGISTRY,
  },
  coordinator,
  attestation_backends: settings.SVC_ICL_MOCK_ATTESTATION_KEY ? ['mock'] : [],
  comparators: ['exact'],
  default_comparator: 'exact',
  limits: {
    body_bytes: maxBodyBytes,
    blob_bytes: maxBlobBytes,
    prompt_bytes: 32 * 1024,
    wait_seconds: 30,
    offer_seconds: limits.offerMs / 1000,
    lease_seconds: limits.leaseMs / 1000,
    reveal_seconds: limits.revealMs / 1000,
    job_seconds: jobMs / 1000,
    max_verifiers: limits.maxVerifiers,
  },
  blob_retention_days: 30,
})
