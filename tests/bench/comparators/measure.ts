import { createHash } from 'node:crypto'
import type { Comparator, Comparison } from '../../../lib/comparators/comparator.ts'
import type { Evidence } from '../../../lib/schemas/evidence.ts'
import type { Triple } from './pairs-file.ts'

/** Half of the questions: thresholds are chosen on the one and reported on the other. */
export const halves = ['held-out', 'chosen'] as const

/** Classes of answers by their tokens. */
export const lengthClasses = ['<= 12', '13-60', '61-200', '> 200'] as const

/** One leader against two verifiers under one key. */
export type Measured = {
  readonly comparator: string
  readonly kind: Triple['kind']
  /** The set and the model. */
  readonly name: string
  readonly question: string
  readonly half: (typeof halves)[number]
  /** The leader against each verifier, with the length of the verifier's answer. */
  readonly pairs: readonly {
    readonly outcome: Comparison
    readonly length: (typeof lengthClasses)[number]
  }[]
  /** How the two verifiers compare. */
  readonly verifiers: Comparison
}

/**
 * Every comparison of recorded answers. A sketch estimates, and how well hangs on the key: each question is measured under `jobs`
 * keys. `onProgress` is told the share that is done.
 */
export async function measure(
  triples: readonly Triple[],
  comparators: readonly Comparator[],
  jobs: number,
  onProgress: (share: number) => void = () => {},
): Promise<Measured[]> {
  const found: Measured[] = []
  for (const [index, triple] of triples.entries()) {
    for (const comparator of comparators) {
      for (let job = 0; job < jobs; job++) found.push(await compare(triple, comparator, job))
    }
    onProgress((index + 1) / triples.length)
  }
  return found
}

async function compare(triple: Triple, comparator: Comparator, job: number): Promise<Measured> {
  const question = `${triple.name}\n${triple.q}`
  const key = Uint8Array.from(sha256(`key ${job} ${question}`))
  const evidenceOf = (text: string) => comparator.evidenceOf({ text, prompt: triple.p, key })
  const [leader, v1, v2] = await Promise.all([
    evidenceOf(triple.l),
    evidenceOf(triple.v1),
    evidenceOf(triple.v2),
  ])
  return {
    comparator: comparator.id,
    kind: triple.kind,
    name: triple.name,
    question,
    // The same question is in the same half for ever.
    half: (sha256(triple.q)[0] ?? 0) % 2 === 0 ? 'chosen' : 'held-out',
    pairs: [v1, v2].map((verifier) => ({
      outcome: comparator.compare(leader, verifier),
      length: lengthOf(verifier),
    })),
    verifiers: comparator.compare(v1, v2),
  }
}

const sha256 = (text: string) => createHash('sha256').update(text).digest()

function lengthOf({ tokens }: Evidence): (typeof lengthClasses)[number] {
  if (tokens <= 12) return '<= 12'
  if (tokens <= 60) return '13-60'
  return tokens <= 200 ? '61-200' : '> 200'
}
