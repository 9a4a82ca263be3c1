import { parseArgs } from 'node:util'
import { z } from 'zod'
import { comparators } from '../../../lib/comparators/all.ts'
import { SvcError } from '../../../lib/svc-error.ts'

/** How the bench is called. */
const usage = `npm run bench:comparators -- OPTIONS
  --pairs FILE           measures recorded answers: JSON lines, .gz too
  --comparators A,B      only these (exact,similar/2)
  --jobs N               keys under which each recorded question is measured (4)
  --json FILE            writes all figures
or
  --record FILE --model NAME --prompts FILE [--weaker-model NAME] [--questions N]
                         asks a provider (OPENAI_API_KEY, SVC_OPENAI_BASE_URL) and writes such a file;
                         --prompts has one prompt a line, of which the first N are asked (50)
`

const File = z.string().min(1).max(4_096)
const Name = z.string().min(1).max(200)
const known = Object.values(comparators)

const Measuring = z.strictObject({
  pairs: File,
  comparators: z
    .string()
    .max(200)
    .default(known.map(({ id }) => id).join(','))
    .transform((names, context) =>
      names.split(',').map((name) => {
        const found = known.find(({ id }) => id === name)
        if (found !== undefined) return found
        const those = known.map(({ id }) => id).join(', ')
        context.addIssue(`${name} is none of ${those}`)
        return z.NEVER
      }),
    ),
  jobs: z.coerce.number().int().min(1).max(100).default(4),
  json: File.optional(),
})
const Recording = z.strictObject({
  record: File,
  model: Name,
  'weaker-model': Name.optional(),
  prompts: File,
  questions: z.coerce.number().int().min(1).max(10_000).default(50),
})

/** What the bench is asked to record. */
export type RecordingOptions = z.output<typeof Recording>

const text = { type: 'string' } as const

/** Reads the arguments; throws SvcError `usage`. */
export function readOptions(
  args: readonly string[],
): z.output<typeof Measuring> | RecordingOptions {
  try {
    const names = [...Object.keys(Measuring.shape), ...Object.keys(Recording.shape)]
    const { values } = parseArgs({
      args: [...args],
      options: Object.fromEntries(names.map((name) => [name, text])),
    })
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
