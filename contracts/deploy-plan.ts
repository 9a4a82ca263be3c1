import { formatEther, formatGwei, type Hex } from 'viem'
import { abortable } from '../lib/chain/abortable.ts'
import { isRateLimited, shortMessageOf } from '../lib/chain/chain-error.ts'
import type { ChainReader } from '../lib/chain/clients.ts'
import { taskManager } from '../lib/chain/task-manager.ts'
import type { Address } from '../lib/codecs.ts'
import { SvcError } from '../lib/svc-error.ts'
import {
  type Arguments,
  addressAt,
  argumentsOf,
  artifactOf,
  type ContractName,
  contractNames,
  creationCode,
  type Terms,
} from './deployment-steps.ts'
import type { Artifacts } from './solc.ts'

// The price may rise: the last contract is sent minutes after the plan was made.
const priceMargin = 2n

/** One transaction that creates a contract. */
export type PlannedContract = {
  readonly contract: ContractName
  readonly address: Address
  readonly nonce: number
  readonly values: Arguments
  readonly data: Hex
  /** The estimate plus a fifth. */
  readonly gas: bigint
}

/** All transactions of a deployment, and the facts that may prevent it. */
export type DeployPlan = Awaited<ReturnType<typeof planDeployment>>

/** Runs a request to the chain. Throws SvcError `chain-unavailable` in place of the RPC library's error, which may show the URL. */
export const ask = async <T>(doing: string, work: Promise<T>, signal: AbortSignal): Promise<T> => {
  try {
    return await abortable(work, signal)
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof SvcError) throw error
    const why = isRateLimited(error)
      ? 'it refuses requests: too many requests'
      : shortMessageOf(error)
    throw new SvcError('chain-unavailable', `${doing}: the chain RPC failed: ${why}`, {
      hint: 'Check --rpc-url or SVC_RPC_URL, and try again.',
      retryable: true,
      cause: error,
    })
  }
}

/** Plans every transaction from the next nonce on, without sending any. `deployed` are those that an earlier run has sent. */
export async function planDeployment(
  { publicClient }: ChainReader,
  artifacts: Artifacts,
  terms: Terms,
  deployer: Address,
  deployed: ReadonlyMap<ContractName, Address>,
  signal: AbortSignal,
) {
  const [balance, firstNonce, fees, code] = await ask(
    'looking at the deployer',
    Promise.all([
      publicClient.getBalance({ address: deployer }),
      publicClient.getTransactionCount({ address: deployer, blockTag: 'pending' }),
      publicClient.estimateFeesPerGas(),
      publicClient.getCode({ address: taskManager }),
    ]),
    signal,
  )
  const contracts: PlannedContract[] = []
  let nodeRegistry = deployed.get('NodeRegistry')
  for (const contract of contractNames) {
    if (deployed.has(contract)) continue
    const nonce = firstNonce + contracts.length
    const address = addressAt(deployer, nonce)
    if (contract === 'NodeRegistry') nodeRegistry = address
    const values = argumentsOf(contract, terms, nodeRegistry ?? address)
    const data = creationCode(artifactOf(artifacts, contract), values)
    const estimate = publicClient.estimateGas({ account: deployer, data })
    const gas = ((await ask(`estimating ${contract}`, estimate, signal)) * 12n) / 10n
    contracts.push({ contract, address, nonce, values, data, gas })
  }
  const gasPrice = priceMargin * fees.maxFeePerGas
  return {
    deployer,
    balance,
    /** The highest price of a unit of gas in wei: twice the present one. */
    gasPrice,
    contracts: contracts as readonly PlannedContract[],
    /** The highest cost of the transactions in wei. */
    cost: contracts.reduce((sum, { gas }) => sum + gas * gasPrice, 0n),
    hasTaskManager: code !== undefined && code !== '0x',
  }
}

/** Returns what prevents the deployment. */
export function problemsOf(plan: DeployPlan, isLocal: boolean): readonly SvcError[] {
  const problems: SvcError[] = []
  if (plan.balance < plan.cost) {
    problems.push(
      new SvcError(
        'funds-missing',
        `${plan.deployer} has ${formatEther(plan.balance)} ether, and deploying costs up to ${formatEther(plan.cost)}`,
        { hint: 'Send it the difference.' },
      ),
    )
  }
  if (!plan.hasTaskManager && !isLocal) {
    problems.push(
      new SvcError(
        'task-manager-missing',
        `there is no CoFHE task manager at ${taskManager} on this chain`,
        { hint: 'Without it no key can be stored: choose a chain on which CoFHE runs.' },
      ),
    )
  }
  return problems
}

/** Formats the plan for the operator. */
export function planLines(plan: DeployPlan, network: string, chainId: number): readonly string[] {
  const { deployer, balance, contracts, gasPrice, cost } = plan
  return [
    `Network:      ${network}, chain ${chainId}`,
    `Deployer:     ${deployer}, ${formatEther(balance)} ether`,
    `Task manager: ${taskManager}, ${plan.hasTaskManager ? 'there' : 'MISSING'}`,
    ...contracts.flatMap(({ contract, address, nonce, values, data, gas }) => [
      `${contract} at ${address}: nonce ${nonce}, ${(data.length - 2) / 2} bytes, ${gas} gas`,
      ...values.map(([name, value]) => `  ${name} ${valueText(name, value)}`),
    ]),
    `Cost:         at most ${formatEther(cost)} ether, at ${formatGwei(gasPrice)} gwei a unit of gas (a rollup may add its data fee)`,
  ]
}

const valueText = (name: string, value: Hex | bigint): string =>
  name === 'minStake' && typeof value === 'bigint' ? `${formatEther(value)} ether` : String(value)

/** Formats the plan as JSON. Wei are decimal text. */
export const planJson = (plan: DeployPlan, network: string, chainId: number) => ({
  network,
  chain_id: chainId,
  deployer: plan.deployer,
  balance: String(plan.balance),
  task_manager: plan.hasTaskManager,
  gas_price: String(plan.gasPrice),
  cost: String(plan.cost),
  transactions: plan.contracts.map(({ contract, address, nonce, values, data, gas }) => ({
    contract,
    address,
    nonce,
    arguments: Object.fromEntries(values.map(([name, value]) => [name, String(value)])),
    bytes: (data.length - 2) / 2,
    gas: String(gas),
  })),
})
