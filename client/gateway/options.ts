import { z } from 'zod'
import { ModelId } from '../../lib/codecs.ts'
import { mistakesIn, optionsOf, readCommandLine, WholeNumber } from '../../lib/host/command-line.ts'
import { fitHelp } from '../../lib/host/fit-help.ts'
import { invocationOf } from '../../lib/host/invocation.ts'
import { isLoopback } from '../../lib/ip-address.ts'
import { AgreementRule } from '../../lib/schemas/terms.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { ApiKey } from './caller-keys.ts'
import type { ModelMap } from './model-names.ts'

/** How the command is typed. */
export const usage = fitHelp(`Usage: ${invocationOf('gateway')} [OPTIONS]

Serves OpenAI's interface on this machine: POST /v1/chat/completions and /v1/responses, GET
/v1/models and /health. Each request becomes a job: encrypted here, answered by a quorum, decrypted
and checked here. Set a tool's base URL to it.

  --port PORT             port to listen at (default: 8787), 0 for a free one
  --host HOST             address to listen at (default: 127.0.0.1). Others than this machine's own need a key
  --model-map NAMES       other names for models, such as gpt-4o-mini=openai:gpt-4o-mini,best=anthropic:claude-sonnet-5-5
  --rule RULE             how many answers have to match: ${AgreementRule.options.join(', ')} (default: three)
  --min-matches N         others that have to match each of them, 1 to 6 (default: 1)
  --at-once N             jobs that run at the same time, 1 to 64 (default: 8). 64 more requests may wait
  --strict                refuses what cannot be honoured, such as temperature 0.7, in place of ignoring it (header x-svc-ignored)
  --keep-alive SECONDS    how often a stream gets a comment before its answer, 0 to 300 (default: 15). With 0 it begins with the answer
  --store-ahead           after a job, stores the key of the model's next one, which then waits less. An unused key is gas lost
  --allow-origin ORIGIN   a web page's origin that may call, may be repeated
  --allow-host NAME       another name by which callers reach this address, such as host.docker.internal, may be repeated
  --help                  prints this

Ctrl-C cancels the jobs under way and ends it.

  SVC_GATEWAY_KEY         the API key that callers must show
  SVC_GATEWAY_KEYS_FILE   or a file of several: {"keys": [{"name": "ann", "key": "..."}]}. It is read at the start
  SVC_ICL_ENDPOINT, SVC_RPC_URL, SVC_CLIENT_KEY_FILE, SVC_DEPLOYMENT, SVC_COFHE_URLS,
  SVC_IPFS_GATEWAY        as of \`${invocationOf('infer')} --help\`

Exit codes: 0 ended, 1 you have to do something, 2 wrong usage, 75 try again
`)

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

const Flags = z.object({
  port: WholeNumber(0, 65_535).default(8_787),
  host: z
    .string()
    .regex(/^[\w.:-]{1,255}$/, 'takes the name or the address of an interface')
    .default('127.0.0.1'),
  'model-map': ModelNames.default(new Map()),
  rule: z.enum(AgreementRule.options, `takes ${AgreementRule.options.join(', ')}`).default('three'),
  'min-matches': WholeNumber(1, 6).default(1),
  'at-once': WholeNumber(1, 64).default(8),
  'keep-alive': WholeNumber(0, 300).default(15),
  strict: z.boolean().default(false),
  'store-ahead': z.boolean().default(false),
  'allow-origin': z.array(Origin).max(64).default([]),
  'allow-host': z.array(HostName).max(64).default([]),
})

const Keys = z.object({
  SVC_GATEWAY_KEY: ApiKey.optional(),
  SVC_GATEWAY_KEYS_FILE: z.string().max(4_096, 'must be the path of a file').optional(),
})

/** What was asked for. */
export type GatewayCommand = z.output<typeof Flags> & {
  readonly apiKey: string | undefined
  readonly keysFile: string | undefined
  /** The names by which it may be called; any where other machines can reach it. */
  readonly hosts: ReadonlySet<string> | undefined
}

/** A mistake of the command line. */
const wrongUsage = (message: string): SvcError =>
  new SvcError('usage', message, { hint: `Run \`${invocationOf('gateway')} --help\`.` })

/** Reads the command line, SVC_GATEWAY_KEY and SVC_GATEWAY_KEYS_FILE; undefined when help was asked for; throws SvcError `usage` that lists every mistake. */
export function parseGatewayCommand(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): GatewayCommand | undefined {
  const config = { args: [...args], options: optionsOf(Flags) }
  const { help, ...given } = readCommandLine(config, wrongUsage).values
  if (help) return undefined
  const flags = Flags.safeParse(given)
  const keys = Keys.safeParse({
    SVC_GATEWAY_KEY: environment.SVC_GATEWAY_KEY || undefined,
    SVC_GATEWAY_KEYS_FILE: environment.SVC_GATEWAY_KEYS_FILE || undefined,
  })
  const mistakes = [
    ...(flags.error ? mistakesIn(flags.error) : []),
    // The key itself is not shown.
    ...(keys.error?.issues ?? []).map(({ path, message }) => `${String(path[0])} ${message}`),
  ]
  if (!flags.success || !keys.success) throw wrongUsage([...new Set(mistakes)].join('; '))
  const { SVC_GATEWAY_KEY: apiKey, SVC_GATEWAY_KEYS_FILE: keysFile } = keys.data
  if (apiKey !== undefined && keysFile !== undefined) {
    throw wrongUsage('SVC_GATEWAY_KEY and SVC_GATEWAY_KEYS_FILE contradict: set one of them')
  }
  const isLocal = isLoopback(`http://${bracketed(flags.data.host)}`)
  if (!isLocal && apiKey === undefined && keysFile === undefined) {
    throw wrongUsage(
      `--host ${flags.data.host} lets other machines spend this wallet's money: set SVC_GATEWAY_KEY or SVC_GATEWAY_KEYS_FILE to what callers must show`,
    )
  }
  const { host, 'allow-host': allowed } = flags.data
  const own = ['localhost', '127.0.0.1', '[::1]', bracketed(host).toLowerCase()]
  return {
    ...flags.data,
    apiKey,
    keysFile,
    hosts: isLocal ? new Set([...own, ...allowed]) : undefined,
  }
}

/** A host as it stands in a URL. */
export const bracketed = (host: string): string => (host.includes(':') ? `[${host}]` : host)
