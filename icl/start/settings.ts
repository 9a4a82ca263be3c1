import { hexToBytes } from 'viem'
import { z } from 'zod'
import { rpcUrlsOf } from '../../lib/chain/rpc-list.ts'
import { Address, ComparatorId, defaultComparator, ModelTier } from '../../lib/codecs.ts'
import {
  isExposed,
  isLoopback,
  isOrigin,
  mustBeOrigin,
  mustNotBeExposed,
} from '../../lib/ip-address.ts'
import { CoprocessorSetting } from '../../lib/schemas/coprocessor-urls.ts'
import type { Rate as RateType } from '../../lib/schemas/network.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { BlobLocation, KuboAuthorization } from './blob-location.ts'
import { type ReadText, withDeployment, withSecretFiles } from './deployment-settings.ts'
import { TpmModels } from './tpm-models.ts'

const HexBytes = (minBytes: number) =>
  z
    .string()
    .regex(
      new RegExp(`^(0x)?([0-9a-fA-F]{2}){${minBytes},}$`),
      `must be the hex of at least ${minBytes} random bytes`,
    )
    .transform((text) => hexToBytes(`0x${text.replace(/^0x/, '')}`))

/** Aborts when the text is no URL, because the later checks of its parts would throw. */
const HttpUrl = z.url({ protocol: /^https?$/, error: 'must be an http or https URL', abort: true })

const Whole = (min: number, max: number) => {
  const error = `must be a whole number from ${min} to ${max}`
  return z.coerce.number(error).pipe(z.int(error).min(min, error).max(max, error))
}

const OneOf = <const T extends readonly [string, ...string[]]>(names: T) =>
  z.enum(names, `must be one of: ${names.join(', ')}`)

/** `REQUESTS/SECONDS`, or `off` for no limit. */
const RateText = z
  .string()
  .regex(
    /^(off|[1-9]\d{0,5}\/[1-9]\d{0,3})$/,
    'must be REQUESTS/SECONDS, such as 60/60, or off for no limit',
  )
  .transform((text): RateType | undefined => {
    const [requests, seconds] = text.split('/').map(Number)
    return requests && seconds ? { requests, seconds } : undefined
  })

const rate = (fallback: string, meaning: string) =>
  RateText.prefault(fallback).describe(`${meaning}, as REQUESTS/SECONDS or off`)

const optionalText = (meaning: string) => z.string().optional().describe(meaning)

const curveOrder = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

/** Checked here, because the library that would refuse a wrong key later shows the key in its error. */
const PrivateKey = z
  .string()
  .regex(/^0x[0-9a-fA-F]{64}$/, { error: 'must be 0x and 64 hex digits', abort: true })
  .refine((text) => BigInt(text) > 0n && BigInt(text) < curveOrder, 'must be a private key')
  .transform((text) => text as `0x${string}`)

/** `tpm=2,mock=0`. A backend that is left out keeps its default. */
const Tiers = z
  .string()
  .regex(/^(tpm|mock)=\d{1,3}(,(tpm|mock)=\d{1,3})*$/, {
    error: 'must be such as tpm=2,mock=0',
    abort: true,
  })
  .transform((text) => Object.fromEntries(text.split(',').map((entry) => entry.split('='))))
  .pipe(
    z.object({
      tpm: z.coerce.number().pipe(ModelTier).default(0),
      mock: z.coerce.number().pipe(z.literal(0, 'must leave mock at 0')).default(0),
    }),
  )

/** The store when SVC_ICL_DATABASE_URL is unset. */
export const defaultDatabaseUrl = 'sqlite:icl.db'

/** The text is not parsed here: the driver does that, and an error could show its password. */
const DatabaseUrl = z
  .string()
  .regex(
    /^(memory:|sqlite:.+|mongodb(\+srv)?:\/\/.+)$/,
    'must be memory:, sqlite:FILE, mongodb://... or mongodb+srv://...',
  )

const isPageOrigin = (text: string): boolean =>
  HttpUrl.safeParse(text).success && isOrigin(text) && !text.includes('*')

const partsOf = (text: string): readonly string[] => text.split(',').map((part) => part.trim())

const RpcUrls = z
  .string()
  .transform(partsOf)
  .pipe(z.array(HttpUrl.refine((text) => !isExposed(text), mustNotBeExposed)).max(8))
  .transform((urls) => urls.join(','))

