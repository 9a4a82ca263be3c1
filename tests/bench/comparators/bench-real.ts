import type { Comparator } from '../../../lib/comparators/comparator.ts'
import { shippedWording } from '../../../lib/comparators/similar/thresholds.ts'
import { chooseWording } from './choose-wording.ts'
import { embedStandIn } from './embedding-stand-in.ts'
import type { Findings } from './findings.ts'
import { gridOfReal, tablesOf } from './grid.ts'
import { measureReal, type RealComparison } from './measure-real.ts'
import { readTriples } from './pairs-file.ts'
import { plotRates } from './plot-rates.ts'
import { progressBar } from './progress.ts'
import { honestCase, realCases, weakerCase } from './real-cases.ts'
import { fileNameOf, titleOf } from './titles.ts'
import { plotTradeOff, tradeOffs } from './trade-off.ts'
import { togetherRates, togetherTable } from './two-verifiers.ts'

// The channel whose threshold is the one that decides most.
const tradeOffChannel = 'trigrams'
const usedThresholds = [shippedWording.accepted.long, shippedWording.supported.long]
const halves = ['held-out', 'chosen'] as const
const halfTitles = {
  'held-out': 'held-out half of the questions',
  chosen: 'half that thresholds were chosen on',
} as const

/** Measures recorded answers. */
export async function benchReal(
  path: string,
  jobs: number,
  comparators: readonly Comparator[],
): Promise<Findings> {
  const triples = await readTriples(path)
  const cases = realCases(triples)
  const found = await measureReal({
    comparators,
    cases,
    embed: embedStandIn,
    jobs,
    onProgress: progressBar('recorded answers'),
  })
  const parts = comparators.map(({ id }) =>
    findingsOf(
      id,
      found.filter(({ comparator }) => comparator === id),
    ),
  )
  return {
    text: [
      `Recorded answers: ${triples.length} triples; keys for each question: ${jobs}; lengths are those of the verifier's answer; 95 % intervals (bootstrap over questions).`,
      ...parts.map(({ text }) => text),
    ].join('\n\n'),
    json: { real: Object.fromEntries(parts.map((part, at) => [comparators[at]?.id, part.json])) },
    plots: parts.flatMap(({ plots }) => plots),
  }
}

function findingsOf(id: string, found: readonly RealComparison[]): Findings {
  const recorded = found.filter(({ case: name }) => name === honestCase || name === weakerCase)
  const measured = halves.map((half) => {
    const title = `${titleOf(id)}, ${halfTitles[half]}`
    return {
      half,
      cases: gridOfReal(title, found, half, (one) => one.case),
      sets: gridOfReal(`${title}, by set`, recorded, half, (one) => `${one.case}, ${one.name}`),
      together: togetherRates(recorded.filter((one) => one.half === half)),
    }
  })
  const channel = id === 'exact' ? undefined : tradeOffs(recorded, tradeOffChannel)
  const wording = id === 'similar/1' ? chooseWording(recorded) : undefined
  const name = fileNameOf(id)
  return {
    text: [
      ...measured.flatMap(({ cases, sets, together }) => [
        tablesOf(cases),
        tablesOf(sets),
        togetherTable(together),
      ]),
      ...(wording === undefined ? [] : [wording.text]),
    ].join('\n'),
    json: { halves: measured, trade_off: channel, wording: wording?.chosen },
    plots: [
      ...measured
        .filter(({ half }) => half === 'held-out')
        .map(({ cases }) => ({
          file: `comparators-real-${name}.svg`,
          svg: plotRates(cases.title, cases.columns, cases.rows),
        })),
      ...(channel === undefined
        ? []
        : [
            {
              file: `comparators-trade-off-${name}.svg`,
              svg: plotTradeOff(
                'Pairs over 12 tokens whose wording is at least so similar',
                channel,
                usedThresholds,
              ),
            },
          ]),
    ],
  }
}
