import { z } from 'zod'
import { ComparatorId, defaultComparator } from '../../../lib/codecs.ts'
import { flag, option, WholeNumber } from '../../../lib/host/program/option.ts'
import { AgreementRule } from '../../../lib/schemas/terms.ts'

const File = z.string().min(1).max(4_096)
const Name = z.string().min(1).max(200)
const Price = z
  .string()
  .regex(/^\d{1,6}(\.\d{1,6})?$/, 'takes a price of a million tokens')
  .transform(Number)
  .optional()

/** The file of recorded answers that a command reads. */
export const answersArgs = z.object({ answers: option(File, 'FILE', 'JSON, .gz too') })

export const measuringOptions = z.object({
  comparator: option(ComparatorId.default(defaultComparator), 'NAME', 'The rule of likeness'),
  keys: option(WholeNumber(1, 100).default(2), 'N', 'Keys under which each question is measured'),
  figures: option(File.optional(), 'FILE', 'Also write all figures there, as JSON'),
})

export const realOptions = z.object({
  seats: option(
    z
      .string()
      .max(500)
      .transform((names) => names.split(','))
      .optional(),
    'SEATS',
    'Ask through the whole service, with a node for each seat (separated by commas), a level or a copy such as Q4_0, which replays the recording, and print what came of the nodes',
  ),
  prompts: option(WholeNumber(1, 1_000).default(40), 'N', 'How many prompts those nodes get'),
  rule: option(AgreementRule.default('three'), 'RULE', 'The rule of agreement'),
})

export const recordingRealArgs = z.object({ file: option(File.endsWith('.gz'), 'FILE.gz') })
export const recordingRealOptions = z.object({
  questions: option(WholeNumber(1, 1_000).default(96), 'N', 'The first N of real-prompts.txt'),
  tokens: option(WholeNumber(1, 1_024).default(192), 'N', 'Tokens of an answer, at most'),
  levels: option(
    z
      .string()
      .max(200)
      .default('haswell,icelake,sandybridge')
      .transform((names) => names.split(','))
      .pipe(z.tuple([Name, Name], Name)),
    'LEVELS',
    'Processor levels, separated by commas: AVX2, AVX-512, AVX; sapphirerapids has AMX',
  ),
})

export const recordingArgs = z.object({ record: option(File, 'FILE', 'The file to write') })
export const recordingOptions = z.object({
  model: option(Name, 'MODEL', 'The model, as the provider names it'),
  prompts: option(File, 'FILE', 'One prompt a line'),
  provider: option(
    Name.default('openai'),
    'NAME',
    'By its key and address in the environment, such as OPENAI_API_KEY, SVC_OPENAI_BASE_URL',
  ),
  weakerModel: option(Name.optional(), 'MODEL', 'Also ask this one, once a question'),
  questions: option(WholeNumber(1, 10_000).default(50), 'N', 'The first N of the prompts'),
  runs: option(WholeNumber(2, 100).default(7), 'N', 'How often each'),
  priceIn: option(Price, 'PRICE', 'Of a million input tokens'),
  priceOut: option(Price, 'PRICE', 'Of a million output tokens'),
  yes: flag('Ask the provider; else only say what it costs'),
})

/** What the bench is asked to record. */
export type RecordingOptions = z.output<typeof recordingArgs> & z.output<typeof recordingOptions>
