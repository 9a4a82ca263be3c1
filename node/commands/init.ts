import type { Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { errorText, explainError } from '../../lib/host/explain-error.ts'
import { givenPassword, passwordMissing } from '../../lib/host/password.ts'
import { SvcError } from '../../lib/svc-error.ts'
import {
  type Config,
  type ConfigFile,
  parseConfig,
  split,
  variableOf,
  withBaseUrls,
} from '../config.ts'
import { configPathOf, keystorePathOf } from '../config-file.ts'
import { withDeploymentPath } from '../deployment.ts'
import { isKeyRefused, probeProvider } from '../inference/probe.ts'
import { keyOf, providersOf } from '../inference/providers.ts'
import { type Answers, askForConfig, askNewPassword, passwordMistake } from './ask-config.ts'
import { type CommandContext, isInteractive } from './context.ts'
import { type Answer, valueIn } from './look-around.ts'
import { type FoundTpm, lookForTpm } from './look-for-tpm.ts'
import { type Made, refuseOverwriting, writeNodeFiles } from './node-files.ts'
import type { Given } from './options.ts'
import { createPrompts, type Prompts } from './prompts.ts'
import { offerToRegister, type RegistrationCost, registrationCost } from './registration-cost.ts'

/** Creates configuration and keystore (spec 4). Asks for missing settings on a terminal. Throws SvcError `already-initialised`. */
export async function initialise(
  flags: Given<'init'>,
  context: CommandContext,
): Promise<undefined> {
  const { environment, terminal } = context
  const configPath = configPathOf(environment)
  const keystorePath = keystorePathOf(configPath, undefined)
  const privateKey = importedKey(environment.SVC_IMPORT_PRIVATE_KEY)
  const prompts = isInteractive(context, flags) ? await createPrompts(terminal) : undefined
  if (!flags.force) await refuseOverwriting([configPath, keystorePath])
  const given = givenAnswers(flags, context)
  const answers = prompts ? await askForConfig(prompts, given, context) : given
  const file = configFileOf(answers, context)
  const config = withDeploymentPath(checkFile(file, configPath), configPath)
  warnOfOverrides(flags, context)
  await warnOfProviders(config, context)
  const password = await newPassword(prompts, context)
  if (prompts && !(await prompts.confirm(`Write ${configPath} and ${keystorePath}?`))) {
    prompts.say('Nothing was written.')
    return
  }
  const { scryptN, force } = flags
  const what = { configPath, keystorePath, file, password, scryptN, force }
  const made = await writeNodeFiles(what, privateKey, context)
  const cost = await registrationCost(config, context)
  const tpm = await tpmOf(config, configPath, context)
  report({ ...made, tpm, keys: keysToSet(config, context) }, cost, flags, context)
  if (prompts && 'value' in cost) {
    await offerToRegister(prompts, made.address, cost.value, { config, password }, context).catch(
      notRegistered,
    )
  }
}

/** Ctrl-C leaves a node that `init` refuses to make again. */
function notRegistered(error: unknown): never {
  if (!(error instanceof SvcError) || error.code !== 'interrupted') throw error
  throw new SvcError(error.code, 'interrupted before registering', {
    hint: 'Configuration and keystore are kept. Go on with `svc-node register`.',
  })
}

/** Returns the given password, or one typed twice, as the input is hidden. Throws SvcError `password-missing` or `password-too-short`. */
async function newPassword(
  prompts: Prompts | undefined,
  { environment, warn }: CommandContext,
): Promise<string> {
  const given = await givenPassword(environment, warn)
  if (given === undefined) {
    if (prompts) return await askNewPassword(prompts)
    throw passwordMissing(
      'neither SVC_KEY_PASSWORD nor SVC_KEY_PASSWORD_FILE is set',
      'Set one of them, or start `svc-node init` on a terminal, without --yes and --json.',
    )
  }
  const mistake = passwordMistake(given)
  if (mistake === undefined) return given
  throw new SvcError('password-too-short', `the new keystore's password has to have ${mistake}`, {
    hint: 'Correct SVC_KEY_PASSWORD, or the file that SVC_KEY_PASSWORD_FILE names.',
  })
}

/** Checks the file alone, because the values that the environment overrides now must be right, too. */
function checkFile(file: ConfigFile, configPath: string): Config {
  try {
    return parseConfig(file, {}, configPath)
  } catch (error) {
    if (!(error instanceof SvcError) || error.code !== 'config-invalid') throw error
    throw new SvcError(error.code, error.message, {
      hint: 'Correct the options or the environment: see `svc-node init --help`.',
    })
  }
}

/** The settings that both an option and the environment may give. */
const settings = [
  ['icl_endpoint', 'iclEndpoint'],
  ['cofhe_endpoint', 'cofheEndpoint'],
  ['cofhe_urls', 'cofheUrls'],
  ['ipfs_gateway', 'ipfsGateway'],
  ['supported_model_ids', 'models'],
  ['tpm', 'tpm'],
  ['register_up_to', 'registerUpTo'],
  ['node_registry', 'nodeRegistry'],
] as const

function warnOfOverrides(flags: Given<'init'>, { environment, warn }: CommandContext): void {
  for (const [field, name] of settings) {
    const variable = variableOf(field)
    const [flag, other] = [flags[name], environment[variable]]
    if (flag === undefined || !other || other === flag) continue
    warn(`warning: ${variable} says something else and wins over the configuration file: unset it`)
  }
}

/** Warns of errors of a provider. One that is reached only with a key is not probed until there is a key. */
async function warnOfProviders(config: Config, context: CommandContext): Promise<void> {
  const { environment, warn } = context
  const providers = providersOf(config.supported_model_ids, config)
  const failures = await Promise.all(
    providers.map(async (provider) => {
      const key = keyOf(provider, environment)
      const isOwn = config.providers[provider.name]?.base_url !== undefined
      if (key === undefined && !isOwn) return undefined
      return await probeProvider(provider, key, context).then(
        () => undefined,
        (error: unknown) => (key === undefined && isKeyRefused(error) ? undefined : error),
      )
    }),
  )
  for (const error of failures) if (error !== undefined) warn(`warning: ${errorText(error)}`)
}

/** The settings from options and environment. Init does not ask for these. */
function givenAnswers(flags: Given<'init'>, { environment }: CommandContext): Answers {
  const given = settings.map(([field, name]) => [
    field,
    flags[name] ?? environment[variableOf(field)],
  ])
  return {
    ...Object.fromEntries(given),
    attestation_backend: flags.attestationBackend ?? flags.backend,
  }
}

/** Builds the configuration file. Keys and passwords stay in the environment. */
function configFileOf(answers: Answers, { environment }: CommandContext): ConfigFile {
  const file: ConfigFile = {
    ...answers,
    attestation_backend: answers.attestation_backend ?? 'mock',
    supported_model_ids: split(answers.supported_model_ids),
    deployment: environment.SVC_DEPLOYMENT,
  }
  const entries = Object.entries(withBaseUrls(file, environment))
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined && value !== ''))
}

