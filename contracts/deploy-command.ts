import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { isAddress, parseEther } from 'viem'
import { z } from 'zod'
import { abortable } from '../lib/chain/abortable.ts'
import { type ChainReader, createChainReader, createChainWriter } from '../lib/chain/clients.ts'
import { Address } from '../lib/codecs.ts'
import { formatDeployment } from '../lib/deployment.ts'
import { exitCodes } from '../lib/host/exit-code.ts'
import { errorLines } from '../lib/host/explain-error.ts'
import { flag, json, OneOf, option, WholeNumber } from '../lib/host/program/option.ts'
import { command, type Program, usageError } from '../lib/host/program/program.ts'
import type { Lines } from '../lib/host/program/run-program.ts'
import { writeWhole } from '../lib/host/write-whole.ts'
import { type KnownNetwork, knownNetworks } from '../lib/known-networks.ts'
import { SvcError } from '../lib/svc-error.ts'
import { deploymentOf, deployPlanned } from './deploy.ts'
import { wasLost } from './deploy-contract.ts'
import {
  ask,
  type ContractName,
  planDeployment,
  planJson,
  planLines,
  problemsOf,
  type Terms,
} from './deploy-plan.ts'
import { openProgress, type SentContract } from './deploy-progress.ts'
import { openDeployer } from './deployer.ts'

const nobody = `0x${'0'.repeat(40)}`
// A role given to a mistyped address is lost, so the capitals of an address are checked (EIP-55). Errors do not show the text: it may be
// the deployer's key.
const Account = z
  .string()
  .regex(/^0x[0-9a-fA-F]{40}$/, { error: 'must be an address', abort: true })
  .refine((text): boolean => isAddress(text), {
    error: 'has capitals that do not fit it (EIP-55): is it mistyped?',
    abort: true,
  })
  .pipe(Address.refine((text) => text !== nobody, 'must not be the zero address'))
const Ether = z
  .string()
  .regex(/^\d{1,9}(\.\d{1,18})?$/, { error: 'must be an amount of ether', abort: true })
const RpcUrl = z.url({ protocol: /^https?$/, error: 'must be an http or https URL' })
const Path = z.string().min(1, 'must be a path')

const options = z.object({
  network: option(OneOf(knownNetworks.map(({ name }) => name)), 'NAME', 'The chain'),
  rpcUrl: option(
    RpcUrl.optional(),
    'URL',
    "The chain's JSON-RPC (default: SVC_RPC_URL; dev and local: http://127.0.0.1:8545)",
  ),
  arbiter: option(Account, 'ADDRESS', 'Who may cancel slashes, not the coordinator'),
  coordinator: option(Account.optional(), 'ADDRESS', "The ICL's account (default: the deployer)"),
  treasury: option(
    Account.optional(),
    'ADDRESS',
    'Who gets slashed stakes (default: the deployer)',
  ),
  minStake: option(
    Ether.default('0.1').transform((text) => parseEther(text)),
    'ETHER',
    'The smallest stake of an active node',
  ),
  out: option(Path.optional(), 'FILE', 'The address file (default: svc-deployment.NAME.json)'),
  confirmations: option(
    WholeNumber(1, 100).optional(),
    'N',
    'Blocks to wait for after each transaction (default: 3; dev and local: 1)',
  ),
  keystore: option(
    Path.optional(),
    'FILE',
    "The deployer's key (SVC_DEPLOYER_PASSWORD opens it; default: SVC_DEPLOYER_KEY)",
  ),
  deployer: option(Account.optional(), 'ADDRESS', 'For a dry run without the key'),
  dryRun: flag('Print what would be sent, and send nothing'),
  json,
  yes: flag('Do not ask before sending to a public network'),
})
type Options = z.output<typeof options>

/** The command's access to its process. */
export type DeployTerminal = Lines & {
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Asks the operator. Undefined without a terminal. */
  readonly confirm: ((question: string) => Promise<boolean>) | undefined
  readonly signal: AbortSignal
}

/** `npm run contracts:deploy`. */
export const deployProgram: Program<DeployTerminal> = {
  typed: 'npm run contracts:deploy --',
  commands: [
    command({
      name: '',
      summary:
        'Deploy NodeRegistry, PromptKeyStore and ResultRegistry, and write their addresses to a file that the ICL (SVC_ICL_DEPLOYMENT), nodes (SVC_DEPLOYMENT) and clients (parseDeployment) read. Started again after an interruption, with the same options, it continues.',
      options,
      notes: 'Progress goes to standard error.',
      run: deploy,
    }),
  ],
}

