import { dirname, join } from 'node:path'
import type { Hex } from 'viem'
import type { Address } from '../../lib/codecs.ts'
import type { Network } from '../../lib/schemas/network.ts'
import type { AttestationBackend } from '../../lib/schemas/nodes.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { checkEndpoint } from '../chain/check-endpoint.ts'
import {
  createRegistryReader,
  createRegistrySender,
  type RegistryEndpoint,
  type RegistryState,
  type RegistryStep,
} from '../chain/registry.ts'
import type { SendOptions } from '../chain/sending.ts'
import { type LoadedConfig, loadConfig } from '../config-file.ts'
import { locked } from '../journal/lock.ts'
import { openTransactions } from '../journal/transactions.ts'
import { openWallet, type Wallet } from '../wallet.ts'
import { allowanceOf } from './allowance.ts'
import { type CommandContext, warnOf } from './context.ts'
import { ownNetworkOf, registryEndpoint, rpcName, withTimeout } from './reach.ts'

/** The node's wallet, and its access to NodeRegistry. */
export type AtRegistry = {
  readonly address: Address
  readonly backend: AttestationBackend
  readonly place: RegistryEndpoint
  /** Whether `run` pays to register a wallet that is not registered. */
  readonly registersItself: boolean
  /** Reads the state to plan with. Throws SvcError `transactions-pending` while transactions of the wallet may still change it. */
  readonly readSettled: () => Promise<RegistryState>
  readonly read: () => Promise<RegistryState>
  /** `mostWei` limits the fee for a unit of gas further than the configuration does, also after a restart. */
  readonly send: (step: RegistryStep, mostWei?: bigint) => Promise<Hex>
}

/** A node whose configuration and wallet are open, and the network of its ICL. */
export type NodeAt = {
  readonly loaded: LoadedConfig
  readonly wallet: Pick<Wallet, 'account' | 'address'>
  readonly network: Pick<Network, 'chain_id' | 'contracts'>
  readonly log: SendOptions['log']
}

/** Opens the wallet and runs `work` with it. A lock lets one process at a time do so. Throws SvcErrors and chain errors. */
export async function atRegistry<T>(
  context: CommandContext,
  work: (at: AtRegistry) => Promise<T>,
): Promise<T> {
  const loaded = await loadConfig(context.environment, warnOf(context))
  const wallet = await openWallet(loaded, context)
  const network = await ownNetworkOf(loaded.config, context)
  const log = { info: context.warn, warning: warnOf(context) }
  return await withRegistry({ loaded, wallet, network, log }, context, work)
}

/** The same for a node that is open. */
export async function withRegistry<T>(
  { loaded, wallet: { account, address }, network, log }: NodeAt,
  context: CommandContext,
  work: (at: AtRegistry) => Promise<T>,
): Promise<T> {
  const { cofhe_endpoint, attestation_backend: backend, max_fee_gwei } = loaded.config
  const place = registryEndpoint(network, cofhe_endpoint)
  const rpc = rpcName(cofhe_endpoint)
  await withTimeout(context, rpc, (signal) => checkEndpoint(place, signal, log.warning))
  const registry = createRegistryReader(place)
  const read = () => withTimeout(context, rpc, (signal) => registry.stateOf(address, signal))
  const readSettled = async () => {
    // Counted first: a transaction that gets into a block after the count is in the state that is read.
    const { sent, used } = await withTimeout(context, rpc, (signal) =>
      registry.noncesOf(address, signal),
    )
    if (sent > used) throw pending(address, sent - used)
    return await read()
  }
  const store = openTransactions(loaded.configPath, { chainId: place.chainId, address })
  const send = createRegistrySender({ ...place, account }, { store, maxFeeGwei: max_fee_gwei, log })
  const lockPath = join(dirname(loaded.configPath), 'register.lock')
  const registersItself = allowanceOf(loaded.config, network.chain_id) !== undefined
  const at = { address, backend, place, registersItself, readSettled, read, send }
  return await locked(lockPath, () => work(at))
}

/** Refuses to send again, because stake that is sent twice is paid twice. */
const pending = (address: Address, count: number): SvcError =>
  new SvcError(
    'transactions-pending',
    `${address} has ${count} ${count === 1 ? 'transaction' : 'transactions'} in no block yet, perhaps of an earlier try`,
    {
      hint: 'Nothing was sent now. Try again when they are through: `svc-node transactions` shows them, and raises their fees or cancels them.',
      retryable: true,
    },
  )
