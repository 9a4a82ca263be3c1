import { likenessOf } from '../../../lib/comparators/similar/similarities.ts'
import { sketchBytesOf } from '../../../lib/comparators/similar/sketch-form.ts'
import type { Wording } from '../../../lib/comparators/similar/thresholds.ts'
import { verdictOf } from '../../../lib/comparators/similar/verdict.ts'
import { lengthRatioOf } from '../../../lib/comparators/similar.ts'
import { table } from '../table.ts'
import { percent } from './grid.ts'
import { groupBy } from './group-by.ts'
import type { RealComparison } from './measure-real.ts'
import { lengthClasses, lengthClassOf, rateOfClusters } from './outcomes.ts'
import { type Half, honestCase, weakerCase } from './real-cases.ts'

/** Share of a weaker model's answers that may match on the half that thresholds are chosen on. */
const mostWeakerMatches = 0.007

// Less than the same thresholds vary by from key to key.
const aboutEqual = 0.003

type Pair = {
  readonly question: string
  readonly half: Half
  readonly honest: boolean
  readonly lengthClass: string
  readonly matches: (wording: Wording) => boolean
}

/** Thresholds chosen on either half, and how often they match on the other. */
export type ChosenWording = {
  readonly on: Half
  readonly wording: Wording | undefined
}

const candidates = drawnUp()
const [strictest, laxest] = [Math.max, Math.min].map(extreme)

/** For each half the thresholds with the most honest matches that keep weaker ones rare there; the strictest of those about as good. */
export function chooseWording(comparisons: readonly RealComparison[]): {
  readonly chosen: readonly ChosenWording[]
  readonly text: string
} {
  const pairs = pairsOf(comparisons)
  const chosen = (['chosen', 'held-out'] as const).map((on) => ({
    on,
    wording: bestOn(pairs.filter(({ half }) => half === on)),
  }))
  return { chosen, text: textOf(chosen, pairs) }
}

function pairsOf(comparisons: readonly RealComparison[]): Pair[] {
  return comparisons
    .filter(({ case: name }) => name === honestCase || name === weakerCase)
    .flatMap(({ question, half, honest, pairs }) =>
      pairs.map(({ leader, verifier, outcome }) => {
        const [a, b] = [sketchBytesOf(leader.sketch), sketchBytesOf(verifier.sketch)]
        const ratio = lengthRatioOf(leader, verifier)
        const isEqual = leader.digest === verifier.digest
        const likeness = a && b && !isEqual ? likenessOf(a, b) : undefined
        const matches = (wording: Wording | undefined): boolean =>
          likeness === undefined
            ? outcome === 'match'
            : verdictOf(likeness, ratio, undefined, wording).outcome === 'match'
        // Most pairs come out the same whatever the thresholds are.
        const whatever = matches(strictest)
        const isSettled = whatever === matches(laxest)
        return {
          question,
          half,
          honest,
          lengthClass: lengthClassOf(verifier),
          matches: isSettled ? () => whatever : matches,
        }
      }),
    )
}

function bestOn(pairs: readonly Pair[]): Wording | undefined {
  const share = (honest: boolean, wording: Wording) => {
    const asked = pairs.filter((pair) => pair.honest === honest)
    return asked.filter(({ matches }) => matches(wording)).length / Math.max(asked.length, 1)
  }
  const allowed = candidates
    .filter((wording) => share(false, wording) <= mostWeakerMatches)
    .map((wording) => ({ wording, honest: share(true, wording) }))
  const most = Math.max(...allowed.map(({ honest }) => honest))
  return allowed.find(({ honest }) => honest >= most - aboutEqual)?.wording
}

function textOf(chosen: readonly ChosenWording[], pairs: readonly Pair[]): string {
  const judged = pairs.map((pair) => {
    const wording = chosen.find(({ on }) => on !== pair.half)?.wording
    return { ...pair, isMatch: wording !== undefined && pair.matches(wording) }
  })
  const rate = (honest: boolean, lengthClass?: string) =>
    percent(
      rateOfClusters(
        [
          ...groupBy(
            judged.filter(
              (pair) =>
                pair.honest === honest &&
                (lengthClass === undefined || pair.lengthClass === lengthClass),
            ),
            ({ question }) => question,
          ).values(),
        ].map((asked) => ({
          hits: asked.filter(({ isMatch }) => isMatch).length,
          of: asked.length,
        })),
      ),
    )
  const columns = [...lengthClasses, undefined]
  return [
    `Thresholds of the wording with the most honest matches and at most ${(100 * mostWeakerMatches).toFixed(1)} % of the weaker model's:`,
    ...chosen.map(({ on, wording }) => `  on the half "${on}": ${JSON.stringify(wording)}`),
    'Each half judged at the thresholds of the other: match, %',
    table([
      ['', ...columns.map((name) => (name === undefined ? 'all' : `${name} tokens`))],
      ['honest', ...columns.map((name) => rate(true, name))],
      ['weaker model', ...columns.map((name) => rate(false, name))],
    ]),
  ].join('\n')
}

/** The thresholds that are tried, the strictest first: on the whole, not each by each. */
function drawnUp(): Wording[] {
  const found: Wording[] = []
  for (const accepted of [350, 325, 300, 275]) {
    for (const acceptedMore of [50, 0]) {
      for (const supported of [225, 200, 175, 150, 125]) {
        for (const supportedMore of [50, 25, 0]) {
          for (let supportedSum = 800; supportedSum >= 640; supportedSum -= 20) {
            const [brief, briefly] = [accepted + acceptedMore, supported + supportedMore]
            if (briefly >= brief) continue
            found.push({
              accepted: { brief, medium: accepted, long: accepted },
              supported: { brief: briefly, medium: supported, long: supported },
              supportedSum,
            })
          }
        }
      }
    }
  }
  return found.toSorted((a, b) => strictnessOf(b) - strictnessOf(a))
}

/** Thresholds at least as strict, or at least as lax, as every candidate in each of their parts. */
function extreme(most: (...values: number[]) => number): Wording {
  const part = (of: (wording: Wording) => number) => most(...candidates.map(of))
  const each = (name: 'accepted' | 'supported') => ({
    brief: part((one) => one[name].brief),
    medium: part((one) => one[name].medium),
    long: part((one) => one[name].long),
  })
  return {
    accepted: each('accepted'),
    supported: each('supported'),
    supportedSum: part((one) => one.supportedSum),
  }
}

function strictnessOf({ accepted, supported, supportedSum }: Wording): number {
  const parts = [...Object.values(accepted), ...Object.values(supported)]
  return parts.reduce((sum, part) => sum + part, supportedSum)
}
