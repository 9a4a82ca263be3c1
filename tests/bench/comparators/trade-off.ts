import type { RealComparison } from './measure-real.ts'
import { type Half, honestCase, weakerCase } from './real-cases.ts'
import { colours, curve, image, label, rule } from './svg.ts'

/** Share of the pairs at or above each threshold. */
export type TradeOff = {
  readonly case: string
  readonly half: Half
  /** By threshold, in steps of `stepThousandths` from 0. */
  readonly accepted: readonly number[]
}

/** Between two thresholds of a curve. */
const stepThousandths = 25

const steps = 1_000 / stepThousandths
const plot = { left: 60, top: 50, width: 560, height: 300 }

/** How many pairs of longer answers would reach a threshold on one channel, on either half of the questions. */
export function tradeOffs(comparisons: readonly RealComparison[], channel: string): TradeOff[] {
  return [honestCase, weakerCase].flatMap((name) =>
    (['chosen', 'held-out'] as const).map((half) => {
      const values = comparisons
        .filter((one) => one.case === name && one.half === half)
        .flatMap(({ pairs }) => pairs.filter(({ lengthClass }) => lengthClass !== '<= 12'))
        .map(({ similarities }) => similarities[channel] ?? 0)
      const accepted = Array.from(
        { length: steps + 1 },
        (_, step) =>
          values.filter((value) => value >= step * stepThousandths).length /
          Math.max(values.length, 1),
      )
      return { case: name, half, accepted }
    }),
  )
}

/** The curves of both halves; a mark with its value stands at each threshold that is used. */
export function plotTradeOff(
  title: string,
  offs: readonly TradeOff[],
  usedThousandths: readonly number[],
): string {
  const { left, top, width, height } = plot
  const x = (step: number) => left + (step / steps) * width
  const y = (share: number) => top + (1 - share) * height
  const grid = [0, 0.25, 0.5, 0.75, 1].flatMap((share) => [
    rule(left, y(share), left + width, y(share), colours.grid),
    label(left - 8, y(share) + 4, `${100 * share} %`, { anchor: 'end' }),
    label(x(share * steps), top + height + 18, String(share), { anchor: 'middle' }),
  ])
  const lines = offs.flatMap(({ case: name, half, accepted }, index) => {
    const colour = name === honestCase ? colours.honest : colours.dishonest
    const legendY = top + 16 + index * 18
    return [
      curve(
        accepted.map((share, step) => [x(step), y(share)]),
        colour,
        half === 'chosen',
      ),
      curve(
        [
          [left + width - 270, legendY - 4],
          [left + width - 240, legendY - 4],
        ],
        colour,
        half === 'chosen',
      ),
      label(
        left + width - 232,
        legendY,
        `${name}, ${half === 'chosen' ? 'half it was chosen on' : 'held-out half'}`,
      ),
    ]
  })
  const used = usedThousandths.flatMap((value) => {
    const at = x(value / stepThousandths)
    return [
      rule(at, top, at, top + height, colours.ink),
      label(at, top - 6, String(value / 1_000), { anchor: 'middle' }),
    ]
  })
  return image(left + width + 30, top + height + 50, title, [
    label(12, 22, title, { bold: true }),
    ...grid,
    ...used,
    ...lines,
    label(left + width / 2, top + height + 38, 'similarity that is asked for', {
      anchor: 'middle',
    }),
  ])
}
