import { parseArgs } from 'node:util'
import { z } from 'zod'
import { SvcError } from '../../../lib/svc-error.ts'

/** How the bench is called. */
const usage = `npm run bench:comparators -- [OPTIONS]
  (none)                 measures the corpus that is made from a seed
  --quick                fewer answers, wider intervals
  --answers N            answers for each case and length (1100; --quick: 100)
  --seed N               another corpus (1)
  --comparators A,B      only these
  --pairs FILE           measures recorded answers instead: JSON lines, .gz too
  --jobs N               keys under which each recorded question is measured (4)
  --record FILE --model NAME [--weaker-model NAME] [--prompts FILE] [--questions N]
                         asks a provider (OPENAI_API_KEY, SVC_OPENAI_BASE_URL) and writes such a file;
                         --prompts: one prompt a line, else they are made from the seed
  --json FILE            writes all figures
  --plots DIR            writes SVG plots
`

// With so many the widest interval of a rate, that of one half, is less than 3 points to either side.
const fullAnswers = 1_100
const quickAnswers = 100

const File = z.string().min(1).max(4_096)
const Name = z.string().min(1).max(200)
const Options = z.strictObject({
  quick: z.boolean().default(false),
  answers: z.coerce.number().int().min(1).max(100_000).optional(),
  seed: z.coerce
    .number()
    .int()
    .min(0)
    .max(2 ** 31)
    .default(1),
  comparators: z.string().max(200).optional(),
  pairs: File.optional(),
  jobs: z.coerce.number().int().min(1).max(100).default(4),
  record: File.optional(),
  model: Name.optional(),
  'weaker-model': Name.optional(),
  prompts: File.optional(),
  questions: z.coerce.number().int().min(1).max(10_000).default(50),
  json: File.optional(),
  plots: File.optional(),
})

/** What the bench is asked for. */
export type Options = Omit<z.output<typeof Options>, 'answers'> & { readonly answers: number }

const text = { type: 'string' } as const

/** Reads the arguments; throws SvcError `usage`. */
export function readOptions(args: readonly string[]): Options {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        quick: { type: 'boolean' },
        answers: text,
        seed: text,
        comparators: text,
        pairs: text,
        jobs: text,
        record: text,
        model: text,
        'weaker-model': text,
        prompts: text,
        questions: text,
        json: text,
        plots: text,
      },
    })
    const options = Options.parse(values)
    if (options.record !== undefined && options.model === undefined) {
      throw new TypeError('--record takes --model too')
    }
    const answers = options.answers ?? (options.quick ? quickAnswers : fullAnswers)
    return { ...options, answers }
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
