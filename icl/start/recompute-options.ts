import { readFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { z } from 'zod'
import { Address, JobId } from '../../lib/codecs.ts'
import { errorMessage } from '../../lib/error-message.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { deriveTokenKeys, readTokenOf } from '../keys.ts'
import { Settings } from './settings.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** How the command is typed. */
export const usage = `Usage: npm run quorum:recompute -- JOB --icl URL [--read-token TOKEN | --client-key-file FILE]

Derives the quorum of a job again from the seeds and the pools that are on record, and says what does not fit.

  --icl URL               the ICL; else SVC_ICL_ENDPOINT or SVC_ICL_PUBLIC_URL
  --read-token TOKEN      the token that came with the job; else SVC_READ_TOKEN
  --client-key-file FILE  the client's private key (0x and 64 hex digits), to read the job without a token
  --client ADDRESS        whose job it has to be; the ICL's word otherwise
  --rpc-url URL           also asks the chain whether the block of each draw has the hash that was signed
  --json                  prints one JSON object

With neither token nor key, SVC_ICL_SECRET is used: who has it, reads every job.
Exit codes: 0 every draw was recomputed, 1 something does not fit, 2 wrong usage, 75 somebody did not answer`

/** What was asked for. */
export type RecomputeOptions = {
  readonly jobId: JobId
  readonly icl: string
  readonly readToken: string | undefined
  readonly clientKey: `0x${string}` | undefined
  readonly client: Address | undefined
  readonly rpcUrl: string | undefined
  readonly json: boolean
}

const usageError = (message: string): SvcError =>
  new SvcError('usage', message, { hint: '`npm run quorum:recompute -- --help` says how.' })

const HttpUrl = z.url({ protocol: /^https?$/ }).max(512)
const Token = z.string().regex(/^[A-Za-z0-9_-]{43}$/)
const PrivateKey = z
  .string()
  .trim()
  .regex(/^0x[0-9a-fA-F]{64}$/)

/** Reads the command line; undefined when help was asked for; throws SvcError `usage`. */
export async function parseRecomputeOptions(
  args: readonly string[],
  environment: Environment,
): Promise<RecomputeOptions | undefined> {
  const { values, positionals } = parseStrictly(args)
  if (values.help) return undefined
  if (positionals.length !== 1) throw usageError('Name one job')
  const jobId = typed(JobId, positionals[0], 'A job')
  const icl = values.icl ?? environment.SVC_ICL_ENDPOINT ?? environment.SVC_ICL_PUBLIC_URL
  if (icl === undefined) throw usageError('Say which ICL with --icl')
  const file = values['client-key-file']
  const clientKey = file === undefined ? undefined : await readKey(file)
  const given = values['read-token'] ?? environment.SVC_READ_TOKEN
  const readToken = clientKey ? undefined : (given ?? (await tokenOfOperator(jobId, environment)))
  if (!clientKey && readToken === undefined) {
    throw usageError('Reading the job takes --read-token or --client-key-file')
  }
  return {
    jobId,
    icl: typed(HttpUrl, icl, '--icl'),
    // What it was is a secret.
    readToken: readToken === undefined ? undefined : typed(Token, readToken, '--read-token', '...'),
    clientKey,
    client: values.client === undefined ? undefined : typed(Address, values.client, '--client'),
    rpcUrl:
      values['rpc-url'] === undefined
        ? undefined
        : typed(HttpUrl, values['rpc-url'], '--rpc-url', '...'),
    json: values.json ?? false,
  }
}

const flags = {
  icl: { type: 'string' },
  'read-token': { type: 'string' },
  'client-key-file': { type: 'string' },
  client: { type: 'string' },
  'rpc-url': { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean' },
} as const

function parseStrictly(args: readonly string[]) {
  try {
    return parseArgs({ args: joinToken(args), options: flags, allowPositionals: true })
  } catch (error) {
    throw usageError(errorMessage(error))
  }
}

/** One token in 64 begins with a dash, which would be taken for an option of its own. */
function joinToken(args: readonly string[]): string[] {
  const at = args.indexOf('--read-token')
  const token = args[at + 1]
  if (at < 0 || !Token.safeParse(token).success) return [...args]
  return [...args.slice(0, at), `--read-token=${token}`, ...args.slice(at + 2)]
}

function typed<T>(schema: z.ZodType<T>, text: string | undefined, what: string, shown = text): T {
  const parsed = schema.safeParse(text)
  if (parsed.success) return parsed.data
  throw usageError(`${what} cannot be ${JSON.stringify(shown ?? '')}`)
}

async function readKey(file: string): Promise<`0x${string}`> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (error) {
    throw usageError(`${file} cannot be read: ${error instanceof Error ? error.message : error}`)
  }
  const key = PrivateKey.safeParse(text)
  if (!key.success) throw usageError(`${file} holds no private key (0x and 64 hex digits)`)
  return key.data as `0x${string}`
}

/** The ICL's operator can read every job: its tokens are made from the secret. */
async function tokenOfOperator(jobId: JobId, environment: Environment) {
  if (environment.SVC_ICL_SECRET === undefined) return undefined
  const secret = Settings.shape.SVC_ICL_SECRET.safeParse(environment.SVC_ICL_SECRET)
  if (!secret.success) throw usageError('SVC_ICL_SECRET is not the secret of an ICL')
  return readTokenOf(await deriveTokenKeys(secret.data), jobId)
}
