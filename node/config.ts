import { z } from 'zod'
import { Address, ModelId } from '../lib/codecs.ts'
import { misspeltName, nearestName } from '../lib/host/nearest.ts'
import { isExposed, isOrigin, mustBeOrigin, mustNotBeExposed } from '../lib/ip-address.ts'
import { baseUrlVariable, builtInNames, providerNameOf } from '../lib/providers.ts'
import { CoprocessorSetting } from '../lib/schemas/coprocessor-urls.ts'
import { AttestationBackend } from '../lib/schemas/nodes.ts'
import { SvcError } from '../lib/svc-error.ts'
import { TpmSetting } from './attestation/tpm/tpm-setting.ts'
import type { Environment } from './environment.ts'
import { Ether } from './ether.ts'
import { ProviderSettingsField } from './inference/provider-setting.ts'
import { unknownProviderText } from './inference/providers.ts'
import { Prices } from './inference/usage.ts'
import { MetricsAddress } from './metrics-address.ts'

const isHttpUrl = (text: string): boolean =>
  URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)

const HttpUrl = z
  .string('must be an address such as https://host.example')
  .refine(isHttpUrl, 'must be an address such as https://host.example')
  .transform((text) => text.replace(/\/+$/, ''))

const ServiceUrl = HttpUrl.refine((text) => !isHttpUrl(text) || !isExposed(text), mustNotBeExposed)

/** Splits a list: it is a JSON array in the file, and comma-separated text in the environment. */
export const split = (value: unknown): unknown =>
  typeof value === 'string'
    ? value
        .split(',')
        .map((part) => part.trim())
        .filter((part) => part !== '')
    : value

/** Several addresses: a JSON array in the file, text with commas in the environment. The same text comes out. */
const ServiceUrls = z
  .preprocess(
    split,
    z
      .array(ServiceUrl, 'must be a list of addresses')
      .min(1, 'must name an RPC')
      .max(8, 'must name at most 8 RPCs'),
  )
  .transform((urls) => urls.join(','))

const Origin = ServiceUrl.refine((text) => !isHttpUrl(text) || isOrigin(text), mustBeOrigin)

const wholeNumber = (min: number, max: number, what: string) => {
  const message = `must be a whole number of ${what}`
  return z.int(message).min(min, message).max(max, message)
}

const fields = {
  attestation_backend: z.enum(
    AttestationBackend.options,
    `must be one of ${AttestationBackend.options.join(', ')}`,
  ),
  icl_endpoint: Origin,
  ipfs_gateway: z
    .preprocess(
      split,
      z.array(HttpUrl, 'must be a list of addresses').min(1, 'must name a gateway'),
    )
    .optional(),
  cofhe_endpoint: ServiceUrls,
  cofhe_urls: CoprocessorSetting.optional(),
  deployment: z.string('must be a path').min(1, 'must be a path').optional(),
  supported_model_ids: z.preprocess(
    split,
    z
      .array(z.string('must be a model id'), 'must list model ids, such as openai:gpt-4.1-mini')
      .min(1, 'must name a model, such as openai:gpt-4.1-mini')
      .max(64, 'must name at most 64 models'),
  ),
  model_aliases: z.record(z.string(), ModelId, 'must map names to <provider>:<model>').default({}),
  log_level: z
    .preprocess(
      (value) =>
        typeof value === 'string' ? value.toUpperCase().replace(/^WARN$/, 'WARNING') : value,
      z.enum(['DEBUG', 'INFO', 'WARNING', 'ERROR'], 'must be DEBUG, INFO, WARNING or ERROR'),
    )
    .default('INFO'),
  log_file: z.string('must be a path').min(1, 'must be a path').optional(),
  log_format: z.enum(['text', 'json'], 'must be text or json').default('text'),
  log_max_bytes: wholeNumber(4_096, 2 ** 40, 'bytes, at least 4096').default(10 * 1024 * 1024),
  log_old_files: wholeNumber(0, 100, 'files, 0 to 100').default(5),
  metrics: MetricsAddress.optional(),
  mock_attestation_key: z
    .string()
    .regex(/^(0x)?([0-9a-fA-F]{2}){16,}$/, 'must be hex of at least 16 bytes')
    .transform((text) => text.replace(/^0x/, '').toLowerCase())
    .optional(),
  tpm: TpmSetting.optional(),
  tpm_certificates: z.string('must be a path').min(1, 'must be a path').optional(),
  max_concurrent_jobs: wholeNumber(1, 64, 'jobs, 1 to 64').default(2),
  max_fee_gwei: z
    .number('must be a number of gwei')
    .min(0.000001, 'must be a number of gwei, at least 0.000001')
    .max(1_000_000, 'must be at most 1000000 gwei')
    .optional(),
  register_up_to: Ether.optional(),
  node_registry: Address.optional(),
  drain_seconds: wholeNumber(0, 3_600, 'seconds, 0 to 3600').default(60),
  providers: ProviderSettingsField.default({}),
  prices: Prices.default({}),
  keystore_path: z.string('must be a path').min(1, 'must be a path').optional(),
}

/** The fields that the environment may give. */
export const environmentFields: readonly (keyof typeof fields)[] = [
  'icl_endpoint',
  'ipfs_gateway',
  'cofhe_endpoint',
  'cofhe_urls',
  'deployment',
  'supported_model_ids',
  'log_level',
  'log_file',
  'log_format',
  'metrics',
  'mock_attestation_key',
  'tpm',
  'tpm_certificates',
  'register_up_to',
  'node_registry',
]

/** Returns `SVC_ICL_ENDPOINT` of `icl_endpoint`. */
export const variableOf = (field: keyof typeof fields): string => `SVC_${field.toUpperCase()}`

