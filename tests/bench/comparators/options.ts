import { parseArgs } from 'node:util'
import { z } from 'zod'
import { ComparatorId, defaultComparator } from '../../../lib/codecs.ts'
import { SvcError } from '../../../lib/svc-error.ts'

/** How the bench is called. */
const usage = `npm run bench:comparators -- OPTIONS
  --answers FILE         measures recorded answers: JSON, .gz too
  --comparator NAME      ${ComparatorId.options.join(' or ')} (${defaultComparator})
  --keys N               keys under which each recorded question is measured (2)
  --json FILE            writes all figures
or
  --teacher N            how well the numbers of teacher/1 tell n-gram models apart, over N prompts, by length
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
const Teaching = z.strictObject({ teacher: z.coerce.number().int().min(2).max(1_000) })
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
): z.output<typeof Measuring> | z.output<typeof Teaching> | RecordingOptions {
  try {
    const names = [Measuring, Recording, Teaching].flatMap(({ shape }) => Object.keys(shape))
    const { values } = parseArgs({
      args: [...args],
      options: Object.fromEntries(
        names.map((name) => [name, name === 'yes' ? ({ type: 'boolean' } as const) : text]),
      ),
    })
    if ('teacher' in values) return Teaching.parse(values)
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
