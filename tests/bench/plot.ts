import { bar, curve, image, label, rule } from './svg.ts'

const [blue, orange, green, grey] = ['#2b6cb0', '#c05621', '#2f855a', '#718096']
const gridColour = '#e2e8f0'
/** The colours of series, apart also for the colour blind. */
const seriesColours = [blue, orange, green, grey]

const shown = (value: number): string =>
  value >= 100 ? Math.round(value).toLocaleString('en') : String(Number(value.toPrecision(3)))

/** Horizontal bars with their values; `limit` is drawn as a line across them. */
export function barPlot(
  title: string,
  unit: string,
  bars: readonly { readonly name: string; readonly value: number; readonly series?: number }[],
  limit?: number,
): string {
  const [left, top, width, step] = [230, 50, 420, 24]
  const most = Math.max(...bars.map(({ value }) => value), limit ?? 0, Number.MIN_VALUE)
  const at = (value: number) => left + (value / most) * width
  const parts = [label(12, 24, `${title} (${unit})`, { bold: true })]
  for (const [index, { name, value, series = 0 }] of bars.entries()) {
    const y = top + index * step
    parts.push(
      label(left - 8, y + 13, name, { anchor: 'end' }),
      bar(
        left,
        y,
        at(value) - left,
        step - 7,
        seriesColours[series % seriesColours.length] ?? blue,
      ),
      label(at(value) + 6, y + 13, shown(value)),
    )
  }
  const bottom = top + bars.length * step
  if (limit !== undefined) {
    parts.push(rule(at(limit), top - 8, at(limit), bottom, '#1a202c'))
    parts.push(label(at(limit), top - 12, `goal ${shown(limit)}`, { anchor: 'middle' }))
  }
  return image(left + width + 90, bottom + 16, title, parts)
}

/** A line on a plot: points (x, y), y in the plot's unit. */
export type Series = {
  readonly name: string
  readonly points: readonly (readonly [number, number])[]
}

/** Lines over a logarithmic x axis, y from zero. */
export function linePlot(
  title: string,
  axes: { readonly x: string; readonly y: string },
  series: readonly Series[],
  limit?: number,
): string {
  const [left, top, width, height] = [70, 60, 520, 260]
  const points = series.flatMap((one) => one.points)
  const xs = [...new Set(points.map(([x]) => x))].toSorted((a, b) => a - b)
  const [first = 1, last = 10] = [xs.at(0), xs.at(-1)]
  const most = 1.1 * Math.max(...points.map(([, y]) => y), limit ?? 0, Number.MIN_VALUE)
  const span = Math.log(last / first) || 1
  const atX = (x: number) => left + (Math.log(x / first) / span) * width
  const atY = (y: number) => top + height - (y / most) * height
  const parts = [
    label(12, 24, title, { bold: true }),
    label(left, top - 12, axes.y),
    label(left + width, top + height + 38, axes.x, { anchor: 'end' }),
  ]
  for (const share of [0, 0.25, 0.5, 0.75, 1]) {
    const y = atY(share * most)
    parts.push(rule(left, y, left + width, y, gridColour))
    parts.push(label(left - 6, y + 4, shown(share * most), { anchor: 'end' }))
  }
  for (const x of xs) {
    parts.push(label(atX(x), top + height + 18, x.toLocaleString('en'), { anchor: 'middle' }))
  }
  for (const [index, { name, points: line }] of series.entries()) {
    const colour = seriesColours[index % seriesColours.length] ?? blue
    parts.push(
      curve(
        line.map(([x, y]) => [atX(x), atY(y)]),
        colour,
      ),
    )
    parts.push(bar(left + width + 16, top + index * 22, 12, 12, colour))
    parts.push(label(left + width + 34, top + 11 + index * 22, name))
  }
  if (limit !== undefined) {
    parts.push(rule(left, atY(limit), left + width, atY(limit), '#1a202c'))
    parts.push(label(left + 4, atY(limit) - 5, `goal ${shown(limit)}`))
  }
  return image(left + width + 230, top + height + 54, title, parts)
}