const Config = z.object(fields).transform((config, context) => ({
  ...config,
  supported_model_ids: config.supported_model_ids.map((name): string => {
    const modelId = name.includes(':') ? name : config.model_aliases[name]
    const mistake = modelMistake(name, modelId, Object.keys(config.providers))
    if (modelId !== undefined && mistake === undefined) return modelId
    context.addIssue({ code: 'custom', path: ['supported_model_ids'], message: mistake ?? '' })
    return name
  }),
}))

/** Returns what is wrong with a model of the list. `modelId` is what its name stands for. */
function modelMistake(
  name: string,
  modelId: string | undefined,
  configured: readonly string[],
): string | undefined {
  if (modelId === undefined) {
    return `${name} has no provider: write <provider>:${name}, such as openai:${name}, or add it to model_aliases`
  }
  if (!ModelId.safeParse(modelId).success) return `${name} must be <provider>:<model>`
  const provider = providerNameOf(modelId)
  if ([...builtInNames, ...configured].includes(provider)) return undefined
  return `${name}: ${unknownProviderText(provider, configured)}`
}

/** What to do about a file that is no configuration. */
export const correctFile =
  'Correct the file, or restore its backup. `svc-node init --force` makes a new one, but with a new wallet: ' +
  'to keep the old, set keystore_path to the keystore-<address>.json that it leaves, or give its key in SVC_IMPORT_PRIVATE_KEY.'

/** Everything the operator configures (spec 2.4). */
export type Config = z.output<typeof Config>

/** Receives a line that names the file and a field. */
export type Tell = (line: string) => void

/** The configuration as in the file. */
export type ConfigFile = Partial<Record<keyof typeof fields, unknown>>

/**
 * Merges the environment over the file. Gives a line of each unknown field, which has no effect, to `onUnknown`. A misspelling of a known
 * field goes to `onMisspelt`, and is a mistake if that is left out. Throws SvcError `config-invalid` with every mistake.
 */
export function parseConfig(
  file: unknown,
  environment: Environment,
  path: string,
  onUnknown: Tell = () => {},
  onMisspelt?: Tell,
): Config {
  if (typeof file !== 'object' || file === null || Array.isArray(file)) {
    throw new SvcError('config-invalid', `${path} does not hold a JSON object`, {
      hint: correctFile,
    })
  }
  const fromEnvironment = environmentFields.flatMap((field) => {
    const value = environment[variableOf(field)]
    return value ? [[field, value] as const] : []
  })
  const joined: Record<string, unknown> = { ...file, ...Object.fromEntries(fromEnvironment) }
  const given = withBaseUrls(joined, environment)
  const misspelt: string[] = []
  for (const field of Object.keys(file)) {
    if (Object.hasOwn(fields, field)) continue
    const meant = misspeltName(field, Object.keys(fields))
    const line = unknownField(field, meant)
    if (meant === undefined) onUnknown(`${path}: ${line}`)
    else if (onMisspelt) onMisspelt(`${path}: ${line}`)
    else misspelt.push(line)
  }
  const parsed = Config.safeParse(given)
  if (parsed.success && misspelt.length === 0) return parsed.data
  const mistakes = [...(parsed.error ? mistakesOf(parsed.error, given) : []), ...misspelt]
  throw new SvcError(
    'config-invalid',
    `the configuration has ${mistakes.length === 1 ? 'a mistake' : `${mistakes.length} mistakes`}:\n${mistakes.map((mistake) => `  - ${mistake}`).join('\n')}`,
    { hint: `Correct them in ${path} or in the environment.` },
  )
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Adds the base URLs of the environment. Ignores a variable whose provider neither a model nor the file names: it is another program's. */
export function withBaseUrls(
  given: Record<string, unknown>,
  environment: Environment,
): Record<string, unknown> {
  const { providers = {}, supported_model_ids: models, model_aliases: aliases } = given
  if (!isObject(providers)) return given
  const ids = [split(models), isObject(aliases) ? Object.values(aliases) : []].flat()
  const used = ids.filter((id) => typeof id === 'string' && id.includes(':')) as string[]
  const names = new Set([...builtInNames, ...Object.keys(providers), ...used.map(providerNameOf)])
  const named = [...names].flatMap((name) => {
    const url = environment[baseUrlVariable(name)]
    const setting = providers[name]
    return url ? [[name, { ...(isObject(setting) && setting), base_url: url }] as const] : []
  })
  if (named.length === 0) return given
  return { ...given, providers: { ...providers, ...Object.fromEntries(named) } }
}

function unknownField(field: string, meant: string | undefined): string {
  if (meant !== undefined) return `${field}: unknown field, did you mean ${meant}?`
  const near = nearestName(field, Object.keys(fields))
  return `${field}: unknown field, ignored${near === undefined ? '' : `: did you mean ${near}?`}`
}

function mistakesOf(error: z.ZodError, given: Record<string, unknown>): readonly string[] {
  const lines = error.issues.map((issue) => {
    const [field, provider] = issue.path.map(String) as [keyof typeof fields, ...string[]]
    const own = environmentFields.includes(field) ? variableOf(field) : undefined
    const variable = field === 'providers' && provider ? baseUrlVariable(provider) : own
    const place = field === 'providers' ? issue.path.filter((part) => part !== '').join('.') : field
    const name = variable === undefined ? place : `${place} (${variable})`
    const isMissing = issue.path.length === 1 && given[field] === undefined && isInvalidType(issue)
    return `${name}: ${isMissing ? `is missing: it ${issue.message}` : issue.message}`
  })
  return [...new Set(lines)]
}

const isInvalidType = (issue: z.core.$ZodIssue): boolean =>
  issue.code === 'invalid_type' || issue.code === 'invalid_value'