/** Plans the deployment. Unless it is a dry run, deploys, verifies and writes the address file. */
async function deploy(given: Options, terminal: DeployTerminal): Promise<number | undefined> {
  const { print, warn, signal } = terminal
  const network = knownNetworks.find(({ name }) => name === given.network) as KnownNetwork
  const file = given.out ?? `svc-deployment.${network.name}.json`
  const endpoint = { rpcUrl: rpcUrlOf(given, terminal), chainId: network.chainId }
  const { address: deployer, account } = await openDeployer(given, terminal)
  const terms = termsOf(given, deployer)
  if (!given.dryRun) refuseOverwriting(file)
  const reader = createChainReader(endpoint)
  await checkChainId(reader, network, signal)
  const progress = await openProgress(file, network.chainId, deployer, terms)
  const earlier = await surviving(reader, deployer, progress.sent, signal)
  const plan = await planDeployment(reader, terms, deployer, earlier, signal)
  const lines = planLines(plan, network.name, network.chainId)
  const problems = problemsOf(plan, isLocal(network.name))
  if (given.dryRun) {
    const dry = { dry_run: true, ...planJson(plan, network.name, network.chainId) }
    for (const line of given.json ? [JSON.stringify(dry)] : [...lines, 'Nothing was sent.'])
      print(line)
    for (const line of problems.flatMap((problem) => errorLines(problem))) warn(line)
    return problems.length > 0 ? exitCodes.operatorMustAct : exitCodes.done
  }
  for (const line of lines) warn(line)
  const [first, ...others] = problems
  for (const line of others.flatMap((problem) => errorLines(problem))) warn(line)
  if (first) throw first
  if (account === undefined) throw new Error('only a dry run goes without a key')
  if (earlier.size > 0) warn(`Continuing: sent before: ${[...earlier.keys()].join(', ')}`)
  await askFirst(given, terminal)
  warn('If this is interrupted, start it again with the same options to continue.')
  const chain = createChainWriter({ ...endpoint, account })
  const { confirmations = isLocal(network.name) ? 1 : 3 } = given
  const { record } = progress
  const contracts = await deployPlanned(plan, { chain, record, confirmations, say: warn, signal })
  const deployment = deploymentOf(network, contracts)
  writeWhole(file, formatDeployment(deployment))
  await progress.forget()
  warn(`Verified: code and arguments. The addresses are in ${file}`)
  const result = given.json
    ? [JSON.stringify({ file, ...deployment })]
    : formatDeployment(deployment).trimEnd().split('\n')
  for (const line of result) print(line)
  return exitCodes.done
}

const isLocal = (network: KnownNetwork['name']): boolean => network === 'dev' || network === 'local'

const see = 'See `npm run contracts:deploy -- --help`.'

function rpcUrlOf({ rpcUrl, network }: Options, { environment }: DeployTerminal): string {
  const local = isLocal(network) ? 'http://127.0.0.1:8545' : undefined
  const found = RpcUrl.safeParse(rpcUrl ?? (environment.SVC_RPC_URL || local))
  if (found.success) return found.data
  const remedy = 'give --rpc-url, or set SVC_RPC_URL, to an http or https URL'
  throw usageError(`there is no chain RPC: ${remedy}`, see)
}

function termsOf(given: Options, deployer: Address): Terms {
  const { coordinator = deployer, arbiter, treasury = deployer, minStake } = given
  if (coordinator !== arbiter) return { coordinator, arbiter, treasury, minStake }
  throw usageError(
    '--arbiter must not be the coordinator, who is the deployer if --coordinator names no other',
    'The contracts refuse that: name another --arbiter, or a --coordinator.',
  )
}

function refuseOverwriting(file: string): void {
  if (existsSync(file)) {
    throw new SvcError('deployment-exists', `${file} holds a deployment already`, {
      hint: 'Give another --out, or move the file away.',
    })
  }
  if (existsSync(dirname(file))) return
  throw usageError(`the folder of ${file} does not exist`, 'Make it first.')
}

async function checkChainId(
  { publicClient }: ChainReader,
  network: KnownNetwork,
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

/** Returns the transactions of an earlier run that are on chain, or will be. */
async function surviving(
  reader: ChainReader,
  deployer: Address,
  sent: ReadonlyMap<ContractName, SentContract>,
  signal: AbortSignal,
): Promise<ReadonlyMap<ContractName, SentContract>> {
  const alive = new Map(sent)
  for (const one of sent.values()) {
    if (await wasLost(reader, deployer, one, signal)) alive.delete(one.contract)
  }
  // Its immutable registry is the lost one.
  if (!alive.has('NodeRegistry')) alive.delete('PromptKeyStore')
  return alive
}

async function askFirst(
  { network, yes, json }: Options,
  { confirm, signal }: DeployTerminal,
): Promise<void> {
  if (yes || isLocal(network)) return
  if (confirm === undefined || json) {
    throw usageError(
      'there is no terminal to confirm on: give --yes to send',
      'Look at it first with --dry-run.',
    )
  }
  if (await abortable(confirm(`Send this to ${network}? [y/N] `), signal)) return
  throw new SvcError('declined', 'nothing was sent', { hint: 'Answer y to send.' })
}