function importedKey(text: string | undefined): Hex | undefined {
  if (!text) return undefined
  const key: Hex = `0x${text.replace(/^0x/, '')}`
  try {
    privateKeyToAccount(key)
    return key
  } catch {
    // The curve's own error would show the key.
  }
  throw new SvcError('import-key-invalid', 'SVC_IMPORT_PRIVATE_KEY is no private key', {
    hint: 'It has to be 32 bytes in hex.',
  })
}

/** Looks for the TPM if the node will attest with one, undefined otherwise. */
const tpmOf = (config: Config, configPath: string, context: CommandContext) =>
  config.attestation_backend === 'tpm' ? lookForTpm({ config, configPath }, context) : undefined

const keysToSet = (config: Config, { environment }: CommandContext): readonly string[] =>
  providersOf(config.supported_model_ids, config)
    .filter(({ needsKey, keyVariable }) => needsKey && !environment[keyVariable])
    .map(({ keyVariable }) => keyVariable)

type Report = Made & {
  readonly tpm: FoundTpm | undefined
  /** The variables of provider keys that are not set. */
  readonly keys: readonly string[]
}

function report(
  { address, configPath, keystorePath, kept, tpm, keys }: Report,
  cost: Answer<RegistrationCost>,
  { json }: Given<'init'>,
  { print }: CommandContext,
): void {
  if (json) {
    const replaced = kept === undefined ? {} : { kept_keystore: kept }
    const registration = valueIn(cost)?.json ?? null
    const files = { config: configPath, keystore: keystorePath, ...replaced }
    print(JSON.stringify({ address, ...files, registration, ...(tpm && { tpm: tpm.json }) }))
    return
  }
  print(`Operator address: ${address}`)
  print(`Configuration:    ${configPath}`)
  print(`Keystore:         ${keystorePath}`)
  if (kept !== undefined) print(`Old keystore:     ${kept}`)
  const takes = 'value' in cost ? cost.value.text : `unknown: ${explainError(cost.error).message}`
  print(`Registering:      ${takes}`)
  if (tpm !== undefined) print(`TPM:              ${tpm.text}`)
  print('')
  print('Next:')
  const steps = [
    'Back up the keystore and its password.',
    valueIn(cost)?.registersItself
      ? 'Send the stake and gas money to the address: svc-node run registers it.'
      : 'Send the stake and gas money to the address, then: svc-node register',
    ...(keys.length > 0 ? [`Set ${keys.join(' and ')} for your models.`] : []),
    'svc-node attest',
    'svc-node run',
  ]
  for (const [index, step] of steps.entries()) print(`  ${index + 1}. ${step}`)
  print('If something does not work: svc-node doctor')
}
