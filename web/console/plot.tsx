import type { ComponentChildren } from 'preact'
import type { ConsoleMinute } from '../../lib/schemas/console.ts'
import { clockTime, count, took } from './format.ts'
import { ofNumbers, Table } from './table.tsx'

const height = 100
const barWidth = 0.72

/** Returns the next round number for the end of a scale. */
function scaleEnd(value: number): number {
  if (value <= 0) return 1
  const power = 10 ** Math.floor(Math.log10(value))
  const step = [1, 2, 5, 10].find((factor) => factor * power >= value) ?? 10
  return step * power
}

type Minutes = { readonly minutes: readonly ConsoleMinute[] }

type PlotProps = Minutes & {
  readonly title: string
  readonly headline: string
  readonly summary: string
  readonly endLabel: string
  /** What the tones mean. */
  readonly keys: readonly (readonly [tone: string, meaning: string])[]
  readonly caption: string
  /** Whether the table has a row for a minute. */
  readonly isRow: (minute: ConsoleMinute) => boolean
  readonly columns: readonly (readonly [string, (minute: ConsoleMinute) => string | number])[]
  readonly children: ComponentChildren
}

/** The frame of a plot: a summary in words, the scale, and the values as a table. */
function Plot({ title, headline, summary, endLabel, minutes, keys, ...props }: PlotProps) {
  const [first, last] = [minutes[0], minutes.at(-1)]
  return (
    <figure class="plot">
      <figcaption>
        <h3>{title}</h3>
        <p class="headline">{headline}</p>
      </figcaption>
      <div class="canvas">
        <span class="scale" aria-hidden="true">
          {endLabel}
        </span>
        <svg
          viewBox={`0 0 ${minutes.length} ${height}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={`${title}. ${summary}`}
        >
          <path class="grid" d={`M0 .5H${minutes.length}M0 50H${minutes.length}`} />
          {props.children}
          <path class="axis" d={`M0 ${height}H${minutes.length}`} />
        </svg>
      </div>
      <p class="times" aria-hidden="true">
        <span>{first && clockTime(first.at)}</span>
        <span class="keys">
          {keys.map(([tone, meaning]) => (
            <span class={`key ${tone}`} key={tone}>
              {meaning}
            </span>
          ))}
        </span>
        <span>{last && `${clockTime(last.at)} UTC`}</span>
      </p>
      <details>
        <summary>As a table</summary>
        <div class="wide short">
          <Table
            kind=""
            caption={props.caption}
            headings={['Minute (UTC)', ...props.columns.map(([name]) => ofNumbers(name))]}
          >
            {minutes.filter(props.isRow).map((minute) => (
              <tr key={minute.at}>
                <th scope="row">{clockTime(minute.at)}</th>
                {props.columns.map(([name, of]) => (
                  <td class="number" key={name}>
                    {of(minute)}
                  </td>
                ))}
              </tr>
            ))}
          </Table>
        </div>
      </details>
    </figure>
  )
}

const sum = (minutes: readonly ConsoleMinute[], of: (minute: ConsoleMinute) => number): number =>
  minutes.reduce((total, minute) => total + of(minute), 0)

/** Plots how many jobs settled in each minute. */
export function Throughput({ minutes }: Minutes) {
  const accepted = sum(minutes, (minute) => minute.accepted)
  const failed = sum(minutes, (minute) => minute.failed)
  const end = scaleEnd(Math.max(...minutes.map((minute) => minute.accepted + minute.failed), 4))
  const y = (value: number) => (value / end) * (height - 4)
  const headline = `${count(accepted)} accepted, ${count(failed)} failed`
  return (
    <Plot
      title="Settled per minute"
      headline={headline}
      summary={`In the last hour ${headline}; at most ${end} in a minute.`}
      endLabel={String(end)}
      minutes={minutes}
      keys={[
        ['good', 'accepted'],
        ['bad', 'failed'],
      ]}
      caption="Jobs that settled in each minute"
      isRow={(minute) => minute.accepted + minute.failed + minute.cancelled > 0}
      columns={[
        ['Accepted', (minute) => minute.accepted],
        ['Failed', (minute) => minute.failed],
        ['Cancelled', (minute) => minute.cancelled],
      ]}
    >
      {minutes.map((minute, index) => {
        const [good, bad] = [y(minute.accepted), y(minute.failed)]
        const x = index + (1 - barWidth) / 2
        return (
          <g key={minute.at}>
            <rect class="good" x={x} y={height - good} width={barWidth} height={good} />
            <rect class="bad" x={x} y={height - good - bad} width={barWidth} height={bad} />
          </g>
        )
      })}
    </Plot>
  )
}

/** Draws a line over the minutes with a value, with gaps where there is none. */
function lineOf(
  minutes: readonly ConsoleMinute[],
  of: (minute: ConsoleMinute) => number | undefined,
  y: (value: number) => number,
): string {
  let isDown = false
  return minutes
    .map((minute, index) => {
      const value = of(minute)
      const wasDown = isDown
      isDown = value !== undefined
      if (value === undefined) return ''
      const place = `${index + 0.5} ${y(value).toFixed(2)}`
      // A single point becomes a short line, or it would be invisible.
      return wasDown ? `L${place}` : `M${index + 0.2} ${y(value).toFixed(2)}L${place}`
    })
    .join('')
}

/** Plots how long accepted jobs took. */
export function Latency({ minutes }: Minutes) {
  const slowest = Math.max(...minutes.map((minute) => minute.p95_seconds ?? 0))
  const end = scaleEnd(Math.max(slowest, 1))
  const y = (value: number) => height - (value / end) * (height - 4)
  const medians = minutes.flatMap((minute) => minute.median_seconds ?? [])
  const typical = medians.toSorted((a, b) => a - b)[Math.floor(medians.length / 2)]
  const isNone = typical === undefined
  const headline = isNone ? 'nothing accepted' : `median about ${took(typical)}`
  const worst = isNone ? '' : `; 95 of 100 took ${took(slowest)} at most in every minute`
  return (
    <Plot
      title="Time to an accepted answer"
      headline={headline}
      summary={`In the last hour ${headline}${worst}.`}
      endLabel={took(end)}
      minutes={minutes}
      keys={[
        ['good', 'median'],
        ['busy', '95th percentile'],
      ]}
      caption="How long the jobs took that were accepted in each minute"
      isRow={(minute) => minute.median_seconds !== undefined}
      columns={[
        ['Median', (minute) => took(minute.median_seconds ?? 0)],
        ['95th percentile', (minute) => took(minute.p95_seconds ?? 0)],
      ]}
    >
      <path class="line busy" d={lineOf(minutes, (minute) => minute.p95_seconds, y)} />
      <path class="line good" d={lineOf(minutes, (minute) => minute.median_seconds, y)} />
    </Plot>
  )
}
