import { type Api, createApi } from '../../lib/api.ts'
import { rpcHostsOf } from '../../lib/chain/rpc-list.ts'
import { unixSeconds } from '../../lib/clock.ts'
import { withDeadline } from '../../lib/deadline.ts'
import { fetchNetwork } from '../../lib/fetch-network.ts'
import type { Network } from '../../lib/schemas/network.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { behindError, type NewestBlock } from '../chain/behind.ts'
import { createRegistryReader, type RegistryEndpoint } from '../chain/registry.ts'
import type { Config } from '../config.ts'
import { checkIclDeployment } from '../deployment.ts'
import type { CommandContext } from './context.ts'

const patienceMs = 20_000

/** Runs `work` with a timeout of 20 s. Throws SvcError `timed-out`. */
export const withTimeout = <T>(
  { clock }: Pick<CommandContext, 'clock'>,
  who: string,
  work: (signal: AbortSignal) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> => withDeadline(clock, patienceMs, signal, () => timedOut(who), work)

const timedOut = (who: string): SvcError =>
  new SvcError('timed-out', `${who} gave no answer within ${patienceMs / 1000} s`, {
    hint: 'Check the network, and try again.',
    retryable: true,
  })

/** Calls an ICL with that timeout. Only the origin of the endpoint counts. */
export function askIcl<T>(
  iclEndpoint: string,
  context: CommandContext,
  ask: (api: Api, signal: AbortSignal) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  const baseUrl = new URL(iclEndpoint).origin
  const api = createApi({ ...context, baseUrl })
  return withTimeout(context, `the ICL at ${baseUrl}`, (ended) => ask(api, ended), signal)
}

/** Returns the network of an ICL, of whose endpoint only the origin counts. Throws SvcErrors. */
export const networkOf = (
  iclEndpoint: string,
  context: CommandContext,
  signal?: AbortSignal,
): Promise<Network> =>
  askIcl(iclEndpoint, context, (api, ended) => fetchNetwork(api, iclEndpoint, ended), signal)

/** Returns the network of the node's ICL, and checks that it is the deployment that the configuration names, if any. Throws SvcErrors. */
export async function ownNetworkOf(
  config: Pick<Config, 'icl_endpoint' | 'deployment'>,
  context: CommandContext,
  signal?: AbortSignal,
): Promise<Network> {
  const network = await networkOf(config.icl_endpoint, context, signal)
  await checkIclDeployment(network, config)
  return network
}

/** Returns the location of NodeRegistry: on the ICL's chain, through the node's RPC. */
export const registryEndpoint = (
  network: Pick<Network, 'chain_id' | 'contracts'>,
  rpcUrl: string,
): RegistryEndpoint => ({
  rpcUrl,
  chainId: network.chain_id,
  nodeRegistry: network.contracts.node_registry,
})

/** The chain RPC's name in messages. Without its path, which may hold an access key. */
export const rpcName = (rpcUrl: string): string => `the chain RPC at ${rpcHostsOf(rpcUrl)}`

const inStepSeconds = 30

/** The newest block of an RPC. Throws SvcError `chain-behind` when that is older than 30 s and the ICL's RPC knows a newer one, or a chain error. */
export async function newestBlockOf(
  icl: string,
  place: RegistryEndpoint,
  context: CommandContext,
  signal?: AbortSignal,
): Promise<NewestBlock> {
  // Asked first: what the ICL knows, an RPC that is in step knows a moment later.
  const { block_number: known = 0n } = await askIcl(
    icl,
    context,
    (api, ended) => api.getReadiness({}, { signal: ended }),
    signal,
  ).catch(() => ({ block_number: 0n }))
  const newest = await createRegistryReader(place).newestBlock(signal)
  const now = unixSeconds(context.clock)
  const behind = behindError(newest, known, now)
  if (behind && now - newest.timestamp > inStepSeconds) throw behind
  return newest
}
