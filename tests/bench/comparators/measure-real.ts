import { createHash } from 'node:crypto'
import type { Comparator, Comparison, Embed } from '../../../lib/comparators/comparator.ts'
import type { Evidence } from '../../../lib/schemas/evidence.ts'
import { type lengthClasses, lengthClassOf } from './outcomes.ts'
import { type Half, halfOf, questionOf, type RealCase } from './real-cases.ts'

/** One leader against two verifiers under one key. */
export type RealComparison = {
  readonly comparator: string
  readonly case: string
  readonly honest: boolean
  /** The set and the model. */
  readonly name: string
  readonly question: string
  readonly half: Half
  readonly pairs: readonly {
    readonly leader: Evidence
    readonly verifier: Evidence
    readonly outcome: Comparison
    readonly lengthClass: (typeof lengthClasses)[number]
    /** In thousandths, where the comparator has one. */
    readonly similarities: Readonly<Record<string, number>>
  }[]
  /** How the two verifiers compare. */
  readonly verifiers: Comparison
}

// Equal texts have no estimates.
const allAlike = { trigrams: 1_000 }

/** What is measured on recorded answers. */
export type RealPlan = {
  readonly comparators: readonly Comparator[]
  readonly cases: readonly RealCase[]
  readonly embed: Embed
  /** A sketch estimates, and how well hangs on the key: each question is asked in so many jobs. */
  readonly jobs: number
  /** Told after each case, with the share that is done. */
  readonly onProgress?: (share: number) => void
}

/** Every comparison of every case. */
export async function measureReal(plan: RealPlan): Promise<RealComparison[]> {
  const found: RealComparison[] = []
  const known = new Map<string, Promise<Evidence>>()
  for (const [index, measured] of plan.cases.entries()) {
    for (const comparator of plan.comparators) {
      for (let job = 0; job < plan.jobs; job++) {
        found.push(await compareCase(measured, comparator, plan.embed, job, known))
      }
    }
    plan.onProgress?.((index + 1) / plan.cases.length)
  }
  return found
}

async function compareCase(
  { case: name, honest, triple, claimed }: RealCase,
  comparator: Comparator,
  embed: Embed,
  job: number,
  known: Map<string, Promise<Evidence>>,
): Promise<RealComparison> {
  const question = questionOf(triple)
  const key = Uint8Array.from(createHash('sha256').update(`key ${job} ${question}`).digest())
  const evidenceOf = (text: string): Promise<Evidence> => {
    const of = [comparator.id, job, question, text].join('\n\n')
    const made = known.get(of) ?? comparator.evidenceOf({ text, prompt: triple.p, key, embed })
    known.set(of, made)
    return made
  }
  const leader = await evidenceOf(claimed)
  const verifiers = await Promise.all([triple.v1, triple.v2].map(evidenceOf))
  const [first = leader, second = leader] = verifiers
  return {
    comparator: comparator.id,
    case: name,
    honest,
    name: triple.name,
    question,
    half: halfOf(triple),
    pairs: verifiers.map((verifier) => {
      const { outcome, similarities = allAlike } = comparator.explain(leader, verifier)
      return { leader, verifier, outcome, similarities, lengthClass: lengthClassOf(verifier) }
    }),
    verifiers: comparator.compare(first, second),
  }
}
