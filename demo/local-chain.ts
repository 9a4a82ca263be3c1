import { type Hex, type LocalAccount, parseEther } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { type DeployedContracts, deployContracts, deploymentOf } from '../contracts/deploy.ts'
import { type Anvil, type DevAccount, startAnvil } from '../contracts/local/anvil.ts'
import { placeLocalCofhe, placeLocalTaskManager } from '../contracts/local/cofhe.ts'
import { localFheChainId } from '../lib/known-networks.ts'
import type { CoprocessorUrls } from '../lib/schemas/coprocessor-urls.ts'
import type { Deployment } from '../lib/schemas/deployment.ts'
import type { CoprocessorProcess } from './coprocessor-process.ts'

/** The stake of a node in wei. */
export const stake = parseEther('1')

/** A local chain with the service's contracts and funded accounts. */
export type LocalChain = Omit<Anvil, 'accounts'> & {
  readonly contracts: DeployedContracts
  /** Undefined for a mock coprocessor, which is on the chain itself. */
  readonly coprocessor: CoprocessorUrls | undefined
  /** What its address file says. */
  readonly deployment: Deployment
  readonly coordinator: Hex
  readonly coordinatorKey: Hex
  /** Submits jobs. */
  readonly client: LocalAccount
  readonly clientKey: Hex
  /** The account that sends each node its gas money and stake. */
  readonly funder: LocalAccount
  /** Funded accounts that nothing here uses. */
  readonly spare: readonly DevAccount[]
}

const accountOf = ({ accounts }: Anvil, index: number): { key: Hex; account: LocalAccount } => {
  const key = accounts[index]?.privateKey
  if (key === undefined) throw new Error(`The local chain has no account ${index}`)
  return { key, account: privateKeyToAccount(key) }
}

/** Starts the coprocessor of a chain as a process. */
type StartCoprocessor = (
  chain: Pick<LocalChain, 'rpcUrl' | 'chainId'>,
) => Promise<CoprocessorProcess>

async function placeCoprocessor(
  { rpcUrl, chainId }: Anvil,
  startCoprocessor: StartCoprocessor | undefined,
  signal: AbortSignal | undefined,
): Promise<CoprocessorUrls | undefined> {
  const place = { rpcUrl, chainId, ...(signal && { signal }) }
  if (startCoprocessor === undefined) {
    await placeLocalCofhe(place)
    return undefined
  }
  const { url, verifier } = await startCoprocessor({ rpcUrl, chainId })
  await placeLocalTaskManager({ ...place, verifier })
  return { cofhe_url: url, verifier_url: url, threshold_network_url: url }
}

/** Starts a local chain and deploys the contracts. By default the coprocessor is a mock and the port a free one. */
export async function startLocalChain(
  signal?: AbortSignal,
  startCoprocessor?: StartCoprocessor,
  port?: number,
): Promise<LocalChain> {
  const anvil = await startAnvil({
    ...(port !== undefined && { port }),
    ...(startCoprocessor && { chainId: localFheChainId }),
    ...(signal && { signal }),
  })
  try {
    const { rpcUrl, chainId } = anvil
    const coprocessor = await placeCoprocessor(anvil, startCoprocessor, signal)
    const coordinator = accountOf(anvil, 1)
    const client = accountOf(anvil, 3)
    const contracts = await deployContracts({
      rpcUrl,
      chainId,
      deployer: accountOf(anvil, 0).account,
      coordinator: coordinator.account.address,
      arbiter: accountOf(anvil, 2).account.address,
      treasury: accountOf(anvil, 5).account.address,
      minStake: stake,
      ...(signal && { signal }),
    })
    return {
      ...anvil,
      contracts,
      coprocessor,
      deployment: deploymentOf({ name: 'local', chainId, coprocessor }, contracts),
      coordinator: coordinator.account.address,
      coordinatorKey: coordinator.key,
      client: client.account,
      clientKey: client.key,
      funder: accountOf(anvil, 4).account,
      spare: anvil.accounts.slice(6),
    }
  } catch (error) {
    await anvil.stop()
    throw error
  }
}
