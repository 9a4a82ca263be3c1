import { createDice, type Dice } from '../../simulation/dice.ts'
import type { MeasuredQuestion } from './measure.ts'
import {
  lieChances,
  type MatchGraph,
  type MeasuredRule,
  type Played,
  pairBit,
  playJob,
  ringShares,
  seats,
} from './play-job.ts'
import { type Cluster, type Rate, rateOf } from './rates.ts'
import {
  differingMatch,
  graphOf,
  type Seating,
  seat,
  type Treatment,
  withWeakFirstSeat,
} from './unrecorded.ts'

/** A share, where runs that were not recorded count as copies, and its bounds, where all of them match or none does. */
export type BoundedRate = { readonly rate: Rate; readonly bounds: readonly [number, number] }

/** What one rule makes of the answers of one set. */
export type RuleRates = {
  readonly rule: string
  /** Jobs of honest nodes that are accepted. */
  readonly honest: BoundedRate
  readonly inferences: Rate
  /** For each of `ringShares`. */
  readonly lies: readonly Rate[]
  /** Jobs in which the answer of another model, in one seat of the quorum, is accepted. */
  readonly weak: readonly { readonly model: string; readonly taken: BoundedRate }[]
}

const treatments = ['copying', 'match', 'no match'] as const satisfies readonly Treatment[]
const seatingsPerKey = 8
// Chances are counted out for each seating, not drawn.
const seatingsForLies = 2

/** Plays jobs over the runs of each question, in random orders from a fixed seed, by each rule. */
export function ratesOf(
  questions: readonly MeasuredQuestion[],
  rules: readonly MeasuredRule[],
): RuleRates[] {
  const differing = differingMatch(questions)
  const jobs = questions.map((question, index) =>
    jobsOf(question, differing, createDice(1).fork(`question ${index}`)),
  )
  return rules.map((rule) => ratesBy(rule, jobs))
}

/** The graphs of one job, by how unrecorded runs are counted. */
type Job = {
  readonly honest: Readonly<Record<Treatment, MatchGraph>>
  readonly weak: ReadonlyMap<string, Readonly<Record<Treatment, MatchGraph>>>
  readonly countsLies: boolean
}

function jobsOf(question: MeasuredQuestion, differing: number, dice: Dice): readonly Job[] {
  return question.keys.flatMap(({ weak }, key) =>
    Array.from({ length: seatingsPerKey }, (_, number) => {
      const seating: Seating = seat(question, dice)
      const honest = byTreatment((one) => graphOf(question, key, seating, one, differing, dice))
      const others = Array.from(weak, ([model, matches]) => {
        const graphs = byTreatment((one) => withWeakFirstSeat(honest[one], matches, seating, one))
        return [model, graphs] as const
      })
      return { honest, weak: new Map(others), countsLies: number < seatingsForLies }
    }),
  )
}

const byTreatment = <Value>(make: (treatment: Treatment) => Value) =>
  Object.fromEntries(treatments.map((one) => [one, make(one)])) as Record<Treatment, Value>

function ratesBy(rule: MeasuredRule, jobs: readonly (readonly Job[])[]): RuleRates {
  // Graphs differ in seats that this rule never fills.
  const seen = pairBit(rule.quota.maxAnswers - 2, rule.quota.maxAnswers - 1) * 2 - 1
  const play = remembered((graph: MatchGraph): Played => playJob(graph, rule))
  const lie = remembered((graph: MatchGraph) => lieChances(graph, rule))
  const played = (graph: MatchGraph) => play(graph & seen)
  const bounded = (count: (job: Job, treatment: Treatment) => boolean | undefined): BoundedRate => {
    const clusters = byTreatment((one) =>
      clustersOf(jobs, (job) => {
        const counted = count(job, one)
        return counted === undefined ? undefined : Number(counted)
      }),
    )
    return {
      rate: rateOf(clusters.copying),
      bounds: [shareOf(clusters['no match']), shareOf(clusters.match)],
    }
  }
  const models = new Set(jobs.flat().flatMap(({ weak }) => [...weak.keys()]))
  return {
    rule: rule.name,
    honest: bounded(({ honest }, one) => played(honest[one]).accepted.length > 0),
    inferences: rateOf(clustersOf(jobs, ({ honest }) => played(honest.copying).inferences)),
    lies: ringShares.map((_, at) =>
      rateOf(
        clustersOf(jobs, ({ honest, countsLies }) =>
          countsLies ? lie(honest.copying & seen)[at] : undefined,
        ),
      ),
    ),
    weak: Array.from(models, (model) => ({
      model,
      taken: bounded(({ weak }, one) => {
        const graphs = weak.get(model)
        return graphs && played(graphs[one]).accepted.includes(0)
      }),
    })),
  }
}

