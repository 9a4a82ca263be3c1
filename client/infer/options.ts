import { z } from 'zod'
import { CheckId, ComparatorId, JobId, ModelId } from '../../lib/codecs.ts'
import { invocationOf } from '../../lib/host/invocation.ts'
import { fieldsOf, flag, OneOf, option, WholeNumber } from '../../lib/host/program/option.ts'
import { usageError } from '../../lib/host/program/program.ts'
import { AgreementRule } from '../../lib/schemas/terms.ts'
import type { SvcError } from '../../lib/svc-error.ts'

/** The prompt of `infer`, as words. */
export const args = z.object({
  prompt: option(z.array(z.string()).default([]), 'PROMPT'),
})

/** The options of `infer`. */
export const options = z.object({
  model: option(
    ModelId.optional(),
    'MODEL',
    '<provider>:<model> (default: SVC_MODEL, else the only model served)',
  ),
  json: flag('prints one line of JSON in place of the answer'),
  receipt: option(
    z.string().min(1, 'takes the name of a file').max(4_096).optional(),
    'FILE',
    'writes the receipt, for `svc-node receipt verify FILE`',
  ),
  comparator: option(
    OneOf(ComparatorId.options).optional(),
    'ID',
    "how answers are compared, the ICL's way by default",
  ),
  rule: option(
    OneOf(AgreementRule.options).default('three'),
    'RULE',
    'how many answers have to match',
  ),
  minMatches: option(WholeNumber(1, 6).default(1), 'N', 'others that have to match each of them'),
  verifierCount: option(WholeNumber(2, 5).default(2), 'N', 'nodes of the quorum besides one'),
  minTier: option(WholeNumber(0, 255).default(0), 'N', 'the lowest tier of the nodes'),
  check: option(
    z
      .string()
      .transform((name) => (name === 'teacher' ? 'teacher/1' : name))
      .pipe(OneOf(CheckId.options))
      .optional(),
    'ID',
    'what else checkers say of the answer, which decides nothing',
  ),
  maxOutputTokens: option(
    WholeNumber(1, 8_192).optional(),
    'N',
    'the longest answer, 1024 by default',
  ),
  webhook: option(
    z.url('takes an address such as https://host.example/hook').max(2_048).optional(),
    'URL',
    'the ICL notifies this server when the job has settled. Prints the secret of its messages',
  ),
  open: option(
    JobId.optional(),
    'JOB',
    'takes no prompt: waits for an earlier job of this wallet, and prints its answer. Costs nothing. Give --max-output-tokens again to check that the nodes were told it',
  ),
  timeout: option(
    WholeNumber(1, 86_400).default(900),
    'SECONDS',
    'cancels the job when it takes longer, unless it was opened',
  ),
  quiet: flag('prints no steps', { letter: 'q' }),
})

const about = `Without a prompt it reads standard input, without a byte order mark and the last line break. A
prompt that begins with a dash goes after --.`

const notes = `The answer goes to standard output, everything else to standard error. Ctrl-C cancels the job,
unless it was opened. A second Ctrl-C leaves at once.

  SVC_ICL_ENDPOINT        the ICL's public address
  SVC_RPC_URL             an RPC endpoint of its chain
  SVC_CLIENT_KEY_FILE     your wallet: a file with 64 hex digits, or a Web3 keystore (SVC_KEY_PASSWORD, SVC_KEY_PASSWORD_FILE)
  SVC_DEPLOYMENT          the address file of the contracts that you trust
  SVC_COFHE_URLS          the coprocessor, if neither the chain nor the address file names it
  SVC_IPFS_GATEWAY        more places to download the answer from, with commas`

/** The help of the command as a whole. */
export const texts = { typed: invocationOf('infer'), about, notes } as const

const see = `See \`${texts.typed} --help\`.`

const ofOpening: readonly string[] = [
  'open',
  'maxOutputTokens',
  'receipt',
  'timeout',
  'json',
  'quiet',
]

/** The parsed command line; without words of a prompt, standard input has it. */
export type InferCommand = z.output<typeof args> & z.output<typeof options>

/** Adds the model that SVC_MODEL names. Throws SvcError `usage` for a wrong one, and for an opening with options of a new job. */
export function completed(
  command: InferCommand,
  { SVC_MODEL: inEnvironment }: Readonly<Record<string, string | undefined>>,
): InferCommand {
  if (command.open === undefined) {
    const model = ModelId.safeParse(command.model ?? (inEnvironment || undefined))
    if (model.success || !inEnvironment) return { ...command, model: model.data }
    throw usageError('SVC_MODEL does not name a model: <provider>:<model>', see)
  }
  if (command.prompt.length > 0) throw usageError('--open takes no prompt', see)
  const usual: Readonly<Record<string, unknown>> = options.parse({})
  const given: Readonly<Record<string, unknown>> = command
  const other = fieldsOf(options).find(
    ({ key }) => !ofOpening.includes(key) && given[key] !== usual[key],
  )
  if (other) throw usageError(`--open takes no ${other.name}: the job has its own`, see)
  return command
}

/** The error for a prompt that is not there, or cannot be read. */
export const noPrompt = (message: string): SvcError => usageError(message, see)
