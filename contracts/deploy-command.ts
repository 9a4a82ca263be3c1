import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { abortable } from '../lib/chain/abortable.ts'
import { createChainReader, createChainWriter } from '../lib/chain/clients.ts'
import { taskManager } from '../lib/chain/task-manager.ts'
import type { Address } from '../lib/codecs.ts'
import { formatDeployment } from '../lib/deployment.ts'
import { writeWhole } from '../lib/host/write-whole.ts'
import type { Deployment } from '../lib/schemas/deployment.ts'
import { SvcError } from '../lib/svc-error.ts'
import { buildContracts } from './build.ts'
import { type Deployed, deployContract, fateOf, settled } from './deploy-contract.ts'
import type { DeployCommand } from './deploy-options.ts'
import { ask, planDeployment, planJson, planLines, problemsOf } from './deploy-plan.ts'
import { type DeployProgress, openProgress } from './deploy-progress.ts'
import { openDeployer } from './deployer.ts'
import type { ContractName, Terms } from './deployment-steps.ts'
import { verifyDeployed } from './verify-deployed.ts'

/** The command's access to its process. */
export type DeployTerminal = {
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Prints the result. */
  readonly print: (text: string) => void
  /** Prints progress. */
  readonly say: (line: string) => void
  /** Asks the operator. Undefined without a terminal. */
  readonly confirm: ((question: string) => Promise<boolean>) | undefined
  readonly signal: AbortSignal
}

/** Plans the deployment. Unless it is a dry run, deploys, verifies and writes the address file. Throws SvcErrors. */
export async function runDeploy(command: DeployCommand, terminal: DeployTerminal): Promise<void> {
  const { network, rpcUrl, isDryRun, isJson, file } = command
  const { environment, print, say, signal } = terminal
  const { address: deployer, account } = await openDeployer(command, environment, say)
  const terms = termsOf(command, deployer)
  if (!isDryRun) refuseOverwriting(file)
  const endpoint = { rpcUrl, chainId: network.chainId }
  const reader = createChainReader(endpoint)
  await checkChainId(reader, command, signal)
  const artifacts = await buildContracts()
  const progress = await openProgress(file, network.chainId, deployer, terms, artifacts)
  const earlier = await surviving(reader, deployer, progress, signal)
  const plan = await planDeployment(reader, artifacts, terms, deployer, earlier, signal)
  const lines = planLines(plan, network.name, network.chainId)
  const problems = problemsOf(plan, network.name === 'local')
  if (isDryRun) {
    const json = { dry_run: true, ...planJson(plan, network.name, network.chainId) }
    print(isJson ? JSON.stringify(json) : [...lines, 'Nothing was sent.'].join('\n'))
    throwAll(problems)
    return
  }
  for (const line of lines) say(line)
  throwAll(problems)
  if (account === undefined) throw new Error('only a dry run goes without a key')
  if (earlier.size > 0) say(`Continuing: sent before: ${[...earlier.keys()].join(', ')}`)
  await askFirst(command, terminal)
  const chain = createChainWriter({ ...endpoint, account })
  const { confirmations } = command
  const maxGasPrice = plan.gasPrice
  const context = { chain, account, progress, confirmations, maxGasPrice, say, signal }
  const deployed: Partial<Record<ContractName, Deployed>> = {}
  for (const sent of progress.sent.values()) {
    if (earlier.has(sent.contract)) deployed[sent.contract] = await settled(context, sent)
  }
  for (const planned of plan.contracts) {
    deployed[planned.contract] = await deployContract(context, planned)
  }
  // The plan has every contract that was not sent before.
  const all = deployed as Record<ContractName, Deployed>
  await verifyDeployed(chain, artifacts, terms, all, signal)
  const deployment = deploymentOf(command, all)
  writeWhole(file, formatDeployment(deployment))
  await progress.forget()
  say(`Verified: code, roles and terms. The addresses are in ${file}`)
  print(isJson ? JSON.stringify({ file, ...deployment }) : formatDeployment(deployment).trimEnd())
}

const termsOf = (command: DeployCommand, deployer: Address): Terms => {
  const { coordinator = deployer, arbiter, treasury = deployer, minStake } = command
  if (coordinator !== arbiter) return { coordinator, arbiter, treasury, minStake }
  throw new SvcError('usage', '--arbiter must not be the coordinator, who is the deployer here', {
    hint: 'The contracts refuse that: name another --arbiter, or a --coordinator.',
  })
}

function refuseOverwriting(file: string): void {
  if (existsSync(file)) {
    throw new SvcError('deployment-exists', `${file} holds a deployment already`, {
      hint: 'Give another --out, or move the file away.',
    })
  }
  if (existsSync(dirname(file))) return
  throw new SvcError('usage', `the folder of ${file} does not exist`, { hint: 'Make it first.' })
}

async function checkChainId(
  { publicClient }: ReturnType<typeof createChainReader>,
  { network }: DeployCommand,
  signal: AbortSignal,
): Promise<void> {
  const chainId = await ask('asking for the chain id', publicClient.getChainId(), signal)
  if (chainId === network.chainId) return
  throw new SvcError(
    'chain-wrong',
    `the RPC serves chain ${chainId}, and ${network.name} is chain ${network.chainId}`,
    { hint: 'Give the --rpc-url of that network, or another --network.' },
  )
}

/** Returns the contracts of an earlier run that are on chain, or will be. */
async function surviving(
  reader: ReturnType<typeof createChainReader>,
  deployer: Address,
  progress: DeployProgress,
  signal: AbortSignal,
): Promise<ReadonlyMap<ContractName, Address>> {
  const alive = new Map<ContractName, Address>()
  for (const sent of progress.sent.values()) {
    if ((await fateOf(reader, deployer, sent, signal)) === 'lost') continue
    alive.set(sent.contract, sent.address)
  }
  // Its immutable registry is the lost one.
  if (!alive.has('NodeRegistry')) alive.delete('PromptKeyStore')
  return alive
}

async function askFirst(
  { network, isYes }: DeployCommand,
  { confirm, signal }: DeployTerminal,
): Promise<void> {
  if (isYes || network.name === 'local') return
  if (confirm === undefined) {
    throw new SvcError('usage', 'there is no terminal to confirm on: give --yes to send', {
      hint: 'Look at it first with --dry-run.',
    })
  }
  if (await abortable(confirm(`Send this to ${network.name}? [y/N] `), signal)) return
  throw new SvcError('declined', 'nothing was sent', { hint: 'Answer y to send.' })
}

function deploymentOf(
  { network }: DeployCommand,
  deployed: Readonly<Record<ContractName, Deployed>>,
): Deployment {
  return {
    network: network.name,
    chain_id: network.chainId,
    contracts: {
      node_registry: deployed.NodeRegistry.address,
      prompt_key_store: deployed.PromptKeyStore.address,
      result_registry: deployed.ResultRegistry.address,
    },
    task_manager: taskManager,
    block: Math.min(...Object.values(deployed).map(({ block }) => block)),
    ...(network.coprocessor && { coprocessor: network.coprocessor }),
  }
}

const throwAll = (problems: readonly SvcError[]): void => {
  const [first, ...rest] = problems
  if (first === undefined) return
  if (rest.length === 0) throw first
  const hint = problems.map((problem) => problem.hint).join(' ')
  throw new SvcError(first.code, problems.map(({ message }) => message).join('\n  '), { hint })
}
