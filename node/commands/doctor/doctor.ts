import { rpcUrlsOf } from '../../../lib/chain/rpc-list.ts'
import {
  type Check,
  failed,
  failedBy,
  ok,
  reportChecks,
  skipped,
} from '../../../lib/host/checks.ts'
import { proxyFor } from '../../../lib/proxy.ts'
import { type LoadedConfig, loadConfig } from '../../config-file.ts'
import type { CommandContext } from '../context.ts'
import type { Given } from '../options.ts'
import { checkChain, withoutNetwork } from './chain.ts'
import { checkClock, checkIcl } from './icl.ts'
import {
  checkCertificate,
  checkFhe,
  checkFolder,
  checkJournal,
  checkKeystore,
  checkPassword,
  checkTpm,
} from './local.ts'
import { checkModels } from './provider.ts'
import { checkCoprocessor, checkGateway } from './services.ts'

const needConfig = [
  ...['disk', 'journal', 'keystore', 'password', 'certificate', 'icl', 'clock', 'chain'],
  ...['contracts', 'wallet', 'transactions', 'registration', 'coprocessor', 'gateway', 'provider'],
  'tpm',
]

/** Checks all that the node needs, and prints findings and remedies. Exit code 1 when the operator must act, 75 when all may pass. */
export async function examine(flags: Given<'doctor'>, context: CommandContext): Promise<number> {
  return reportChecks(await checkAll(context, flags.try), flags, context.print)
}

async function checkAll(context: CommandContext, tries = false): Promise<readonly Check[]> {
  const unknown: string[] = []
  const misspelt: string[] = []
  let loaded: LoadedConfig
  try {
    loaded = await loadConfig(
      context.environment,
      (line) => unknown.push(line),
      (line) => misspelt.push(line),
    )
  } catch (error) {
    return [
      failedBy('config', error),
      ...needConfig.map((name) => skipped(name, 'needs the configuration')),
      await checkFhe(context),
    ]
  }
  const { config, configPath } = loaded
  const files = await Promise.all([checkFolder(loaded), checkJournal(loaded)])
  const keystore = await checkKeystore(loaded)
  // First, because it may ask on the terminal.
  const password =
    keystore.address === undefined && keystore.check.status === 'failed'
      ? skipped('password', 'needs the keystore')
      : await checkPassword(loaded, context)
  const { address } = keystore
  const { cofhe_endpoint: rpcUrl, attestation_backend: backend } = config
  const icl = checkIcl(config, context)
  const gateways = [...(config.ipfs_gateway ?? []), new URL(config.icl_endpoint).origin]
  const found = await Promise.all([
    checkCertificate(loaded, address, context),
    icl.then(({ check }) => check),
    checkClock(config, context),
    icl.then(({ network }) =>
      network
        ? checkChain(
            { rpcUrl, icl: config.icl_endpoint, network, backend, configPath, context },
            address,
          )
        : withoutNetwork(),
    ),
    icl.then(({ network }) => checkCoprocessor(config, network, context)),
    Promise.all([...new Set(gateways)].map((url) => checkGateway(url, context))),
    checkModels(config, context, tries),
    checkTpm(loaded, address, context),
    checkFhe(context),
  ])
  const detail = [configPath, ...proxiesOf(config), ...unknown].join(', ')
  const known =
    misspelt.length === 0
      ? ok('config', detail)
      : failed('config', misspelt.join('; '), 'Correct the file: `run` refuses it.')
  return [known, ...files, keystore.check, password, ...found.flat()]
}

/** The hosts that are reached through proxies of the environment. */
const proxiesOf = ({ icl_endpoint, cofhe_endpoint }: LoadedConfig['config']): readonly string[] =>
  [icl_endpoint, ...rpcUrlsOf(cofhe_endpoint)].flatMap((url) => {
    const proxy = proxyFor(url)
    return proxy === undefined ? [] : [`${new URL(url).host} through ${proxy}`]
  })
