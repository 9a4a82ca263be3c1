import { z } from 'zod'
import { advisoryExceptions } from './allowed.ts'
import { isExcepted } from './lockfile.ts'

const severities = ['info', 'low', 'moderate', 'high', 'critical'] as const
const Severity = z.enum(severities)
type Severity = z.output<typeof Severity>

const Advisory = z.object({
  source: z.union([z.string(), z.number()]),
  name: z.string(),
  title: z.string(),
  url: z.string(),
  severity: Severity,
})
const Report = z.object({
  vulnerabilities: z.record(
    z.string(),
    z.object({ via: z.array(z.union([z.string(), Advisory])) }),
  ),
})

/** From which severity on an advisory counts: sooner for what is shipped than for tools. */
export const thresholds = { shipped: 'moderate', tools: 'high' } as const satisfies Record<
  string,
  Severity
>

/** What an audit of npm says that counts; undefined when the registry could not be asked. */
export function advisoriesIn(
  output: string,
  least: Severity,
  today: string,
): readonly string[] | undefined {
  const parsed = Report.safeParse(parseJson(output))
  if (!parsed.success) return undefined
  const found = Object.values(parsed.data.vulnerabilities).flatMap(({ via }) =>
    via.filter((each) => typeof each !== 'string'),
  )
  const counting = found.filter(
    ({ severity, url }) =>
      severities.indexOf(severity) >= severities.indexOf(least) &&
      !isExcepted(advisoryExceptions, url.slice(url.lastIndexOf('/') + 1), today),
  )
  return [
    ...new Set(
      counting.map(({ name, severity, title, url }) => `${name}: ${severity}, ${title} (${url})`),
    ),
  ]
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
