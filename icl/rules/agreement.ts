import { deliverers } from '../../lib/delivery-rule.ts'
import { type Answered, answersOf, decisionOf } from './agreed.ts'
import { withTurn } from './delivery.ts'
import { type Change, changeTo, type Job, type Moment, recorded } from './job.ts'
import { seatable, seatCount } from './seats.ts'
import { settle } from './settle.ts'

/** Decides after a reveal, once no answer is outstanding: the answers agree, more seats are needed, or the job is disputed. */
export function decided(job: Job, moment: Moment): Change {
  const { now } = moment
  const answers = answersOf(job)
  if (answers.length < seatCount(job) || job.cancelledAt !== undefined) return changeTo(job)
  const decision = decisionOf(job, seatable(job).length)
  switch (decision.outcome) {
    case 'disputed':
      return settle(job, 'disputed', 'quorum-disagreed', now)
    case 'more': {
      const widened: Job = { ...job, batches: [...job.batches, decision.count], fillAt: now }
      return changeTo(recorded(widened, now, 'seats-added', { detail: `${decision.count} more` }))
    }
    case 'accepted': {
      const detail = `${decision.group.length} of ${answers.length} answers match`
      const agreed = recorded(withAgreement(job, answers, decision.group), now, 'agreed', {
        detail,
      })
      return changeTo(withTurn(agreed, moment))
    }
  }
}

function withAgreement(job: Job, answers: readonly Answered[], group: readonly Answered[]): Job {
  const salts = answers.map(({ node, answer }) => ({ address: node, salt: answer.body.salt }))
  const nodes = group.map(({ node }) => node)
  const order = deliverers(job.id, salts, nodes).flatMap((address) =>
    group.flatMap(({ node, fence }) => (node === address ? [fence] : [])),
  )
  return { ...job, agreement: { group: group.map(({ fence }) => fence), order, turns: [] } }
}