/** `*`, or origins of pages, which become what a browser names them. */
const AllowedOrigins = z
  .string()
  .refine((text) => text === '*' || partsOf(text).every(isPageOrigin), {
    error:
      'must be *, or origins with commas, each of scheme, host and port only, such as https://app.example',
    abort: true,
  })
  .transform((text) =>
    text === '*' ? ('*' as const) : partsOf(text).map((url) => new URL(url).origin),
  )

/** The ICL's settings: one environment variable each. */
export const Settings = z.object({
  SVC_ICL_HOST: z.string().default('127.0.0.1').describe('Address to listen at'),
  SVC_ICL_PORT: Whole(1, 65_535).default(8080).describe('Port'),
  SVC_ICL_PUBLIC_URL: HttpUrl.refine(isOrigin, mustBeOrigin).describe(
    'Origin by which callers know this ICL. Signatures are bound to it',
  ),
  SVC_ICL_SECRET: HexBytes(32).describe('Secret from which every key of the ICL is made'),
  SVC_ICL_SECRET_FILE: optionalText('File with SVC_ICL_SECRET, in its place'),
  SVC_ICL_DATABASE_URL: DatabaseUrl.default(defaultDatabaseUrl).describe(
    'Where to keep everything: memory:, sqlite:FILE, mongodb://... or mongodb+srv://...',
  ),
  SVC_ICL_REPLICAS: Whole(1, 1_000)
    .default(1)
    .describe(
      'How many ICLs share the MongoDB. One that is alone has it follow a file, and continues while it is away',
    ),
  SVC_ICL_LOCAL_COPY: optionalText(
    'File of an ICL that is alone, which MongoDB follows, or off. ~/.svc-icl/copy.db when unset',
  ),
  SVC_ICL_START_EMPTY: Whole(0, 1)
    .default(0)
    .describe('1: an empty file is in use before it was filled from a MongoDB that is away'),
  SVC_ICL_BLOBS: BlobLocation.prefault('auto').describe(
    'Where blobs go: store, kubo:RPC_URL[,GATEWAY_URL], or auto: Kubo at 127.0.0.1:5001 if it takes blobs at the start, else the store',
  ),
  SVC_ICL_KUBO_AUTHORIZATION: KuboAuthorization.optional().describe(
    'What the RPC of the Kubo that SVC_ICL_BLOBS names asks for as the header authorization',
  ),
  SVC_ICL_RPC_URL: RpcUrls.describe(
    "The chain's JSON-RPC, or several with commas: the next is used when one fails",
  ),
  SVC_ICL_DEPLOYMENT: optionalText(
    'Address file of `npm run contracts:deploy`. Gives the chain id and the three contracts',
  ),
  SVC_ICL_CHAIN_ID: Whole(1, Number.MAX_SAFE_INTEGER).describe('The chain id'),
  SVC_ICL_COORDINATOR_KEY: PrivateKey.describe(
    'Private key of the account that sends grants and results',
  ),
  SVC_ICL_COORDINATOR_KEY_FILE: optionalText('File with SVC_ICL_COORDINATOR_KEY, in its place'),
  SVC_ICL_NODE_REGISTRY: Address.describe('Address of NodeRegistry'),
  SVC_ICL_PROMPT_KEY_STORE: Address.describe('Address of PromptKeyStore'),
  SVC_ICL_RESULT_REGISTRY: Address.describe('Address of ResultRegistry'),
  SVC_ICL_COFHE_URLS: CoprocessorSetting.optional().describe(
    'Where the coprocessor is, shown to nodes and clients: one address, or three with commas. Known for public networks',
  ),
  SVC_ICL_CONFIRMATIONS: Whole(1, 1_000)
    .default(1)
    .describe('Blocks after which a commitment counts'),
  SVC_ICL_SLASH_WEI: z
    .string()
    .regex(/^(0|[1-9]\d{0,29})$/, 'must be a whole number of wei')
    .transform(BigInt)
    .prefault('10000000000000000')
    .describe('Wei of stake that a proven fault costs a node (0.01 ether). 0: propose no slash'),
  SVC_ICL_MOCK_ATTESTATION_KEY: HexBytes(16)
    .optional()
    .describe('Accepts mock attestation with this key. For development'),
  SVC_ICL_TPM_ROOTS: z
    .string()
    .transform(partsOf)
    .optional()
    .describe(
      'Accepts TPMs whose endorsement keys lead to these certificates: PEM files with commas',
    ),
  SVC_ICL_TPM_MODELS: TpmModels.optional().describe(
    'TPMs that are accepted, as MANUFACTURER or MANUFACTURER/MODEL with commas. All when unset',
  ),
  SVC_ICL_TPM_POLICY: optionalText(
    'JSON file: which PCRs are quoted and what they may hold. PCRs 0 to 7 when unset',
  ),
  SVC_ICL_TPM_REVOKED: optionalText(
    'File of endorsement key hashes and attestation key names that are refused, one a line',
  ),
  SVC_ICL_TIERS: Tiers.prefault('tpm=0,mock=0').describe(
    'The highest tier that each attestation backend may serve. mock stays at 0',
  ),
  SVC_ICL_DEFAULT_COMPARATOR: ComparatorId.default(defaultComparator).describe(
    'Comparator of jobs that name none: exact, similar/2 or structured/1',
  ),
  SVC_ICL_CLIENT_ALLOW_LIST: optionalText(
    'Clients that may submit: addresses with commas, or a file with one a line',
  ),
  SVC_ICL_JOBS_AT_ONCE: Whole(1, 1_000)
    .default(8)
    .describe('Jobs of one client that run at the same time'),
  SVC_ICL_JOBS_PER_DAY: z
    .union([z.literal('off').transform(() => undefined), Whole(1, 1_000_000)], {
      error: 'must be a number from 1 to 1000000, or off',
    })
    .prefault('1000')
    .describe('Jobs of one client in one day (UTC), or off'),
  SVC_ICL_POLL_SECONDS: Whole(5, 25)
    .default(5)
    .describe('How often an idle node polls. More than 5 spares a large pool requests'),
  SVC_ICL_ALLOW_ORIGINS: AllowedOrigins.optional().describe(
    'Origins of other hosts whose pages may call this ICL, with commas, or * for every page',
  ),
  SVC_ICL_TRUSTED_PROXIES: Whole(0, 16)
    .default(0)
    .describe('How many proxies in front add to X-Forwarded-For'),
  SVC_ICL_RATE_ADDRESS: rate('600/60', 'Unsigned and wallet-signed requests of one address'),
  SVC_ICL_RATE_PREVIEW: rate('300/60', 'Previews and reputation lists of one address'),
  SVC_ICL_RATE_ATTESTATION: rate('60/60', 'Challenges and attestations of one address'),
  SVC_ICL_RATE_UPLOAD: rate('600/3600', 'Sealed prompts that wallets upload from one address'),
  SVC_ICL_RATE_FAILURE: rate('60/60', 'Requests of one address whose signature or token fails'),
  SVC_ICL_RATE_WALLET: rate('300/60', 'Requests of one wallet'),
  SVC_ICL_RATE_NODE: rate('1200/60', 'Requests of one node'),
  SVC_ICL_RATE_READER: rate('600/60', 'Requests with the read token of one job'),
  SVC_ICL_METRICS_TOKEN: z
    .string()
    .min(16, 'must have at least 16 characters')
    .max(256, 'must have at most 256 characters')
    .optional()
    .describe('Bearer token that /metrics asks for'),
  SVC_ICL_CONSOLE: OneOf(['public', 'token', 'off'])
    .default('public')
    .describe('Who sees /console: public, token (that of SVC_ICL_METRICS_TOKEN) or off'),
  SVC_ICL_WEBHOOKS: OneOf(['on', 'off'])
    .default('off')
    .describe('Whether webhooks notify the servers that clients name when a job has settled'),
  SVC_ICL_WEBHOOKS_ALLOW_PRIVATE: OneOf(['true', 'false'])
    .transform((text) => text === 'true')
    .prefault('false')
    .describe('Lets webhooks go to private addresses and over plain http. For development'),
  SVC_ICL_PLAYGROUND: optionalText(
    'Folder of the page of `npm run build:playground`, to serve at /playground',
  ),
  SVC_ICL_PLAYGROUND_RPC_URL: HttpUrl.optional().describe(
    "The chain's JSON-RPC for those who use that page: everybody can see it",
  ),
  SVC_ICL_LOG_LEVEL: OneOf(['debug', 'info', 'warn', 'error'])
    .default('info')
    .describe('Log level'),
  SVC_ICL_DRAIN_SECONDS: Whole(0, 3_600)
    .default(10)
    .describe('How long a stop waits for what is under way'),
})
export type Settings = z.output<typeof Settings>

