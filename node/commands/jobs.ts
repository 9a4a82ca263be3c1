import type { Address } from '../../lib/codecs.ts'
import { countedTexts } from '../../lib/counted-events.ts'
import { errorText } from '../../lib/host/explain-error.ts'
import { keystoreAddress, namedAddress } from '../../lib/host/keystore.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { ReputationStatement } from '../../lib/schemas/nodes.ts'
import type { Config } from '../config.ts'
import { loadConfig } from '../config-file.ts'
import { costOf, usageText } from '../inference/usage.ts'
import { historyPathOf, type JobRecord, readHistory } from '../journal/history.ts'
import { durationText, timeText } from './amounts.ts'
import { type CommandContext, warnOf } from './context.ts'
import { explainScore } from './explain-score.ts'
import { defaultJobs, type Given } from './options.ts'
import { askIcl } from './reach.ts'
import { readSignedEvents } from './signed-events.ts'

type Event = Pick<ReputationStatement, 'jobId' | 'code' | 'at'> & {
  /** What the event counted, in words, if that is not its full amount. */
  readonly counted?: string | undefined
}
type Job = JobRecord & {
  readonly events: readonly Event[]
  /** Undefined without a price or a token count. */
  readonly cost: number | undefined
}

const maxPages = 10

/**
 * Shows the node's jobs, oldest first, with the ICL's reputation events for them, or without if the ICL is away. With `explain` it
 * recomputes the node's record instead (`explainScore`).
 */
export async function showJobs(
  { limit = defaultJobs, ...flags }: Given<'jobs'>,
  context: CommandContext,
): Promise<number | undefined> {
  const warn = warnOf(context)
  const { config, configPath, keystorePath } = await loadConfig(context.environment, warn, warn)
  if (flags.explain) {
    return await explainScore(await namedAddress(keystorePath), config.icl_endpoint, flags, context)
  }
  const history = await readHistory(historyPathOf(configPath), limit, (lines) =>
    context.warn(`warning: ${lines} lines of the history cannot be read and are left out`),
  )
  const address = await keystoreAddress(keystorePath)
  const events = address && (await eventsOf(address, config.icl_endpoint, context))
  const shown = new Set(history.map(({ jobId }) => jobId))
  const jobs = history.map((job) => ({
    ...job,
    cost: job.usage && costOf(job.usage, config.prices[job.model_id]),
    events: (events ?? []).filter(({ jobId }) => jobId === job.jobId),
  }))
  const others = (events ?? []).filter(({ jobId }) => !shown.has(jobId)).slice(0, limit)
  const { print } = context
  if (flags.json) {
    print(JSON.stringify({ address, icl_asked: events !== undefined, jobs, other_events: others }))
  } else if (flags.csv) {
    for (const line of csvOf(jobs)) print(line)
  } else {
    printTable(jobs, others, config.prices, print)
  }
  return undefined
}

/** Returns the node's events that the ICL signed, newest first. Undefined when the ICL cannot be asked. */
async function eventsOf(
  address: Address,
  iclEndpoint: string,
  context: CommandContext,
): Promise<readonly Event[] | undefined> {
  try {
    const { events, unsigned, isComplete } = await askIcl(iclEndpoint, context, (api, signal) =>
      readSignedEvents(api, address, maxPages, signal),
    )
    if (unsigned > 0) {
      context.warn(`warning: ${unsigned} events are not signed by the ICL and are left out`)
    }
    const counted = countedTexts(events, isComplete)
    return events.map((event) => ({ ...event, counted: counted.get(event.id) }))
  } catch (error) {
    if (error instanceof ProblemError && error.code === 'node-not-found') return []
    context.warn(`warning: only this machine's own history: ${errorText(error)}`)
    return undefined
  }
}

const csvColumns = [
  'jobId',
  'role',
  'model_id',
  'fence',
  'started_at',
  'ended_at',
  'outcome',
  'reason',
  'deliverer',
] as const

const csvCell = (value: unknown): string => {
  const text = value === undefined ? '' : String(value)
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

const csvOf = (jobs: readonly Job[]): readonly string[] => [
  [...csvColumns, 'input_tokens', 'output_tokens', 'cost', 'events'].join(','),
  ...jobs.map(({ usage, cost, events, ...job }) =>
    [
      ...csvColumns.map((column) => job[column]),
      usage?.input_tokens,
      usage?.output_tokens,
      cost,
      events.map(({ code }) => code).join(' '),
    ]
      .map(csvCell)
      .join(','),
  ),
]

const textOf = ({ code, counted }: Event): string =>
  counted === undefined ? code : `${code} (${counted})`

function printTable(
  jobs: readonly Job[],
  others: readonly Event[],
  prices: Config['prices'],
  print: (line: string) => void,
): void {
  if (jobs.length === 0) print('No jobs yet.')
  for (const job of jobs) {
    const { jobId, role, model_id, started_at, ended_at, usage, events } = job
    const took = ended_at === undefined ? '' : ` in ${durationText(ended_at - started_at)}`
    const used = usage ? `, ${usageText(usage, prices[model_id])}` : ''
    const codes = events.length === 0 ? '' : `; ${events.map(textOf).join(', ')}`
    print(
      `${timeText(started_at)}  ${jobId.slice(0, 10)}..${jobId.slice(-4)}  ${role.padEnd(8)}  ${model_id}  ${outcomeText(job)}${took}${used}${codes}`,
    )
  }
  if (others.length > 0) print('Reputation events of other jobs:')
  for (const event of others) print(`${timeText(event.at)}  ${event.jobId}  ${textOf(event)}`)
}

/** The outcome of a job for people: with the reason, and the other node that delivered. */
const outcomeText = ({
  outcome,
  reason,
  deliverer,
}: Pick<JobRecord, 'outcome' | 'reason' | 'deliverer'>): string => {
  const why = reason === undefined ? '' : ` (${reason})`
  const by =
    deliverer === undefined || outcome === 'result-posted' ? '' : `, ${deliverer} delivered`
  return `${outcome}${why}${by}`
}
