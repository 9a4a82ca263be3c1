import {
  type BaseError,
  encodeDeployData,
  formatEther,
  formatGwei,
  getContractAddress,
  getContractError,
  type Hex,
} from 'viem'
import { abortable } from '../lib/chain/abortable.ts'
import { revertNameOf, toChainError } from '../lib/chain/chain-error.ts'
import type { ChainReader } from '../lib/chain/clients.ts'
import { taskManager } from '../lib/chain/task-manager.ts'
import { Address, type Hash32 } from '../lib/codecs.ts'
import { SvcError } from '../lib/svc-error.ts'
import { buildContracts } from './build.ts'
import { type Artifact, artifactOf } from './solc.ts'

/** The holders of the contracts' roles, and the smallest stake in wei. */
export type Terms = {
  readonly coordinator: Hex
  readonly arbiter: Hex
  readonly treasury: Hex
  readonly minStake: bigint
}

/** The contracts in the order in which they are deployed. */
export const contractNames = ['NodeRegistry', 'PromptKeyStore', 'ResultRegistry'] as const
export type ContractName = (typeof contractNames)[number]

/** A constructor's arguments by name, in order. */
type Values = Readonly<Record<string, Hex | bigint>>

const valuesOf = (
  { coordinator, arbiter, treasury, minStake }: Terms,
  nodeRegistry: Hex,
): Readonly<Record<ContractName, Values>> => ({
  NodeRegistry: { coordinator, arbiter, treasury, minStake },
  PromptKeyStore: { nodeRegistry },
  ResultRegistry: { coordinator },
})

/** The place of a contract. It depends only on the deployer and the nonce of the transaction that creates it. */
type Placed = { readonly address: Address; readonly nonce: number }

/** One step of a deployment: the transaction that creates a contract. */
export type DeployStep = Placed & {
  readonly contract: ContractName
  readonly artifact: Artifact
  readonly values: Values
  readonly data: Hex
  /** The estimate plus a fifth; 0 for what was sent. */
  readonly gas: bigint
  /** The transaction, if an earlier run has sent it. */
  readonly tx?: Hash32
}

/** All transactions of a deployment, and the facts that may prevent it. */
export type DeployPlan = Awaited<ReturnType<typeof planDeployment>>

// The price may rise: the last contract is sent minutes after the plan was made.
const priceMargin = 2n

/** Runs a request to the chain. Throws an SvcError in place of the RPC library's error, which may show the URL. */
export const ask = <T>(doing: string, work: Promise<T>, signal?: AbortSignal): Promise<T> =>
  abortable(work, signal).catch((error: unknown) => {
    signal?.throwIfAborted()
    throw toChainError(error, doing)
  })

/** Whether there is code at an address. */
export const isCode = (code: Hex | undefined): code is Hex => Boolean(code) && code !== '0x'

/** The error for a contract that cannot be deployed. */
export const deploymentFailed = (contract: string, why: string, cause?: unknown): SvcError =>
  new SvcError('deployment-failed', `deploying ${contract} failed: ${why}`, {
    hint: 'What is deployed is written down: start again with the same options to continue.',
    retryable: true,
    cause,
  })

