import type { EffectCommand, EffectNews } from '../../../icl/rules/commands.ts'
import type { Effect } from '../../../icl/rules/effects.ts'
import type { ChainSlash, Slash } from '../../../icl/rules/fault.ts'
import type { Assignment, Job, JobLimits } from '../../../icl/rules/job.ts'
import { withReceipt } from '../../../icl/rules/outbox.ts'
import type { Receipt } from '../../../lib/schemas/receipt.ts'
import { aHash } from '../../branded.ts'
import { take } from './sample-job.ts'

const tx = aHash(`0x${'e'.repeat(64)}`)
const slash: Slash = { state: 'proposed', faultId: tx, evidenceHash: tx, amountWei: 9n }
const open = { state: 'proposed', amountWei: 9n, evidenceHash: tx } as const
const found: readonly (ChainSlash | { readonly state: 'off' })[] = [
  { state: 'off' },
  { state: 'absent' },
  { state: 'shallow' },
  { ...open, executableAt: 1 },
  { ...open, executableAt: 100, answerHash: tx },
  { state: 'executed', tx, takenWei: 8n },
  { state: 'cancelled', tx },
]
const again: EffectNews = { type: 'effect-tried', tried: { done: false, error: 'away' } }
const done: EffectNews = { type: 'effect-tried', tried: { done: true } }

const slashSeen = (at: (typeof found)[number]): EffectNews => ({
  type: 'slash-seen',
  slash: at.state === 'off' ? { ...slash, state: 'off' } : slash,
  found: at,
})

/** All that can come of a try of an effect. */
function newsOf(effect: Effect): readonly EffectNews[] {
  switch (effect.type) {
    case 'ensure-access':
    case 'score-node':
      return [again, done]
    case 'commit-result':
      return [
        again,
        { type: 'commit-seen', tx: undefined, isDeep: false },
        { type: 'commit-seen', tx, isDeep: false },
        { type: 'commit-seen', tx, isDeep: true },
      ]
    case 'slash-node':
      return [again, done, ...found.map(slashSeen)]
    case 'notify':
      return [
        again,
        ...answers.map((answer) => ({ type: 'webhook-tried', answer, jitter: 1 }) as const),
      ]
  }
}

const answers = [
  { status: 204 },
  { status: 410 },
  { error: 'timeout' },
  { error: 'webhooks-off' },
] as const

function promise(holds: boolean, what: string, command: EffectCommand, job: Job): void {
  if (holds) return
  const about = JSON.stringify([command, job], (_, value) =>
    typeof value === 'bigint' ? `${value}` : value,
  )
  throw new Error(`${what}: ${about}`)
}

const changing: ReadonlySet<string> = new Set([
  ...['outbox', 'nextEffect', 'events', 'faults', 'assignments'],
  ...['commitTx', 'commitSentTx', 'commitError', 'webhook', 'tickAt', 'fillAt'],
])

/** What a try leaves of a job: all but what is noted of effects, and each other effect. */
function checkNews(before: Job, command: EffectCommand, after: Job, limits: JobLimits): void {
  const keep = (holds: boolean, what: string) => promise(holds, what, command, after)
  for (const key of Object.keys({ ...before, ...after }) as (keyof Job)[]) {
    keep(changing.has(key) || after[key] === before[key], `${key} stays`)
  }
  keep(after.tickAt === before.tickAt && after.fillAt === before.fillAt, 'the next look stays')
  const kept = after.assignments.every((assignment, at) => {
    const was = before.assignments[at]!
    return (Object.keys(assignment) as (keyof Assignment)[]).every(
      (key) => key === 'scores' || assignment[key] === was[key],
    )
  })
  keep(kept, 'assignments get scores at most')
  const pending = before.outbox.find(({ id }) => id === command.effectId)!
  const left = after.outbox.find(({ id }) => id === command.effectId)
  keep(!left || (left.attempts === pending.attempts + 1 && left.dueAt > now), 'a try is counted')
  for (const other of before.outbox.filter((one) => one !== pending)) {
    const same = after.outbox.find(({ id }) => id === other.id)
    keep(same === other || (other.effect.type === 'notify' && same !== undefined), 'others stay')
  }
  // Another replica may have done the same.
  if (!left) keep(take(after, command, now, limits) === after, 'what is done is done once')
}

const now = 50
const madeReceipt = { receipt: {} as Receipt, receiptHash: tx }

/** What decides on what may still come of a settled job's effects. */
const keyOf = ({
  phase,
  receipt,
  commitTx,
  commitSentTx,
  commitError,
  webhook,
  faults,
  outbox,
}: Job) =>
  JSON.stringify([
    ...[phase, receipt, commitTx, commitSentTx, commitError, webhook?.state],
    faults?.map(({ slash: is, statements }) => [
      is?.state,
      is?.executableAt,
      is?.answerHash,
      !statements,
    ]),
    outbox.map(({ effect: { type } }) => type),
  ])

/** The job with one of its scores: they do not depend on one another. */
function withOneScore(job: Job): Job {
  const first = job.outbox.find(({ effect }) => effect.type === 'score-node')
  const outbox = job.outbox.filter((one) => one.effect.type !== 'score-node' || one === first)
  return { ...job, outbox }
}

const newsFor = ({ outbox }: Job): readonly EffectCommand[] =>
  outbox.flatMap(({ id, effect }) => newsOf(effect).map((news) => ({ ...news, effectId: id })))

/** Checks what news of its effects do to a running job. */
export function checkRunningNews(job: Job, limits: JobLimits): void {
  for (const command of newsFor(job))
    checkNews(job, command, take(job, command, now, limits), limits)
}

/** Walks everything that can come of the effects of settled jobs; says how they were left. */
export function createOutboxWalk(limits: JobLimits) {
  const seen = new Set<string>()
  const met = { states: 0, left: new Set<string>() }
  const walk = (settled: Job): void => {
    const queue = [withReceipt(withOneScore(settled), madeReceipt)]
    while (queue.length > 0) {
      const job = queue.pop()!
      const key = keyOf(job)
      if (seen.has(key)) continue
      seen.add(key)
      met.states++
      if (job.outbox.length === 0) met.left.add(endOf(job))
      for (const command of newsFor(job)) {
        const next = take(job, command, now, limits)
        checkNews(job, command, next, limits)
        queue.push(next)
      }
    }
  }
  return { met, walk }
}

const endOf = ({ phase, commitTx, webhook, faults }: Job): string =>
  [
    phase,
    ...(commitTx ? ['committed'] : []),
    webhook?.state,
    ...new Set(faults?.map(({ slash: is }) => is?.state ?? 'kept')),
  ].join(' ')
