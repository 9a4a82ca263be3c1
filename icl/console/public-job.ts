import type { JobId } from '../../lib/codecs.ts'
import { utf8 } from '../../lib/digest.ts'
import type { ConsoleEvent, ConsoleJob, ConsoleJobDetail } from '../../lib/schemas/console.ts'
import { FaultKind } from '../../lib/schemas/fault.ts'
import {
  AssignmentReason,
  DeliveryReason,
  JobReason,
  VerdictReason,
} from '../../lib/schemas/jobs.ts'
import { attestedOf } from '../../lib/teacher.ts'
import { toSeconds } from '../../lib/time.ts'
import type { TokenKeys } from '../records/icl-keys.ts'
import { agreementOf, answersOf, currentTurn } from '../rules/agreed.ts'
import { isSettled, type Job, roleOf } from '../rules/job.ts'
import { shownJob } from '../rules/shown-job.ts'

type RefKeys = Pick<TokenKeys, 'tag'>

/** Returns the console's name of a job. Only this ICL can compute it from the job id, because the chain shows the ids of running jobs. */
export async function refOf(keys: RefKeys, id: JobId): Promise<string> {
  const tag = await keys.tag('console', utf8(id))
  return Array.from(tag.slice(0, 8), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/**
 * Returns a job as everybody may see it. Hides the id and the nodes of a running job, because a known quorum could be disturbed or
 * bribed.
 */
export async function publicJob(keys: RefKeys, found: Job): Promise<ConsoleJob> {
  const job = shownJob(found)
  const { settledAt } = job
  return {
    ref: await refOf(keys, job.id),
    status: job.phase,
    model_id: job.modelId,
    min_tier: job.minTier,
    comparator: job.comparator,
    quorum: job.list.terms.quorum,
    created_at: toSeconds(job.createdAt),
    ...(job.reason !== undefined && { reason: job.reason }),
    ...(isSettled(job.phase) && {
      answers: answersOf(job).length,
      agreed: job.agreement?.group.length ?? 0,
      jobId: job.id,
      ...(settledAt !== undefined && {
        settled_at: toSeconds(settledAt),
        seconds: (settledAt - job.createdAt) / 1000,
      }),
      ...(job.commitTx !== undefined && { commit_tx: job.commitTx }),
    }),
  }
}

/** Returns the public form of a job, with its assignments, agreement, deliveries and timeline. */
export async function publicJobDetail(keys: RefKeys, found: Job): Promise<ConsoleJobDetail> {
  const job = shownJob(found)
  const isOver = isSettled(job.phase)
  return {
    job: await publicJob(keys, job),
    assignments: publicAssignments(job, isOver),
    ...publicAgreement(job),
    deliveries: publicDeliveries(job),
    list: {
      members: job.list.members.length,
      rule: job.list.terms.rule,
      passed: countReasons(job.passed),
    },
    timeline: isOver ? timelineOf(job) : timelineOf(job).map(({ node: _, ...event }) => event),
    ...(isOver && job.receiptHash !== undefined && { receipt_hash: job.receiptHash }),
  }
}

function publicAssignments(job: Job, isOver: boolean): ConsoleJobDetail['assignments'] {
  const { verdicts = [] } = job.agreement?.turns.at(-1) ?? {}
  const delivered = currentTurn(job)?.delivery?.body.answer
  const opened = isOver ? (job.weighing?.opened ?? []).map(({ body }) => body) : []
  const told = delivered ? attestedOf(delivered, opened) : []
  const attested = new Map(told.map(({ node, ...numbers }) => [node, numbers]))
  return job.assignments.map((assignment) => {
    const { seat, batch, status, reason, node, fence } = assignment
    const said = verdicts.find(({ body }) => body.fence === fence)?.body
    const numbers = attested.get(node)
    return {
      seat,
      batch,
      role: roleOf(job, assignment),
      status,
      ...(reason !== undefined && { reason }),
      ...(isOver && { node }),
      ...(said && { verdict: said.verdict }),
      ...(said?.reason !== undefined && { verdict_reason: said.reason }),
      ...(numbers && { attested: numbers }),
    }
  })
}

function publicAgreement(job: Job): Pick<ConsoleJobDetail, 'agreement'> {
  const agreement = agreementOf(job)
  if (!agreement) return {}
  const pairs = agreement.pairs.map(({ nodes, outcome }) => ({ nodes, outcome }))
  return { agreement: { ...agreement, pairs } }
}

function publicDeliveries({ phase, agreement, assignments }: Job): ConsoleJobDetail['deliveries'] {
  const outcome = phase === 'accepted' ? 'settled' : 'unfinished'
  return (agreement?.turns ?? []).flatMap(({ fence, failed }) => {
    const node = assignments.find((assignment) => assignment.fence === fence)?.node
    if (node === undefined) return []
    return [{ node, ...(failed ? { outcome: 'failed', reason: failed.reason } : { outcome }) }]
  })
}

function countReasons(passed: Job['passed']): ConsoleJobDetail['list']['passed'] {
  const counts: ConsoleJobDetail['list']['passed'] = {}
  for (const { reason } of passed) counts[reason] = (counts[reason] ?? 0) + 1
  return counts
}

const reasons: ReadonlySet<string> = new Set([
  ...JobReason.options,
  ...AssignmentReason.options,
  ...DeliveryReason.options,
  ...VerdictReason.options,
  ...FaultKind.options,
])

const hash = /^0x[0-9a-f]{64}$/
const counted = /^\d (more|of \d answers match)$/

function timelineOf({ events, assignments }: Job): ConsoleEvent[] {
  return events.map(({ seq, at, type, phase, node, role, fence, detail }) => {
    const seat = assignments.find((assignment) => assignment.fence === fence)?.seat
    // Only reasons of the tables, counts of answers and hashes of the chain are public.
    const isMeant =
      detail !== undefined && (reasons.has(detail) || counted.test(detail) || hash.test(detail))
    return {
      seq,
      at,
      type,
      phase,
      ...(seat !== undefined && { seat }),
      ...(role !== undefined && { role }),
      ...(node !== undefined && { node }),
      ...(isMeant && { detail }),
    }
  })
}
