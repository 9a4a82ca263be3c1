import { type Hex, type LocalAccount, parseEther } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { type Deployment, deployContracts } from '../contracts/deploy.ts'
import { type Anvil, startAnvil } from '../contracts/local/anvil.ts'
import { placeLocalCofhe } from '../contracts/local/cofhe.ts'

/** What a node stakes here, in wei. */
export const stake = parseEther('1')

/** A local chain with the service's contracts and accounts that can pay. */
export type LocalChain = {
  readonly rpcUrl: string
  readonly chainId: number
  readonly contracts: Deployment
  readonly coordinatorKey: Hex
  /** Submits jobs. */
  readonly client: LocalAccount
  /** Gives each node its gas and stake. */
  readonly funder: LocalAccount
  readonly stop: () => Promise<void>
}

const accountOf = ({ accounts }: Anvil, index: number): { key: Hex; account: LocalAccount } => {
  const key = accounts[index]?.privateKey
  if (key === undefined) throw new Error(`The local chain has no account ${index}`)
  return { key, account: privateKeyToAccount(key) }
}

/** Starts a local chain and deploys the contracts and the local coprocessor on it. */
export async function startLocalChain(signal?: AbortSignal): Promise<LocalChain> {
  const anvil = await startAnvil(signal ? { signal } : {})
  try {
    const { rpcUrl, chainId } = anvil
    await placeLocalCofhe({ rpcUrl, chainId, ...(signal && { signal }) })
    const coordinator = accountOf(anvil, 1)
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
      rpcUrl,
      chainId,
      contracts,
      coordinatorKey: coordinator.key,
      client: accountOf(anvil, 3).account,
      funder: accountOf(anvil, 4).account,
      stop: anvil.stop,
    }
  } catch (error) {
    await anvil.stop()
    throw error
  }
}
