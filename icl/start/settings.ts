import { hexToBytes } from 'viem'
import { z } from 'zod'
import { Address } from '../../lib/codecs.ts'
import { SvcError } from '../../lib/svc-error.ts'

const HexBytes = (minBytes: number) =>
  z
    .string()
    .regex(
      new RegExp(`^(0x)?([0-9a-fA-F]{2}){${minBytes},}$`),
      `must be the hex of at least ${minBytes} random bytes`,
    )
    .transform((text) => hexToBytes(`0x${text.replace(/^0x/, '')}`))

/** The ICL's settings: one environment variable each. */
export const Settings = z.object({
  SVC_ICL_HOST: z.string().default('127.0.0.1').describe('Address to listen at'),
  SVC_ICL_PORT: z.coerce.number().pipe(z.int().min(1).max(65_535)).default(8080).describe('Port'),
  SVC_ICL_PUBLIC_URL: z
    .url({ protocol: /^https?$/ })
    .refine((url) => new URL(url).pathname === '/', 'must be an origin without a path')
    .describe('How callers know this ICL; signatures are bound to it'),
  SVC_ICL_SECRET: HexBytes(32).describe('Secret from which every key of the ICL is made'),
  SVC_ICL_DATABASE_URL: z
    .literal('memory:', 'must be memory: (a restart forgets everything)')
    .default('memory:')
    .describe('Where to keep everything'),
  SVC_ICL_RPC_URL: z.url({ protocol: /^https?$/ }).describe("The chain's JSON-RPC"),
  SVC_ICL_CHAIN_ID: z.coerce.number().pipe(z.int().positive()).describe('The chain id'),
  SVC_ICL_COORDINATOR_KEY: z
    .string()
    .regex(/^0x[0-9a-fA-F]{64}$/, 'must be 0x and 64 hex digits')
    .transform((text) => text as `0x${string}`)
    .describe('Private key of the account that sends grants and results'),
  SVC_ICL_NODE_REGISTRY: Address.describe('Address of NodeRegistry'),
  SVC_ICL_PROMPT_KEY_STORE: Address.describe('Address of PromptKeyStore'),
  SVC_ICL_RESULT_REGISTRY: Address.describe('Address of ResultRegistry'),
  SVC_ICL_CONFIRMATIONS: z.coerce
    .number()
    .pipe(z.int().min(1).max(1_000))
    .default(1)
    .describe('Blocks after which a commitment counts'),
  SVC_ICL_MOCK_ATTESTATION_KEY: HexBytes(16)
    .optional()
    .describe('Accepts mock attestation with this key; for development'),
  SVC_ICL_LOG_LEVEL: z
    .enum(['debug', 'info', 'warn', 'error'])
    .default('info')
    .describe('Log level'),
  SVC_ICL_DUMP_FILE: z
    .string()
    .optional()
    .describe('On exit, writes all that the memory store holds here; for tests'),
})
export type Settings = z.output<typeof Settings>

/** Reads the settings from an environment; throws SvcError `settings-invalid` that names every mistake at once. */
export function parseSettings(environment: Record<string, string | undefined>): Settings {
  const given = Object.fromEntries(
    Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''),
  )
  const parsed = Settings.safeParse(given)
  if (parsed.success) return parsed.data
  const mistakes = parsed.error.issues.map(({ path, message }) => {
    const name = path.join('.')
    return given[name] === undefined ? `  ${name} is missing` : `  ${name} ${message}`
  })
  throw new SvcError('settings-invalid', `The settings are not usable:\n${mistakes.join('\n')}`, {
    hint: 'Set these environment variables; --help lists every one with its default.',
  })
}

/** Every setting with its default, for --help. */
export function describeSettings(): string {
  return Object.entries(Settings.shape)
    .map(([name, type]) => {
      const fallback = z.safeParse(type as z.ZodType, undefined)
      const note = fallback.success ? `default: ${fallback.data ?? 'unset'}` : 'required'
      return `  ${name.padEnd(30)} ${type.description ?? ''} (${note})`
    })
    .join('\n')
}
