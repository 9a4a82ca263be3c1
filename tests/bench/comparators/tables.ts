import { table } from '../table.ts'
import type { BoundedRate, RuleRates } from './agreement-rates.ts'
import type { Doubt } from './doubt.ts'
import type { Groups } from './groups.ts'
import { ringShares } from './play-job.ts'
import type { Rate } from './rates.ts'

/** All figures of one set. */
export type SetFigures = {
  readonly set: string
  readonly questions: number
  /** Questions with fewer recorded runs than the seven answers that a job can have. */
  readonly incomplete: number
  /** Questions with two recorded runs or more. */
  readonly paired: number
  /** The first two runs of these. */
  readonly pair: Rate
  readonly noMatch: Rate
  /** Honest jobs accepted, by rule, on questions with seven runs: by all of them, and with all but `left` copied. */
  readonly hidden: readonly {
    readonly left: number
    readonly of: number
    readonly known: readonly number[]
    readonly copied: readonly number[]
  }[]
  readonly rules: readonly RuleRates[]
  /** By `three`; undefined without answers of weaker models. */
  readonly doubts: readonly Doubt[] | undefined
  readonly groups: Groups
}

/** What a rule of agreement should reach: shares, and inferences a job. */
const target = { honest: 0.97, weak: 0.01, inferences: 4 } as const

/** The figures of a set as text. */
export function textOf(figures: SetFigures): string {
  const { set, questions, incomplete, paired, pair, noMatch, rules } = figures
  const models = rules[0]?.weak.map(({ model }) => model) ?? []
  const columns = [
    '',
    'honest accepted',
    'inferences',
    ...ringShares.map((share) => `lie, ring of ${100 * share} %`),
  ]
  const rows = rules.map(({ rule, honest, inferences, lies }) => [
    rule,
    bounded(honest),
    `${inferences.rate.toFixed(2)} [${inferences.low.toFixed(2)}-${inferences.high.toFixed(2)}]`,
    ...lies.map((rate) => percent(rate, rate.rate < 0.001 ? 3 : 2)),
  ])
  const weak = rules.map(({ rule, weak: found }) => [
    rule,
    ...found.map(({ taken }) => bounded(taken)),
  ])
  return [
    `${set}: ${questions} questions, ${incomplete} of them with fewer than 7 recorded runs`,
    `${paired} with two or more: the first two match in ${percent(pair)}; any two are no-match in ${percent(noMatch, 2)}`,
    '',
    table([columns, ...rows]),
    models.length === 0
      ? 'answers of weaker models: not recorded\n'
      : `a weaker model in one seat of the quorum, its answer accepted\n${table([['', ...models], ...weak])}`,
    doubtText(figures),
    groupsText(figures),
    hiddenText(figures),
    ...rules.map(missesOf),
    '',
  ].join('\n')
}

function doubtText({ doubts }: SetFigures): string {
  if (doubts === undefined) return 'doubt: no answers of weaker models to fit it by\n'
  const rows = doubts.map(({ outcome, honest, weaker, millinats }) => [
    outcome,
    (100 * honest).toFixed(2),
    (100 * weaker).toFixed(2),
    String(millinats),
  ])
  return `doubt: what becomes of an answer in a quorum of honest ones, by three\n${table([
    ['', 'honest, %', 'weaker, %', 'doubt of one weaker in four, 1/1000 nat'],
    ...rows,
  ])}`
}

function groupsText({ groups: { sizes, weaker } }: SetFigures): string {
  const said = Object.entries(sizes).map(([name, share]) => `${name} ${(100 * share).toFixed(1)} %`)
  const of = (share: number) => `${(100 * share).toFixed(1)} %`
  const others = weaker
    ? `; of a weaker model's answers ${of(weaker.joins)} match all of the largest, ${of(weaker.contradicts)} contradict all, ${of(weaker.differs)} neither`
    : ''
  return `groups of seven answers that match one another: ${said.join(', ')}${others}\n`
}

function hiddenText({ hidden, rules }: SetFigures): string {
  const [first] = hidden
  if (first === undefined || first.of === 0)
    return 'copying: no question has seven runs to check it by\n'
  const shares = (values: readonly number[]) => values.map((value) => (100 * value).toFixed(1))
  const rows = hidden.map(({ left, copied }) => [`copied from ${left}`, ...shares(copied)])
  return `copying: the ${first.of} questions with seven runs, honest accepted by all runs and by copies\n${table(
    [['', ...rules.map(({ rule }) => rule)], ['all recorded', ...shares(first.known)], ...rows],
  )}`
}

/** Where a rule misses the target, and by how much. */
function missesOf({ rule, honest, inferences, weak }: RuleRates): string {
  const worst = Math.max(0, ...weak.map(({ taken }) => taken.rate.rate))
  const misses = [
    [target.honest - honest.rate.rate, 'honest', 'points too few'],
    [worst - target.weak, 'weaker', 'points too many'],
  ] as const
  const said = misses
    .filter(([by]) => by > 0)
    .map(([by, what, how]) => `${what} ${(100 * by).toFixed(1)} ${how}`)
  const extra = inferences.rate - target.inferences
  if (extra > 0) said.push(`${extra.toFixed(2)} inferences too many`)
  const doubts = [
    ...(honest.bounds[0] < target.honest && said.length === 0 ? ['by copies'] : []),
    ...(weak.length === 0 ? ['weaker: not recorded'] : []),
  ]
  const doubt = doubts.length === 0 ? '' : ` (${doubts.join('; ')})`
  return `${rule}: ${said.length === 0 ? 'reaches the target' : said.join(', ')}${doubt}`
}

const percent = ({ rate, low, high, of }: Rate, digits = 1): string =>
  of === 0
    ? '-'
    : `${(100 * rate).toFixed(digits)} [${(100 * low).toFixed(digits)}-${(100 * high).toFixed(digits)}]`

const bounded = ({ rate, bounds: [low, high] }: BoundedRate): string =>
  `${percent(rate)} (${(100 * low).toFixed(0)}-${(100 * high).toFixed(0)})`
