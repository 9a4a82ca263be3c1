import { z } from 'zod'
import { ModelId } from '../../lib/codecs.ts'
import { invocationOf } from '../../lib/host/invocation.ts'
import { flag, OneOf, option, WholeNumber } from '../../lib/host/program/option.ts'
import { usageError } from '../../lib/host/program/program.ts'
import { isLoopback } from '../../lib/ip-address.ts'
import { AgreementRule } from '../../lib/schemas/terms.ts'
import { ApiKey } from './caller-keys.ts'
import type { ModelMap } from './model-names.ts'

const mapError = 'takes NAME=PROVIDER:MODEL, with commas between them'

const ModelNames = z
  .string()
  .max(16_384, mapError)
  .transform((text, context): ModelMap => {
    const entries = text.split(',').map((entry) => entry.trim().split('='))
    const isWell = entries.every(
      ([name = '', model, ...more]) =>
        /^[\w.:/-]{1,256}$/.test(name) && ModelId.safeParse(model).success && more.length === 0,
    )
    if (!isWell) context.addIssue(mapError)
    return new Map(entries.map(([name = '', model = '']) => [name, model]))
  })

const Origin = z.string().refine(
  // URL has no origin for the schemes of apps and extensions.
  (text) =>
    /^(?!https?:)[a-z][a-z\d+.-]*:\/\/[\w.-]+$/.test(text) ||
    (URL.canParse(text) && new URL(text).origin === text),
  'takes an origin such as http://localhost:3000 or app://obsidian.md',
)

const HostName = z
  .string()
  .regex(/^[\w.-]{1,253}$/, 'takes a name without a port, such as host.docker.internal')
  .toLowerCase()

/** The options of `gateway`. */
export const options = z.object({
  port: option(
    WholeNumber(0, 65_535).default(8_787),
    'PORT',
    'port to listen at, 0 for a free one',
  ),
  host: option(
    z
      .string()
      .regex(/^[\w.:-]{1,255}$/, 'takes the name or the address of an interface')
      .default('127.0.0.1'),
    'HOST',
    "address to listen at. Others than this machine's own need a key",
  ),
  modelMap: option(
    ModelNames.default(new Map()),
    'NAMES',
    'other names for models, such as gpt-4o-mini=openai:gpt-4o-mini,best=anthropic:claude-sonnet-5-5',
  ),
  rule: option(
    OneOf(AgreementRule.options).default('three'),
    'RULE',
    'how many answers have to match',
  ),
  minMatches: option(WholeNumber(1, 6).default(1), 'N', 'others that have to match each of them'),
  atOnce: option(
    WholeNumber(1, 64).default(8),
    'N',
    'jobs that run at the same time. 64 more requests may wait',
  ),
  strict: flag(
    'refuses what cannot be honoured, such as temperature 0.7, in place of ignoring it (header x-svc-ignored)',
  ),
  keepAlive: option(
    WholeNumber(0, 300).default(15),
    'SECONDS',
    'how often a stream gets a comment before its answer. With 0 it begins with the answer',
  ),
  storeAhead: flag(
    "after a job, stores the key of the model's next one, which then waits less. An unused key is gas lost",
  ),
  allowOrigin: option(
    z.array(Origin).max(64).default([]),
    'ORIGIN',
    "a web page's origin that may call",
  ),
  allowHost: option(
    z.array(HostName).max(64).default([]),
    'NAME',
    'another name by which callers reach this address, such as host.docker.internal',
  ),
})

/** The help of the command as a whole. */
export const texts = {
  typed: invocationOf('gateway'),
  about: `POST /v1/chat/completions, /v1/responses and /v1/messages, GET /v1/models and /health.
Each request becomes a job: encrypted here, answered by a quorum, decrypted and checked here. Set a tool's base URL to it.`,
  notes: `Ctrl-C cancels the jobs under way and ends it.

  SVC_GATEWAY_KEY         the API key that callers must show
  SVC_GATEWAY_KEYS_FILE   or a file of several: {"keys": [{"name": "ann", "key": "..."}]}. It is read at the start
  SVC_ICL_ENDPOINT, SVC_RPC_URL, SVC_CLIENT_KEY_FILE, SVC_DEPLOYMENT, SVC_COFHE_URLS,
  SVC_IPFS_GATEWAY        as of \`${invocationOf('infer')} --help\``,
} as const

const Keys = z.object({
  SVC_GATEWAY_KEY: ApiKey.optional(),
  SVC_GATEWAY_KEYS_FILE: z.string().max(4_096, 'must be the path of a file').optional(),
})

type Given = z.output<typeof options>

/** The options of the command line, and the keys and host names that follow from them. */
export type GatewayCommand = Given & {
  readonly apiKey: string | undefined
  readonly keysFile: string | undefined
  /** The names by which it may be called; any where other machines can reach it. */
  readonly hosts: ReadonlySet<string> | undefined
}

const wrongUsage = (message: string) =>
  usageError(message, `See \`${invocationOf('gateway')} --help\`.`)

/** Adds the keys that SVC_GATEWAY_KEY or SVC_GATEWAY_KEYS_FILE names. Throws SvcError `usage`. */
export function withKeys(
  given: Given,
  environment: Readonly<Record<string, string | undefined>>,
): GatewayCommand {
  const keys = Keys.safeParse({
    SVC_GATEWAY_KEY: environment.SVC_GATEWAY_KEY || undefined,
    SVC_GATEWAY_KEYS_FILE: environment.SVC_GATEWAY_KEYS_FILE || undefined,
  })
  // The key itself is not shown.
  const mistakes = keys.error?.issues.map(({ path, message }) => `${String(path[0])} ${message}`)
  if (mistakes) throw wrongUsage([...new Set(mistakes)].join('; '))
  const { SVC_GATEWAY_KEY: apiKey, SVC_GATEWAY_KEYS_FILE: keysFile } = keys.data ?? {}
  if (apiKey !== undefined && keysFile !== undefined) {
    throw wrongUsage('SVC_GATEWAY_KEY and SVC_GATEWAY_KEYS_FILE contradict: set one of them')
  }
  const { host, allowHost } = given
  const isLocal = isLoopback(`http://${bracketed(host)}`)
  if (!isLocal && apiKey === undefined && keysFile === undefined) {
    throw wrongUsage(
      `--host ${host} lets other machines spend this wallet's money: set SVC_GATEWAY_KEY or SVC_GATEWAY_KEYS_FILE to what callers must show`,
    )
  }
  const own = ['localhost', '127.0.0.1', '[::1]', bracketed(host).toLowerCase()]
  const hosts = isLocal ? new Set([...own, ...allowHost]) : undefined
  return { ...given, apiKey, keysFile, hosts }
}

/** A host as it stands in a URL. */
export const bracketed = (host: string): string => (host.includes(':') ? `[${host}]` : host)
