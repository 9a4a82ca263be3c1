import { parseArgs } from 'node:util'
import { z } from 'zod'
import { ComparatorId, defaultComparator } from '../../../lib/codecs.ts'
import { AgreementRule } from '../../../lib/schemas/terms.ts'
import { SvcError } from '../../../lib/svc-error.ts'

/** How the bench is called. */
const usage = `npm run bench:comparators -- OPTIONS
  --answers FILE         measures recorded answers: JSON, .gz too
  --comparator NAME      ${ComparatorId.options.join(' or ')} (${defaultComparator})
  --keys N               keys under which each recorded question is measured (2)
  --json FILE            writes all figures
or
  --record-real FILE     installs the demo's real model and records in a FILE.gz what it writes on unlike processors, what
                         its requantized copies write, and how likely each text is; a second start continues
           [--questions N] [--tokens N] [--levels LEVEL,LEVEL,...]
                         of real-prompts.txt the first N (96), answers of up to N tokens (192), processor levels
                         (haswell,icelake,sandybridge: AVX2, AVX-512, AVX; sapphirerapids has AMX)
  --real FILE            how often the rule of likelihood is right about such a recording, by number of tokens
           [--seats SEAT,SEAT,SEAT [--prompts N] [--rule NAME]]
                         asks N (40) of them through the whole service, with a node for each seat, a level or a copy such as
                         Q4_0, which replays the recording, and prints what came of the nodes
or
  --record FILE --model NAME --prompts FILE [--provider NAME] [--weaker-model NAME] [--questions N] [--runs N]
           [--price-in P --price-out P] [--yes]
                         says what it costs, and with --yes asks a provider (openai: OPENAI_API_KEY,
                         SVC_OPENAI_BASE_URL) and writes such a file: every run of every question, with log-probabilities
                         where it has them (fireworks, vllm). A second start goes on. --prompts has one prompt a line, of
                         which the first N are asked (50, 7 times)
`

const File = z.string().min(1).max(4_096)
const Name = z.string().min(1).max(200)

const Price = z.coerce.number().min(0).max(1_000_000)

const Measuring = z.strictObject({
  answers: File,
  comparator: ComparatorId.default(defaultComparator),
  keys: z.coerce.number().int().min(1).max(100).default(2),
  json: File.optional(),
})
const Real = z.strictObject({
  real: File,
  seats: z
    .string()
    .max(500)
    .transform((names) => names.split(','))
    .optional(),
  prompts: z.coerce.number().int().min(1).max(1_000).default(40),
  rule: AgreementRule.default('three'),
})
const RecordingReal = z.strictObject({
  'record-real': File.endsWith('.gz'),
  questions: z.coerce.number().int().min(1).max(1_000).default(96),
  tokens: z.coerce.number().int().min(1).max(1_024).default(192),
  levels: z
    .string()
    .max(200)
    .default('haswell,icelake,sandybridge')
    .transform((names) => names.split(','))
    .pipe(z.tuple([Name, Name], Name)),
})
const Recording = z.strictObject({
  record: File,
  model: Name,
  provider: Name.default('openai'),
  'price-in': Price.optional(),
  'price-out': Price.optional(),
  yes: z.boolean().default(false),
  'weaker-model': Name.optional(),
  prompts: File,
  questions: z.coerce.number().int().min(1).max(10_000).default(50),
  runs: z.coerce.number().int().min(2).max(100).default(7),
})

/** What the bench is asked to record. */
export type RecordingOptions = z.output<typeof Recording>

const text = { type: 'string' } as const

/** Reads the arguments; throws SvcError `usage`. */
export function readOptions(
  args: readonly string[],
):
  | z.output<typeof Measuring>
  | z.output<typeof Real>
  | z.output<typeof RecordingReal>
  | RecordingOptions {
  try {
    const names = [Measuring, Recording, Real, RecordingReal].flatMap(({ shape }) =>
      Object.keys(shape),
    )
    const { values } = parseArgs({
      args: [...args],
      options: Object.fromEntries(
        names.map((name) => [name, name === 'yes' ? ({ type: 'boolean' } as const) : text]),
      ),
    })
    if ('real' in values) return Real.parse(values)
    if ('record-real' in values) return RecordingReal.parse(values)
    return 'record' in values ? Recording.parse(values) : Measuring.parse(values)
  } catch (error) {
    throw new SvcError('usage', wordsOf(error), { hint: usage })
  }
}

function wordsOf(error: unknown): string {
  if (error instanceof z.ZodError) {
    return error.issues.map(({ path, message }) => `--${path.join('.')}: ${message}`).join('; ')
  }
  return error instanceof Error ? error.message : String(error)
}
