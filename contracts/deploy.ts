import type { LocalAccount } from 'viem'
import { createChainWriter } from '../lib/chain/clients.ts'
import { taskManager } from '../lib/chain/task-manager.ts'
import { Address } from '../lib/codecs.ts'
import type { KnownNetwork } from '../lib/known-networks.ts'
import type { Deployment } from '../lib/schemas/deployment.ts'
import { type DeployContext, deployContract } from './deploy-contract.ts'
import { type DeployPlan, planDeployment, type Terms } from './deploy-plan.ts'

/** The contracts' addresses in lower case, and the block from which their events start. */
export type DeployedContracts = Awaited<ReturnType<typeof deployPlanned>>

/** Deploys the contracts of a plan in order, from where an earlier run has stopped. Throws an SvcError that names the contract and the reason. */
export async function deployPlanned(
  { steps, gasPrice }: DeployPlan,
  context: Omit<DeployContext, 'gasPrice'>,
) {
  const blocks: number[] = []
  for (const step of steps) blocks.push(await deployContract({ ...context, gasPrice }, step))
  const [nodeRegistry, promptKeyStore, resultRegistry] = steps.map(({ address }) => address) as [
    Address,
    Address,
    Address,
  ]
  return { nodeRegistry, promptKeyStore, resultRegistry, block: Math.min(...blocks) }
}

/** Plans and deploys the contracts at once, as on a local chain. */
export async function deployContracts({
  rpcUrl,
  chainId,
  deployer,
  signal,
  ...terms
}: Terms & {
  readonly rpcUrl: string
  readonly chainId: number
  readonly deployer: LocalAccount
  readonly signal?: AbortSignal
}): Promise<DeployedContracts> {
  const chain = createChainWriter({ rpcUrl, chainId, account: deployer })
  const address = Address.parse(deployer.address)
  const plan = await planDeployment(chain, terms, address, new Map(), signal)
  return await deployPlanned(plan, { chain, signal })
}

/** Returns what the address file of a deployment says. */
export const deploymentOf = (
  { name, chainId, coprocessor }: KnownNetwork,
  { nodeRegistry, promptKeyStore, resultRegistry, block }: DeployedContracts,
): Deployment => ({
  network: name,
  chain_id: chainId,
  contracts: {
    node_registry: nodeRegistry,
    prompt_key_store: promptKeyStore,
    result_registry: resultRegistry,
  },
  task_manager: taskManager,
  block,
  ...(coprocessor && { coprocessor }),
})