const readNothing = () => {
  throw new Error('there are no files here')
}

/** The variables that have a value, without white space at its ends: a file with CRLF leaves a carriage return. */
export const setIn = (environment: Record<string, string | undefined>) =>
  Object.fromEntries(
    Object.entries(environment)
      .map(([name, value]) => [name, value?.trim()] as const)
      .filter(([, value]) => value),
  )

/** Reads the settings, and the address file if they name one. Throws SvcError `settings-invalid` (all mistakes) or `deployment-invalid`. */
export function parseSettings(
  environment: Record<string, string | undefined>,
  readText: ReadText = readNothing,
): Settings {
  const given = withDeployment(withSecretFiles(setIn(environment), readText), readText)
  const parsed = Settings.safeParse(given)
  if (parsed.success) return parsed.data
  const mistakes = parsed.error.issues.map(({ path, message }) => {
    const name = String(path[0])
    return given[name] === undefined ? `  ${name} is missing` : `  ${name} ${message}`
  })
  throw new SvcError('settings-invalid', `The settings are not usable:\n${mistakes.join('\n')}`, {
    hint: 'Set these environment variables. --help lists every one with its default.',
  })
}

/** Warnings of settings that work but are probably not meant. No line shows a value that could be secret. */
export function settingsWarnings(
  settings: Settings,
  environment: Record<string, string | undefined>,
): readonly string[] {
  const publicUrl = new URL(settings.SVC_ICL_PUBLIC_URL)
  const isPublic = !isLoopback(publicUrl.href)
  const unknown = Object.keys(environment).filter(
    (name) =>
      name.startsWith('SVC_ICL_') && !(name in Settings.shape) && name !== 'SVC_ICL_ENDPOINT',
  )
  const checks: readonly (readonly [boolean, string])[] = [
    [
      isPublic && publicUrl.protocol === 'http:',
      'SVC_ICL_PUBLIC_URL is not https: anyone on the network path can read and delay requests',
    ],
    [
      isPublic && settings.SVC_ICL_MOCK_ATTESTATION_KEY !== undefined,
      'SVC_ICL_MOCK_ATTESTATION_KEY is set: anyone who has it can attest any machine',
    ],
    [
      rpcUrlsOf(settings.SVC_ICL_RPC_URL).some(
        (url) => new URL(url).protocol === 'http:' && !isLoopback(url),
      ),
      'SVC_ICL_RPC_URL is not https: anyone on the network path can lie to the ICL about the chain',
    ],
    [
      publicUrl.protocol === 'https:' && settings.SVC_ICL_TRUSTED_PROXIES === 0,
      'SVC_ICL_TRUSTED_PROXIES is 0, but something ends TLS in front: all callers count as one address',
    ],
    [
      isPublic && settings.SVC_ICL_METRICS_TOKEN === undefined,
      'SVC_ICL_METRICS_TOKEN is not set: everybody who reaches the ICL can read /metrics',
    ],
    [
      settings.SVC_ICL_CONSOLE === 'token' && settings.SVC_ICL_METRICS_TOKEN === undefined,
      'SVC_ICL_CONSOLE is token, but SVC_ICL_METRICS_TOKEN is not set: nobody sees the console',
    ],
    [
      settings.SVC_ICL_REPLICAS > 1 && settings.SVC_ICL_DATABASE_URL === 'memory:',
      'SVC_ICL_REPLICAS is above 1, but SVC_ICL_DATABASE_URL is memory: each replica has a store of its own',
    ],
    [
      isPublic && settings.SVC_ICL_WEBHOOKS === 'on' && settings.SVC_ICL_WEBHOOKS_ALLOW_PRIVATE,
      "SVC_ICL_WEBHOOKS_ALLOW_PRIVATE is true: clients can have the ICL post to its own network's servers",
    ],
    ...unknown.map((name) => [true, `${name} is not a setting of the ICL`] as const),
  ]
  return checks.flatMap(([holds, text]) => (holds ? [text] : []))
}

/** All settings with their defaults, for --help. */
export function describeSettings(): string {
  return Object.entries(Settings.shape)
    .map(([name, type]) => {
      const note = z.safeParse(type as z.ZodType, undefined).success
        ? `default: ${String(defaultOf(type) ?? 'unset')}`
        : 'required'
      return `  ${name.padEnd(30)}  ${type.description ?? ''} (${note})`
    })
    .join('\n')
}

/** A setting's default, as an operator would write it. */
const defaultOf = (type: { readonly def: object }): unknown =>
  'defaultValue' in type.def ? type.def.defaultValue : undefined