function clustersOf(
  jobs: readonly (readonly Job[])[],
  count: (job: Job) => number | undefined,
): readonly Cluster[] {
  return jobs.flatMap((ofQuestion) => {
    const counts = ofQuestion.map(count).filter((one) => one !== undefined)
    const hits = counts.reduce((sum, one) => sum + one, 0)
    return counts.length === 0 ? [] : [{ hits, of: counts.length }]
  })
}

const shareOf = (clusters: readonly Cluster[]): number =>
  clusters.reduce((sum, { hits }) => sum + hits, 0) / clusters.reduce((sum, { of }) => sum + of, 0)

function remembered<Value>(make: (graph: MatchGraph) => Value): (graph: MatchGraph) => Value {
  const known = new Map<MatchGraph, Value>()
  return (graph) => {
    const found = known.get(graph) ?? make(graph)
    known.set(graph, found)
    return found
  }
}

/** How often two runs of the model are no match, beyond not being a match: each question counts its recorded pairs. */
export const noMatchRate = (questions: readonly MeasuredQuestion[]): Rate =>
  rateOf(
    questions.flatMap(({ keys }) => {
      const pairs = keys.flatMap(({ noMatch }) => noMatch.flatMap((row, one) => row.slice(0, one)))
      const hits = pairs.filter((isNoMatch) => isNoMatch).length
      return pairs.length === 0 ? [] : [{ hits, of: pairs.length }]
    }),
  )

/**
 * How good copying is, where it can be told: of the questions with a run for every seat, the share of honest jobs that is accepted, and the same
 * with all runs but `left` hidden and copied.
 */
export function hiddenRuns(
  questions: readonly MeasuredQuestion[],
  rules: readonly MeasuredRule[],
  left: number,
): { readonly of: number; readonly known: readonly number[]; readonly copied: readonly number[] } {
  const complete = questions.filter(({ texts }) => texts.length >= seats)
  const hidden = complete.map(({ keys, texts }) => ({
    texts: texts.slice(0, left),
    keys: keys.map((key) => ({
      ...key,
      runs: key.runs.slice(0, left),
      weak: new Map(),
      weakNoMatch: new Map(),
    })),
  }))
  const differing = differingMatch(complete)
  const accepted = (from: readonly MeasuredQuestion[]) => {
    const jobs = from.map((question, index) =>
      jobsOf(question, differing, createDice(1).fork(`question ${index}`)),
    )
    return rules.map((rule) =>
      shareOf(
        clustersOf(jobs, ({ honest }) => Number(playJob(honest.copying, rule).accepted.length > 0)),
      ),
    )
  }
  return { of: complete.length, known: accepted(complete), copied: accepted(hidden) }
}

/** How often one given run matches another, by recorded pairs alone: the share of questions' first two runs. */
export const pairRate = (questions: readonly MeasuredQuestion[]): Rate =>
  rateOf(
    questions.flatMap(({ keys, texts }) => {
      const hits = keys.filter(({ runs }) => runs[0]?.[1] === true).length
      return texts.length < 2 ? [] : [{ hits, of: keys.length }]
    }),
  )