/** Plans every step without sending any. `sent` are those that an earlier run has sent; the others have the next nonces. */
export async function planDeployment(
  { publicClient }: ChainReader,
  terms: Terms,
  deployer: Address,
  sent: ReadonlyMap<ContractName, Placed & { readonly tx: Hash32 }>,
  signal?: AbortSignal,
) {
  const artifacts = await buildContracts()
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
  const unsent = contractNames.filter((name) => !sent.has(name))
  const placeOf = (name: ContractName) => {
    const nonce = firstNonce + unsent.indexOf(name)
    const address = Address.parse(getContractAddress({ from: deployer, nonce: BigInt(nonce) }))
    return sent.get(name) ?? { nonce, address }
  }
  const values = valuesOf(terms, placeOf('NodeRegistry').address)
  const plan = async (contract: ContractName): Promise<DeployStep> => {
    const artifact = artifactOf(artifacts, contract)
    const args = Object.values(values[contract])
    const data = encodeDeployData({ ...artifact, args })
    const step = { contract, artifact, values: values[contract], data, ...placeOf(contract) }
    if (sent.has(contract)) return { ...step, gas: 0n }
    const estimate = publicClient.estimateGas({ account: deployer, data }).catch((error) => {
      const call = { abi: artifact.abi, args, functionName: 'constructor' }
      const reason = revertNameOf(getContractError(error as BaseError, call))
      throw reason === undefined ? error : deploymentFailed(contract, reason, error)
    })
    return { ...step, gas: ((await ask(`estimating ${contract}`, estimate, signal)) * 12n) / 10n }
  }
  const steps = await Promise.all(contractNames.map(plan))
  const gasPrice = priceMargin * fees.maxFeePerGas
  return {
    deployer,
    balance,
    /** The highest price of a unit of gas in wei: twice the present one. */
    gasPrice,
    steps: steps as readonly DeployStep[],
    /** The highest cost of the transactions in wei. */
    cost: steps.reduce((sum, { gas }) => sum + gas * gasPrice, 0n),
    hasTaskManager: isCode(code),
  }
}

/** Returns what prevents the deployment. */
export function problemsOf(plan: DeployPlan, isLocal: boolean): readonly SvcError[] {
  const { deployer, balance, cost, hasTaskManager } = plan
  const [has, costs] = [formatEther(balance), formatEther(cost)]
  const poor = new SvcError(
    'funds-missing',
    `${deployer} has ${has} ether, and deploying costs up to ${costs}`,
    { hint: 'Send it the difference.' },
  )
  const bare = new SvcError(
    'task-manager-missing',
    `there is no CoFHE task manager at ${taskManager} on this chain`,
    { hint: 'Without it no key can be stored: choose a chain on which CoFHE runs.' },
  )
  return [...(balance < cost ? [poor] : []), ...(hasTaskManager || isLocal ? [] : [bare])]
}

const unsentOf = ({ steps }: DeployPlan) => steps.filter(({ tx }) => tx === undefined)
const bytesOf = (data: Hex): number => (data.length - 2) / 2

/** Formats the plan for the operator. */
export function planLines(plan: DeployPlan, network: string, chainId: number): readonly string[] {
  const { deployer, balance, gasPrice, cost } = plan
  return [
    `Network:      ${network}, chain ${chainId}`,
    `Deployer:     ${deployer}, ${formatEther(balance)} ether`,
    `Task manager: ${taskManager}, ${plan.hasTaskManager ? 'there' : 'MISSING'}`,
    ...unsentOf(plan).flatMap(({ contract, address, nonce, values, data, gas }) => [
      `${contract} at ${address}: nonce ${nonce}, ${bytesOf(data)} bytes, ${gas} gas`,
      ...Object.entries(values).map(
        ([name, value]) =>
          `  ${name} ${typeof value === 'bigint' ? `${formatEther(value)} ether` : value}`,
      ),
    ]),
    `Cost:         at most ${formatEther(cost)} ether, at ${formatGwei(gasPrice)} gwei a unit of gas (a rollup may add its data fee)`,
  ]
}

/** Formats the plan as JSON. Wei are decimal text. */
export const planJson = (plan: DeployPlan, network: string, chainId: number) => ({
  network,
  chain_id: chainId,
  deployer: plan.deployer,
  balance: String(plan.balance),
  task_manager: plan.hasTaskManager,
  gas_price: String(plan.gasPrice),
  cost: String(plan.cost),
  transactions: unsentOf(plan).map(({ contract, address, nonce, values, data, gas }) => ({
    contract,
    address,
    nonce,
    arguments: Object.fromEntries(Object.entries(values).map(([name, it]) => [name, String(it)])),
    bytes: bytesOf(data),
    gas: String(gas),
  })),
})
