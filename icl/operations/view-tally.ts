import { viewTally } from '../../lib/agreement.ts'
import type { TallyView } from '../../lib/schemas/jobs.ts'
import { type Assignment, type Job, resultOfRound } from '../rules/job.ts'

/** The assignments of a round that answered. */
const answeredIn = ({ assignments }: Job, round: number): readonly Assignment[] =>
  assignments.filter((assignment) => assignment.round === round && assignment.status === 'done')

/** How the verdicts of a round count so far, and how far its answers are apart; undefined while there is nothing to compare. */
export function tallyOfRound(job: Job, round: number): TallyView | undefined {
  const result = resultOfRound(job, round)
  const verdicts = answeredIn(job, round).flatMap(({ node, verdict }) =>
    verdict
      ? [
          {
            node,
            evidence: verdict.body.evidence,
            verdict: verdict.body.verdict,
            reason: verdict.body.reason,
          },
        ]
      : [],
  )
  if (!result || verdicts.length === 0) return undefined
  const leader = { node: result.body.address, evidence: result.body.evidence }
  return viewTally(job.comparator, leader, verdicts)
}
