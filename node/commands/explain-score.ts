import type { z } from 'zod'
import { type Api, createApi } from '../../lib/api.ts'
import type { Address } from '../../lib/codecs.ts'
import { countedText, eventOf } from '../../lib/counted-events.ts'
import { exitCodes } from '../../lib/host/exit-code.ts'
import {
  afterEvent,
  countedAfter,
  emptyFold,
  inOrder,
  newcomer,
  type ReputationEvent,
  type Standing,
  weightOf,
} from '../../lib/reputation.ts'
import type { NodeRecord, ReputationStatement } from '../../lib/schemas/nodes.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { shareText, weightMovesText } from '../../lib/weight-moves.ts'
import { timeText } from './amounts.ts'
import type { CommandContext } from './context.ts'
import { explainJobs } from './explain-jobs.ts'
import { readSignedEvents } from './signed-events.ts'

const maxPages = 1_000
const maxLooks = 3
const lookAgainMs = 1_000

/** What a node's events add up to, beside the record that the ICL shows. */
type Account = Awaited<ReturnType<typeof lookOnce>>

/**
 * Recomputes a node's record from its signed events, prints the change of each, and compares the result with the ICL's record. Then
 * describes the latest jobs. Exit code 1 when the two differ, or the ICL has not signed an event.
 */
export async function explainScore(
  address: Address,
  iclEndpoint: string,
  { json = false }: { readonly json?: boolean },
  context: CommandContext,
): Promise<number> {
  const api = createApi({ ...context, baseUrl: new URL(iclEndpoint).origin })
  const look = () => lookOnce(api, address, context.clock.now())
  let account = await look()
  // A new event may have come between the two requests.
  for (let looks = 1; looks < maxLooks && account.faults.length > 0; looks++) {
    await context.clock.sleep(lookAgainMs)
    account = await look()
  }
  const ids = account.steps.map(({ event }) => event.jobId)
  const jobs = await explainJobs(api, address, ids)
  if (json) context.print(JSON.stringify({ ...jsonOf(address, account), jobs }))
  else {
    printAccount(account, context.print)
    if (jobs.length > 0) context.print('The latest jobs:')
    for (const line of jobs) context.print(line)
  }
  return account.faults.length === 0 ? exitCodes.done : exitCodes.operatorMustAct
}

async function lookOnce(
  api: Pick<Api, 'getJwks' | 'getNodeEvents' | 'getNode'>,
  address: Address,
  now: number,
) {
  const { events, unsigned, isComplete } = await readSignedEvents(api, address, maxPages)
  const record = await api.getNode({ params: { address } }, { attempts: 5 })
  const steps = stepsOf(inOrder(events.map(knownEventOf)))
  const standing = steps.at(-1)?.after ?? newcomer
  const rows = rowsOf(standing, record)
  const faults = [
    ...(unsigned > 0 ? [`${unsigned} events are not signed by a key that the ICL publishes`] : []),
    ...(isComplete ? [] : [`there are more than ${maxPages} pages of events`]),
    ...rows.flatMap(({ name, computed, told }) =>
      computed === told ? [] : [`${name}: the events make ${computed}, the ICL says ${told}`],
    ),
  ]
  const share = record.active && record.draw && shareText(record.draw)
  return { steps, standing, rows, faults, share, moves: weightMovesText(events, now) }
}

function knownEventOf(body: ReputationStatement): ReputationEvent {
  const event = eventOf(body)
  if (event) return event
  throw new SvcError(
    'reputation-code-unknown',
    `this version does not know the event ${body.code}`,
    {
      hint: 'Update svc-node: the ICL is newer.',
    },
  )
}

function stepsOf(events: readonly ReputationEvent[]) {
  let fold = emptyFold
  return events.map((event) => {
    const before = fold
    fold = afterEvent(before, event)
    const counted = countedAfter(before, event)
    return { event, counted, before: before.standing, after: fold.standing }
  })
}

function rowsOf(standing: Standing, { metrics, draw }: z.output<typeof NodeRecord>) {
  const row = (name: string, computed: number, told: number) => ({ name, computed, told })
  return [
    row('tasks_completed', standing.completed, metrics.tasks_completed),
    row('tasks_accepted', standing.accepted, metrics.tasks_accepted),
    row('tasks_rejected', standing.rejected, metrics.tasks_rejected),
    row('reputation_score', standing.score, metrics.reputation_score),
    row('total_slash_amount', standing.slashedGwei, metrics.total_slash_amount),
    ...(draw
      ? [
          row('doubt_millinats', standing.doubtMillinats, draw.doubt_millinats),
          row('weight', weightOf(standing), draw.weight),
        ]
      : []),
  ]
}

const withSign = (change: number): string => (change < 0 ? String(change) : `+${change}`)

function printAccount(
  { steps, rows, faults, share, moves }: Account,
  print: (line: string) => void,
): void {
  print(`A node begins with a score of ${newcomer.score} and no doubt.`)
  for (const { event, counted, before, after } of steps) {
    const score = `${withSign(after.score - before.score)} = ${after.score}`
    const doubt = `${withSign(after.doubtMillinats - before.doubtMillinats)} = ${after.doubtMillinats}`
    const bound = countedText(counted)
    const weight = `${withSign(weightOf(after) - weightOf(before))} = ${weightOf(after)}`
    const amount = event.amountGwei === undefined ? '' : `, ${event.amountGwei} gwei slashed`
    print(
      `${timeText(event.at / 1000)}  ${event.jobId}  ${event.code.padEnd(19)}  score ${score}, doubt ${doubt}, weight ${weight}${amount}${bound && `, ${bound}`}`,
    )
  }
  for (const { name, computed, told } of rows) {
    print(
      `${`${name}:`.padEnd(20)}${computed}${computed === told ? '' : ` (the ICL says ${told})`}`,
    )
  }
  if (share) print(`${'share of draws:'.padEnd(20)}${share}`)
  print(`${'weight moved:'.padEnd(20)}${moves}`)
  for (const fault of faults) print(`! ${fault}`)
  print(
    faults.length === 0
      ? `The ${steps.length} signed events make exactly the record that the ICL shows.`
      : 'The record cannot be shown to follow from the signed events.',
  )
}

const jsonOf = (address: Address, { steps, rows, faults, share, moves }: Account) => ({
  address,
  ...(share && { share }),
  moved: moves,
  holds: faults.length === 0,
  faults,
  record: Object.fromEntries(rows.map(({ name, computed, told }) => [name, { computed, told }])),
  events: steps.map(({ event: { id, jobId, code, at, amountGwei, client }, ...step }) => ({
    id,
    jobId,
    code,
    at: at / 1000,
    ...(amountGwei !== undefined && { amount_gwei: amountGwei }),
    ...(client !== undefined && { client }),
    counted: step.counted,
    score_change: step.after.score - step.before.score,
    score: step.after.score,
    doubt_change: step.after.doubtMillinats - step.before.doubtMillinats,
    doubt_millinats: step.after.doubtMillinats,
    weight: weightOf(step.after),
  })),
})
