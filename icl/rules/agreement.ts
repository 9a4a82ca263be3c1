import { deliverers } from '../../lib/delivery-rule.ts'
import { type Answered, answersOf, decisionOf } from './agreed.ts'
import { withTurn } from './delivery.ts'
import { type Change, changeTo, type Job, type Moment, recorded } from './job.ts'
import { seatable } from './seats.ts'
import { settle } from './settle.ts'
import { withWeighing } from './weighing.ts'

/** Decides after a reveal, once no answer is outstanding: the answers agree, more seats are needed, or the job is disputed. */
export function decided(job: Job, moment: Moment): Change {
  const { now } = moment
  const answers = answersOf(job)
  if (answers.length < job.seats) return changeTo(job)
  const decision = decisionOf(job, seatable(job).length)
  switch (decision.outcome) {
    case 'disputed':
      return settle(job, 'disputed', 'quorum-disagreed', now)
    case 'more': {
      const widened: Job = { ...job, seats: job.seats + decision.count, fillAt: now }
      return changeTo(recorded(widened, now, 'seats-added', { detail: `${decision.count} more` }))
    }
    case 'accepted': {
      const detail = `${decision.group.length} of ${answers.length} answers match`
      const agreed = recorded(withAgreement(job, decision.group), now, 'agreed', {
        detail,
      })
      return changeTo(withTurn(withWeighing(agreed, moment), moment))
    }
  }
}

function withAgreement(job: Job, group: readonly Answered[]): Job {
  const fences = (members: readonly Answered[]) => members.map(({ fence }) => fence)
  return {
    ...job,
    agreement: { group: fences(group), order: fences(deliverers(group)), turns: [] },
  }
}
