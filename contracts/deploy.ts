import { type BaseError, getContractError, type Hex, type LocalAccount } from 'viem'
import { abortable } from '../lib/chain/abortable.ts'
import { revertNameOf, shortMessageOf } from '../lib/chain/chain-error.ts'
import { type ChainWriter, createChainWriter } from '../lib/chain/clients.ts'
import { taskManager } from '../lib/chain/task-manager.ts'
import { waitForReceipt } from '../lib/chain/wait-for-receipt.ts'
import { Address } from '../lib/codecs.ts'
import { buildContracts } from './build.ts'
import { artifactOf, type ContractName } from './deployment-steps.ts'
import type { Artifacts } from './solc.ts'

/** The contracts' addresses in lower case, and the block from which their events start. */
export type DeployedContracts = Awaited<ReturnType<typeof deployContracts>>

const deployOne = async (
  chain: ChainWriter,
  artifacts: Artifacts,
  name: ContractName,
  args: readonly unknown[],
): Promise<{ address: Address; block: bigint }> => {
  const { abi, bytecode } = artifactOf(artifacts, name)
  try {
    const hash = await chain.walletClient.deployContract({ abi, bytecode, args })
    const receipt = await waitForReceipt(chain, hash)
    if (receipt.status !== 'success' || receipt.contractAddress == null) {
      throw new Error(`transaction ${hash} reverted`)
    }
    return { address: Address.parse(receipt.contractAddress), block: receipt.blockNumber }
  } catch (error) {
    const named = getContractError(error as BaseError, { abi, args, functionName: 'constructor' })
    const reason = revertNameOf(named) ?? shortMessageOf(error)
    throw new Error(`deploying ${name} failed: ${reason}`, { cause: error })
  }
}

/** Deploys the three contracts in order. Throws an error that names the contract and the reason. */
export const deployContracts = async (options: {
  readonly rpcUrl: string
  readonly chainId: number
  readonly deployer: LocalAccount
  readonly coordinator: Hex
  readonly arbiter: Hex
  readonly treasury: Hex
  /** Wei. */
  readonly minStake: bigint
  readonly signal?: AbortSignal
}) => {
  const { rpcUrl, chainId, deployer, coordinator, arbiter, treasury, minStake, signal } = options
  const artifacts = await buildContracts()
  const chain = createChainWriter({ rpcUrl, chainId, account: deployer })
  const deploy = (name: ContractName, args: readonly unknown[]) =>
    abortable(deployOne(chain, artifacts, name, args), signal)
  const nodes = await deploy('NodeRegistry', [coordinator, arbiter, treasury, minStake])
  const keys = await deploy('PromptKeyStore', [nodes.address])
  const results = await deploy('ResultRegistry', [coordinator])
  return {
    nodeRegistry: nodes.address,
    promptKeyStore: keys.address,
    resultRegistry: results.address,
    taskManager,
    block: nodes.block,
  }
}
