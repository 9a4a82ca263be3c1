import { readFile } from 'node:fs/promises'
import { privateKeyToAccount } from 'viem/accounts'
import { type Client, createClient } from '../../lib/client/client.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Prover } from '../../lib/coprocessor/prover.ts'
import { checkDeployed, parseDeployment } from '../../lib/deployment.ts'
import { errorMessage } from '../../lib/error-message.ts'
import { createProcessProver } from '../../lib/host/coprocessor/process-prover.ts'
import type { Fetch } from '../../lib/outgoing.ts'
import type { Random } from '../../lib/random.ts'
import type { Deployment } from '../../lib/schemas/deployment.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { readClientKey } from './client-key.ts'
import type { ClientSettings } from './settings.ts'

/** What a connection needs from its host. */
export type ConnectOptions = {
  readonly clock: Clock
  readonly random: Random
  readonly signal?: AbortSignal
  readonly fetch?: Fetch
  /** Makes proofs; when left out, in separate processes. */
  readonly prover?: Prover
  /** Receives warnings for the user. */
  readonly warn?: (line: string) => void
}

/** Connects to the ICL of the settings; throws SvcError with what to correct. */
export async function connectClient(
  settings: ClientSettings,
  options: ConnectOptions,
): Promise<Client> {
  const { clock, random, signal, fetch, warn = () => {} } = options
  const account = privateKeyToAccount(await readClientKey(settings, warn))
  const deployment = await readDeployment(settings.SVC_DEPLOYMENT)
  if (deployment === undefined) {
    warn("warning: SVC_DEPLOYMENT is not set: the contracts are taken on the ICL's word")
  }
  const coprocessorUrls = settings.SVC_COFHE_URLS ?? deployment?.coprocessor
  const client = await createClient({
    icl: settings.SVC_ICL_ENDPOINT,
    rpcUrl: settings.SVC_RPC_URL,
    account,
    prover: options.prover ?? createProcessProver({ clock }),
    gateways: settings.SVC_IPFS_GATEWAY ?? [],
    clock,
    random,
    ...(coprocessorUrls && { coprocessorUrls }),
    ...(deployment && { contracts: deployment.contracts }),
    ...(fetch && { fetch }),
    ...(signal && { signal }),
  })
  if (deployment !== undefined) checkDeployed(client.network, deployment)
  return client
}

async function readDeployment(path: string | undefined): Promise<Deployment | undefined> {
  if (path === undefined) return undefined
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    const why = errorMessage(error)
    throw new SvcError('deployment-unreadable', `the address file ${path} cannot be read: ${why}`, {
      hint: 'Correct SVC_DEPLOYMENT, or leave it out.',
    })
  }
  return parseDeployment(text, path)
}
