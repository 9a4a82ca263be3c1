import { z } from 'zod'
import { CheckId, ComparatorId, JobId, ModelId } from '../../lib/codecs.ts'
import { mistakesIn, optionsOf, readCommandLine, WholeNumber } from '../../lib/host/command-line.ts'
import { fitHelp } from '../../lib/host/fit-help.ts'
import { invocationOf } from '../../lib/host/invocation.ts'
import { AgreementRule } from '../../lib/schemas/terms.ts'
import { SvcError } from '../../lib/svc-error.ts'

/** How the command is typed. */
export const usage = fitHelp(`Usage: ${invocationOf('infer')} [OPTIONS] "PROMPT"

Encrypts a prompt on this machine, has a quorum of nodes answer it, checks the answer and prints it.
Without a prompt it reads standard input, without a byte order mark and the last line break. A
prompt that begins with a dash goes after --.

  --model MODEL           <provider>:<model> (default: SVC_MODEL, else the only model served)
  --json                  prints one line of JSON in place of the answer
  --receipt FILE          writes the receipt, for \`svc-node receipt verify FILE\`
  --comparator ID         how answers are compared: ${ComparatorId.options.join(', ')} (default: the ICL's)
  --rule RULE             how many answers have to match: ${AgreementRule.options.join(', ')} (default: three)
  --min-matches N         others that have to match each of them, 1 to 6 (default: 1)
  --verifier-count N      nodes of the quorum besides one, 2 to 5 (default: 2)
  --min-tier N            the lowest tier of the nodes, 0 to 255 (default: 0)
  --check ID              what else checkers say of the answer, which decides nothing: ${CheckId.options.join(', ')}
  --max-output-tokens N   the longest answer, 1 to 8192 (default: 1024)
  --webhook URL           the ICL notifies this server when the job has settled. Prints the secret of its messages
  --open JOB              takes no prompt: waits for an earlier job of this wallet, and prints its answer. Costs nothing.
                          Give --max-output-tokens again to check that the nodes were told it
  --timeout SECONDS       cancels the job when it takes longer, unless it was opened (default: 900)
  --quiet                 prints no steps
  --help                  prints this

The answer goes to standard output, everything else to standard error. Ctrl-C cancels the job,
unless it was opened. A second Ctrl-C leaves at once.

  SVC_ICL_ENDPOINT        the ICL's public address
  SVC_RPC_URL             an RPC endpoint of its chain
  SVC_CLIENT_KEY_FILE     your wallet: a file with 64 hex digits, or a Web3 keystore (SVC_KEY_PASSWORD, SVC_KEY_PASSWORD_FILE)
  SVC_DEPLOYMENT          the address file of the contracts that you trust
  SVC_COFHE_URLS          the coprocessor, if neither the chain nor the address file names it
  SVC_IPFS_GATEWAY        more places to download the answer from, with commas

Exit codes: 0 answered, 1 you have to do something, 2 wrong usage, 75 try again, 130 Ctrl-C
`)

const Flags = z.object({
  model: ModelId.optional(),
  comparator: z.enum(ComparatorId.options, `takes ${ComparatorId.options.join(', ')}`).optional(),
  check: z
    .string()
    .transform((name) => (name === 'teacher' ? 'teacher/1' : name))
    .pipe(z.enum(CheckId.options, `takes ${CheckId.options.join(', ')}`))
    .optional(),
  receipt: z.string().min(1, 'takes the name of a file').max(4_096).optional(),
  rule: z.enum(AgreementRule.options, `takes ${AgreementRule.options.join(', ')}`).default('three'),
  'min-matches': WholeNumber(1, 6).default(1),
  'verifier-count': WholeNumber(2, 5).default(2),
  'min-tier': WholeNumber(0, 255).default(0),
  'max-output-tokens': WholeNumber(1, 8_192).optional(),
  webhook: z.url('takes an address such as https://host.example/hook').max(2_048).optional(),
  open: z
    .string()
    .regex(/^0x[0-9a-f]{64}$/i, 'takes the id of a job: 0x and 64 hex digits')
    .pipe(JobId)
    .optional(),
  timeout: WholeNumber(1, 86_400).default(900),
  json: z.boolean().default(false),
  quiet: z.boolean().default(false),
})

const openFlags: readonly string[] = [
  ...['open', 'max-output-tokens', 'receipt', 'timeout', 'json', 'quiet'],
]

/** What was asked for; `prompt` is undefined when it is to be read from standard input. */
export type InferCommand = z.output<typeof Flags> & { readonly prompt: string | undefined }

/** Reads the command line; undefined when help was asked for; throws SvcError `usage` that lists every mistake. */
export function parseInferCommand(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): InferCommand | undefined {
  const options = optionsOf(Flags, { quiet: 'q' })
  const config = { args: [...args], allowPositionals: true, options } as const
  const { values, positionals } = readCommandLine(config, wrongUsage)
  const { help, ...given } = values
  if (help) return undefined
  const parsed = Flags.safeParse({ model: environment.SVC_MODEL || undefined, ...given })
  if (parsed.success) {
    if (parsed.data.open !== undefined) {
      if (positionals.length > 0) throw wrongUsage('--open takes no prompt')
      const other = Object.keys(given).find((name) => !openFlags.includes(name))
      if (other !== undefined) throw wrongUsage(`--open takes no --${other}: the job has its own`)
    }
    return { ...parsed.data, prompt: positionals.length > 0 ? positionals.join(' ') : undefined }
  }
  throw wrongUsage(mistakesIn(parsed.error).join('; '))
}

/** A mistake of the command line. */
export const wrongUsage = (
  message: string,
  hint = `Run \`${invocationOf('infer')} --help\`.`,
): SvcError => new SvcError('usage', message, { hint })
