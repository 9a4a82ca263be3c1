import { z } from 'zod'
import { flag, option, WholeNumber } from '../../../lib/host/program/option.ts'

export const File = z.string().min(1).max(4_096)
export const Name = z.string().min(1).max(200)
const Price = z
  .string()
  .regex(/^\d{1,6}(\.\d{1,6})?$/, 'takes a price of a million tokens')
  .transform(Number)
  .optional()

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
