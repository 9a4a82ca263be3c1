import { viewAgreement } from '../../lib/agreement.ts'
import type { AgreementView } from '../../lib/schemas/jobs.ts'
import { answersOf, currentTurn, quotaOfJob } from './agreed.ts'
import { isSettled, type Job } from './job.ts'

/** How many answers of a settled job agree, and how far apart they are; undefined before it settles or with fewer than two answers. */
export function agreementOf(job: Job): AgreementView | undefined {
  const answers = answersOf(job)
  if (!isSettled(job.phase) || answers.length < 2) return undefined
  const group = job.agreement?.group ?? []
  const deliverer = job.phase === 'accepted' ? currentTurn(job)?.fence : undefined
  return viewAgreement({
    comparator: job.comparator,
    rule: job.list.terms.rule,
    needed: quotaOfJob(job).needed,
    answers: answers.map(({ node, answer }) => ({ node, evidence: answer.body.evidence })),
    group: answers.filter(({ fence }) => group.includes(fence)).map(({ node }) => node),
    deliverer: answers.find(({ fence }) => fence === deliverer)?.node,
  })
}
