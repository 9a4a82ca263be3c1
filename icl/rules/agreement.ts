import { deliverers } from '../../lib/delivery-rule.ts'
import { type Answered, answersOf } from './agreed.ts'
import { decisionOf } from './decision.ts'
import { withTurn } from './delivery.ts'
import { type Change, type Job, type JobLimits, recorded } from './job.ts'
import { seatCount } from './seats.ts'
import { settle } from './settle.ts'
import { seatable } from './unseated.ts'

/** Decides after a reveal, once no answer is outstanding: the answers agree, more seats are needed, or the job is disputed. */
export function decided(job: Job, now: number, limits: JobLimits): Change {
  const isOutstanding = answersOf(job).length < seatCount(job)
  if (isOutstanding || job.cancelledAt !== undefined) return { job, effects: [] }
  const decision = decisionOf(job, seatable(job).length)
  switch (decision.outcome) {
    case 'disputed':
      return settle(job, 'disputed', 'quorum-disagreed', now)
    case 'more': {
      const widened: Job = { ...job, batches: [...job.batches, decision.count], fillAt: now }
      const detail = `${decision.count} more`
      return { job: recorded(widened, now, 'seats-added', { detail }), effects: [] }
    }
    case 'accepted': {
      const agreed = withAgreement(job, decision.group)
      const detail = `${decision.group.length} of ${answersOf(job).length} answers match`
      return {
        job: withTurn(recorded(agreed, now, 'agreed', { detail }), now, limits),
        effects: [],
      }
    }
  }
}

function withAgreement(job: Job, group: readonly Answered[]): Job {
  const salts = answersOf(job).map(({ node, answer }) => ({
    address: node,
    salt: answer.body.salt,
  }))
  const inTurn = deliverers(
    job.id,
    salts,
    group.map(({ node }) => node),
  )
  const order = inTurn.flatMap((address) =>
    group.flatMap(({ node, fence }) => (node === address ? [fence] : [])),
  )
  return { ...job, agreement: { group: group.map(({ fence }) => fence), order, turns: [] } }
}
