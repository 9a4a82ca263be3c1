import { readFile, stat } from 'node:fs/promises'
import { gunzipSync } from 'node:zlib'
import { z } from 'zod'
import { SvcError } from '../../../lib/svc-error.ts'

const Name = z.string().min(1).max(200)
const Text = z.string().max(1_048_576)
const mostRuns = 1_000

const Told = z.object({ logprob: z.number(), top: z.array(z.tuple([Text, z.number()])).max(20) })

/** One question, what a model answered each time it was asked, and what other, weaker models answered. */
export const RecordedQuestion = z.object({
  /** The prompt; it tells questions apart. */
  q: Text.min(1),
  /** Answers by the number of the run, from 0. Numbers may be missing. */
  runs: z.record(z.string().regex(/^\d{1,4}$/), Text).refine((runs) => {
    const count = Object.keys(runs).length
    return count >= 1 && count <= mostRuns
  }, `has to hold 1 to ${mostRuns} runs`),
  /** Answers by the name of the model. */
  weak: z.record(Name, Text).default({}),
  /** How likely each token of these texts is under the model, by the number of the run or the name of the other model. */
  told: z.record(Name, z.array(Told).max(65_536)).exactOptional(),
})
export type RecordedQuestion = z.output<typeof RecordedQuestion>

/** Recorded answers: by the name of the set (the model and its questions), all questions that were asked. */
const RecordedAnswers = z
  .record(Name, z.array(RecordedQuestion).min(1).max(100_000))
  .refine((sets) => {
    const count = Object.keys(sets).length
    return count >= 1 && count <= 100
  }, 'has to hold 1 to 100 sets')
export type RecordedAnswers = z.output<typeof RecordedAnswers>

const maxFileBytes = 256 * 1_048_576
const mostNamed = 5

/** Reads recorded answers, gzipped if the name ends with `.gz`; throws SvcError `answers-file` that says what is wrong where, and shows no answer. */
export async function readAnswers(path: string): Promise<RecordedAnswers> {
  try {
    const { size } = await stat(path)
    if (size > maxFileBytes) throw new RangeError(`it is longer than ${maxFileBytes} bytes`)
    const bytes = await readFile(path)
    const text = path.endsWith('.gz') ? gunzipSync(bytes, { maxOutputLength: maxFileBytes }) : bytes
    return RecordedAnswers.parse(JSON.parse(text.toString('utf8')))
  } catch (error) {
    throw new SvcError('answers-file', `${path}: ${reasonOf(error)}`, {
      hint: 'It is a JSON object {SET: [{"q": PROMPT, "runs": {"0": ANSWER, ...}, "weak": {MODEL: ANSWER, ...}}]}; npm run bench:comparators -- --record FILE makes one.',
    })
  }
}

function reasonOf(error: unknown): string {
  // Answers may be private: an error names the field, never its text.
  if (error instanceof z.ZodError) {
    const named = error.issues.slice(0, mostNamed)
    const rest = error.issues.length - named.length
    const said = named.map(({ path, code, message }) => {
      return `${path.join('.') || 'the file'}: ${code === 'custom' ? message : code}`
    })
    return said.join('; ') + (rest > 0 ? `; and ${rest} more` : '')
  }
  if (error instanceof SyntaxError) return 'it is no JSON'
  return error instanceof Error ? error.message : String(error)
}
