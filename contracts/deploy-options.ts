import { isAddress, parseEther } from 'viem'
import { z } from 'zod'
import { Address } from '../lib/codecs.ts'
import { readOptions, WholeNumber } from '../lib/host/command-line.ts'
import { type KnownNetwork, knownNetworks } from '../lib/known-networks.ts'
import { SvcError } from '../lib/svc-error.ts'

const names = knownNetworks.map(({ name }) => name).join(', ')

/** The help text. */
export const deployHelp = `Usage: npm run contracts:deploy -- --network NAME --arbiter ADDRESS [options]

Deploys NodeRegistry, PromptKeyStore and ResultRegistry, and writes their addresses to a file that
the ICL (SVC_ICL_DEPLOYMENT), nodes (SVC_DEPLOYMENT) and clients (parseDeployment) read. Started
again after an interruption, with the same options, it continues.

  --network NAME         ${names}
  --rpc-url URL          the chain's JSON-RPC (else SVC_RPC_URL, local: http://127.0.0.1:8545)
  --arbiter ADDRESS      who may cancel slashes, not the coordinator
  --coordinator ADDRESS  the ICL's account (else the deployer)
  --treasury ADDRESS     who gets slashed stakes (else the deployer)
  --min-stake ETHER      the smallest stake of an active node (default 0.1)
  --out FILE             the address file (default svc-deployment.NAME.json)
  --confirmations N      blocks to wait for after each transaction (default 3, local: 1)
  --keystore FILE        the deployer's key (SVC_DEPLOYER_PASSWORD opens it, else SVC_DEPLOYER_KEY)
  --deployer ADDRESS     for a dry run without the key
  --dry-run              print what would be sent, and send nothing
  --json                 print the result as JSON, progress on standard error
  --yes                  do not ask before sending to a public network

Exit codes: 0 done, 1 you have to do something, 2 wrong usage, 130 interrupted`

const nobody = `0x${'0'.repeat(40)}`
// A role given to a mistyped address is lost, so the capitals of an address are checked (EIP-55).
const Account = z
  .string()
  .refine((text) => !/^0x[0-9a-fA-F]{40}$/.test(text) || isAddress(text), {
    error: 'has capitals that do not fit it (EIP-55): is it mistyped?',
    abort: true,
  })
  .pipe(Address.refine((text) => text !== nobody, 'must not be the zero address'))
const RpcUrl = z.url({ protocol: /^https?$/, error: 'must be an http or https URL' })

const Flags = z.object({
  network: z
    .string('is missing')
    .transform((name) => knownNetworks.find((network) => network.name === name))
    .pipe(z.custom<KnownNetwork>((network) => network !== undefined, `must be one of ${names}`)),
  'rpc-url': RpcUrl.optional(),
  coordinator: Account.optional(),
  arbiter: z.string('is missing: name an account that is not the coordinator').pipe(Account),
  treasury: Account.optional(),
  'min-stake': z
    .string()
    .regex(/^\d{1,9}(\.\d{1,18})?$/, { error: 'must be an amount of ether', abort: true })
    .default('0.1')
    .transform((text) => parseEther(text)),
  out: z.string().min(1, 'must be a path').optional(),
  confirmations: WholeNumber(1, 100).optional(),
  keystore: z.string().min(1, 'must be a path').optional(),
  deployer: Account.optional(),
  'dry-run': z.boolean().default(false),
  json: z.boolean().default(false),
  yes: z.boolean().default(false),
})

const usage = (what: string): SvcError =>
  new SvcError('usage', what, { hint: '--help lists every option.' })

/** The options of `contracts:deploy`. A role that is not named is the deployer's. */
export type DeployCommand = NonNullable<ReturnType<typeof parseDeployCommand>>

/** Parses the command line and SVC_RPC_URL, undefined for help. Throws SvcError `usage` that names every mistake. */
export function parseDeployCommand(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
) {
  const given = readOptions(args, Flags, usage)
  if (given === undefined) return undefined
  const { network, 'rpc-url': fromFlag, coordinator, arbiter, treasury, ...rest } = given
  const isLocal = network.name === 'local'
  const rpcUrl =
    fromFlag ?? (environment.SVC_RPC_URL || (isLocal ? 'http://127.0.0.1:8545' : undefined))
  if (rpcUrl === undefined || !RpcUrl.safeParse(rpcUrl).success) {
    throw usage(
      'there is no chain RPC: give --rpc-url, or set SVC_RPC_URL, to an http or https URL',
    )
  }
  if (coordinator === arbiter) throw usage('--arbiter must not be the coordinator')
  return {
    network,
    rpcUrl,
    coordinator,
    arbiter,
    treasury,
    /** Wei. */
    minStake: rest['min-stake'],
    /** The deployer of a dry run without a key. */
    deployer: rest.deployer,
    keystore: rest.keystore,
    file: rest.out ?? `svc-deployment.${network.name}.json`,
    confirmations: rest.confirmations ?? (isLocal ? 1 : 3),
    isDryRun: rest['dry-run'],
    isJson: rest.json,
    isYes: rest.yes,
  }
}
