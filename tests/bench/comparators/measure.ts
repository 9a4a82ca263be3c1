import { createHash } from 'node:crypto'
import type { Comparator } from '../../../lib/comparators/comparator.ts'
import type { Evidence } from '../../../lib/schemas/evidence.ts'
import type { RecordedQuestion } from './answers-file.ts'

// A job has seven answers at the most: more runs than one in reserve say nothing new of it.
const mostRuns = 8

/** How the answers to one question compare under one key. */
type Matches = {
  /** Whether each two of the model's runs match, both ways round. */
  readonly runs: readonly (readonly boolean[])[]
  /** Whether each two runs are no match, beyond not being a match. */
  readonly noMatch: readonly (readonly boolean[])[]
  /** Whether each run matches another model's answer, by that model. */
  readonly weak: ReadonlyMap<string, readonly boolean[]>
  /** Whether each run and another model's answer are no match, beyond not being a match, by that model. */
  readonly weakNoMatch: ReadonlyMap<string, readonly boolean[]>
}

/** A question as it was measured. */
export type MeasuredQuestion = {
  /** One for each key. */
  readonly keys: readonly Matches[]
  /** Which runs have equal texts, as the first run with that text. */
  readonly texts: readonly number[]
}

/**
 * Compares all answers of a set with one another. A sketch estimates, and how well hangs on the key: each question is measured under `keys` keys.
 * `onProgress` is told the share that is done.
 */
export async function measure(
  name: string,
  questions: readonly RecordedQuestion[],
  comparator: Comparator,
  keys: number,
  onProgress: (share: number) => void = () => {},
): Promise<MeasuredQuestion[]> {
  const measured: MeasuredQuestion[] = []
  for (const [index, question] of questions.entries()) {
    const runs = runsOf(question)
    const found = await Promise.all(
      Array.from({ length: keys }, (_, key) => {
        const secret = Uint8Array.from(sha256(`key ${key} ${name}\n${question.q}`))
        return compareAll(runs, question, comparator, secret)
      }),
    )
    measured.push({ keys: found, texts: runs.map((text) => runs.indexOf(text)) })
    onProgress((index + 1) / questions.length)
  }
  return measured
}

/** The first runs, in the order in which they were made. */
const runsOf = ({ runs }: RecordedQuestion): readonly string[] =>
  Object.entries(runs)
    .toSorted(([a], [b]) => Number(a) - Number(b))
    .slice(0, mostRuns)
    .map(([, text]) => text)

async function compareAll(
  runs: readonly string[],
  { q: prompt, weak }: RecordedQuestion,
  comparator: Comparator,
  key: Uint8Array<ArrayBuffer>,
): Promise<Matches> {
  const made = new Map<string, Promise<Evidence>>()
  const evidenceOf = (text: string): Promise<Evidence> => {
    const evidence = made.get(text) ?? comparator.evidenceOf({ text, prompt, key })
    made.set(text, evidence)
    return evidence
  }
  const shown = await Promise.all(runs.map(evidenceOf))
  const table = (outcome: 'match' | 'no-match') =>
    shown.map((one) => shown.map((other) => comparator.compare(one, other) === outcome))
  const others = await Promise.all(
    Object.entries(weak).map(async ([model, text]) => [model, await evidenceOf(text)] as const),
  )
  const against = (outcome: 'match' | 'no-match') =>
    new Map(
      others.map(([model, evidence]) => [
        model,
        shown.map((run) => comparator.compare(run, evidence) === outcome),
      ]),
    )
  return {
    runs: table('match'),
    noMatch: table('no-match'),
    weak: against('match'),
    weakNoMatch: against('no-match'),
  }
}

const sha256 = (text: string) => createHash('sha256').update(text).digest()
