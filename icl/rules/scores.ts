import { comparators } from '../../lib/comparators/all.ts'
import { shortTokens } from '../../lib/comparators/similar/thresholds.ts'
import type { ReputationCode } from '../../lib/reputation.ts'
import { type Answered, answersOf, decisionOf } from './agreed.ts'
import { type Effect, scoring } from './effects.ts'
import type { Job, Turn } from './job.ts'
import { codeByWeight, idleWeighers, weigherScores } from './weighed.ts'

/**
 * The scores of a settled job: of the nodes that answered, and of those that had to deliver, check or weigh. A member of the agreement that
 * did not do that as it should gains nothing by its answer. Otherwise it would pay to leave that work to others.
 */
export const scoresOf = (job: Job): readonly Effect[] => {
  const answers = answersOf(job)
  const turns = job.agreement?.turns ?? []
  const found = turns.flatMap((turn) => turnScores(job, turn, answers))
  // A code counts once for an assignment, also if its node left several deliveries unchecked.
  const blames = found.filter(
    (one, index) =>
      found.findIndex(({ fence, code }) => fence === one.fence && code === one.code) === index,
  )
  const idle = new Set([
    ...blames.map(({ fence }) => fence),
    ...turns.flatMap(({ fence, failed, absent }) => [
      ...absent,
      ...(failed && failed.reason !== 'never-checked' ? [fence] : []),
    ]),
    ...idleWeighers(job),
  ])
  const group = groupOf(job)
  const members = answers.filter(({ fence }) => group?.includes(fence))
  const effects = answers.map((answered): Effect => {
    const outside = members.includes(answered) ? undefined : outsideCode(answered, members)
    const weight = codeByWeight(job, answered)
    // A text that no model wrote can be likely, too, such as a repetition. It contradicts the others, which no honest answer does.
    const isExcused = outside === 'answer-dissented'
    // A dissent costs no less because its weight is unclear.
    const isDecided = weight !== 'answer-undecided' || outside === undefined
    if (weight && isDecided && (weight !== 'answer-likely' || isExcused))
      return scoring(answered, weight)
    if (outside) return scoring(answered, outside)
    if (idle.has(answered.fence)) return scoring(answered, 'answer-undecided')
    const partners = members.filter((member) => member !== answered).map(({ node }) => node)
    return { ...scoring(answered, memberCode(job, answered)), partners }
  })
  const weighers = weigherScores(job).map(({ answered, code }) => scoring(answered, code))
  return [...effects, ...blames, ...weighers]
}

/** The fences of the agreement, if there is one, also in a job that ended before the decision. */
function groupOf(job: Job): readonly number[] | undefined {
  if (job.agreement) return job.agreement.group
  const decision = decisionOf(job)
  return decision.outcome === 'accepted' ? decision.group.map(({ fence }) => fence) : undefined
}

const memberCode = ({ phase, agreement }: Job, { fence }: Answered): ReputationCode =>
  phase === 'accepted' && agreement?.turns.at(-1)?.fence === fence
    ? 'answer-delivered'
    : 'answer-agreed'

/** The code of an answer outside the agreement. A difference of short answers, or of any by `exact`, says nothing about a node. */
function outsideCode(one: Answered, members: readonly Answered[]): ReputationCode {
  if (members.length === 0) return 'answer-undecided'
  const { evidence } = one.answer.body
  const { canBeInconclusive, compare } = comparators[evidence.comparator]
  if (!canBeInconclusive || evidence.tokens <= shortTokens) return 'answer-differed'
  const contradictsAll = members.every(
    ({ answer }) => compare(answer.body.evidence, evidence) === 'no-match',
  )
  return contradictsAll ? 'answer-contradicted' : 'answer-dissented'
}

function turnScores(job: Job, turn: Turn, answers: readonly Answered[]) {
  const deliverer = answers.find(({ fence }) => fence === turn.fence)
  if (!deliverer) return []
  const { failed, delivery, verdicts, absent } = turn
  const reason = failed?.reason
  const isBlamed = reason === 'never-delivered' || reason === 'output-refused'
  const blame = isBlamed ? [scoring(deliverer, reason)] : []
  const isSettled = job.phase === 'accepted' && !failed
  if (!delivery || !(isSettled || failed)) return blame
  const checks = answers.flatMap((checker) => {
    const isMember = job.agreement?.group.includes(checker.fence) && checker !== deliverer
    if (!isMember) return []
    const verdict = verdicts.find(({ body }) => body.fence === checker.fence)
    const isSilent = !verdict && !absent.includes(checker.fence)
    if (isSilent) return [scoring(checker, 'never-checked')]
    const isOutvoted = isSettled && verdict?.body.verdict === 'no-match'
    return isOutvoted ? [scoring(checker, 'verdict-outvoted')] : []
  })
  return [...blame, ...checks]
}
