import type { Address } from '../../lib/codecs.ts'
import { comparators } from '../../lib/comparators/all.ts'
import { shortTokens } from '../../lib/comparators/similar/thresholds.ts'
import type { ReputationCode } from '../../lib/reputation.ts'
import { type Answered, answersOf } from './agreed.ts'
import { decisionOf } from './decision.ts'
import type { Effect } from './effects.ts'
import type { Job, Turn } from './job.ts'

type Score = Extract<Effect, { type: 'score-node' }>

/**
 * The scores of a settled job: of the nodes that answered, and of those that had to deliver or check. A member of the agreement that did
 * not deliver or check as it should gains nothing by its answer. Otherwise it would pay to leave that work to others.
 */
export const scoresOf = (job: Job): readonly Effect[] => {
  const answers = answersOf(job)
  const turns = job.agreement?.turns ?? []
  const blames = turns.flatMap((turn) => turnScores(job, turn, answers))
  const idle = new Set([
    ...blames.map(({ fence }) => fence),
    ...turns.flatMap(({ fence, failed, absent }) => [
      ...absent,
      ...(failed && failed.reason !== 'never-checked' ? [fence] : []),
    ]),
  ])
  const group = groupOf(job)
  const members = answers.filter(({ fence }) => group?.includes(fence))
  const effects = answers.map((answered): Effect => {
    if (!members.includes(answered)) return scored(answered, outsideCode(answered, members))
    if (idle.has(answered.fence)) return scored(answered, 'answer-undecided')
    return {
      ...scored(answered, memberCode(job, answered)),
      partners: partnersOf(answered, members),
    }
  })
  return [...effects, ...blames]
}

const scored = (
  { node, fence }: Pick<Answered, 'node' | 'fence'>,
  code: ReputationCode,
): Score => ({
  type: 'score-node',
  node,
  fence,
  code,
})

const partnersOf = (one: Answered, members: readonly Answered[]): readonly Address[] =>
  members.filter((member) => member !== one).map(({ node }) => node)

/** The fences of the agreement, if there is one, also in a job that was cancelled before the decision. */
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
  if (!canBeInconclusive || isShort(evidence)) return 'answer-differed'
  const contradictsAll = members.every(
    ({ answer }) => compare(answer.body.evidence, evidence) === 'no-match',
  )
  return contradictsAll ? 'answer-contradicted' : 'answer-dissented'
}

const isShort = ({ tokens }: Answered['answer']['body']['evidence']): boolean =>
  tokens <= shortTokens

function turnScores(job: Job, turn: Turn, answers: readonly Answered[]): readonly Score[] {
  const deliverer = answers.find(({ fence }) => fence === turn.fence)
  if (!deliverer) return []
  const reason = turn.failed?.reason
  const effects: Score[] = []
  if (reason === 'never-delivered' || reason === 'output-refused') {
    effects.push(scored(deliverer, reason))
  }
  const isSettled = job.phase === 'accepted' && !turn.failed
  for (const checker of answers) {
    const isMember = job.agreement?.group.includes(checker.fence) && checker !== deliverer
    if (!isMember || !turn.delivery) continue
    const verdict = turn.verdicts.find(({ body }) => body.fence === checker.fence)
    if (isSettled && verdict?.body.verdict === 'no-match') {
      effects.push(scored(checker, 'verdict-outvoted'))
    }
    const isSilent = !verdict && !turn.absent.includes(checker.fence)
    if (isSilent && (isSettled || turn.failed)) effects.push(scored(checker, 'never-checked'))
  }
  return effects
}
