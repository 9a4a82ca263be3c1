import type { Address } from '../../lib/codecs.ts'
import { comparators } from '../../lib/comparators/all.ts'
import type { ReputationCode } from '../../lib/reputation.ts'
import { type Answered, answersOf } from './agreed.ts'
import { decisionOf } from './decision.ts'
import type { Effect } from './effects.ts'
import type { Job, Turn } from './job.ts'

/** What a settled job says of the nodes that answered, and of those that had to deliver or to check. */
export const scoresOf = (job: Job): readonly Effect[] => {
  const answers = answersOf(job)
  const group = groupOf(job)
  const members = answers.filter(({ fence }) => group?.includes(fence))
  const effects: Effect[] = answers.map((answered) => ({
    ...scored(answered, codeOf(job, answered, group, members)),
    ...(members.includes(answered) && { partners: partnersOf(answered, members) }),
  }))
  for (const turn of job.agreement?.turns ?? []) effects.push(...turnScores(job, turn, answers))
  return effects
}

const scored = (
  { node, fence }: Pick<Answered, 'node' | 'fence'>,
  code: ReputationCode,
): Extract<Effect, { type: 'score-node' }> => ({ type: 'score-node', node, fence, code })

const partnersOf = (one: Answered, members: readonly Answered[]): readonly Address[] =>
  members.filter((member) => member !== one).map(({ node }) => node)

/** The agreement, if there is one: also of a job that was cancelled meanwhile. */
function groupOf(job: Job): readonly number[] | undefined {
  if (job.agreement) return job.agreement.group
  const decision = decisionOf(job)
  return decision.outcome === 'accepted' ? decision.group.map(({ fence }) => fence) : undefined
}

function codeOf(
  { phase, agreement }: Job,
  answered: Answered,
  group: readonly number[] | undefined,
  members: readonly Answered[],
): ReputationCode {
  if (!group) return 'answer-undecided'
  if (group.includes(answered.fence)) {
    const isDeliverer = phase === 'accepted' && agreement?.turns.at(-1)?.fence === answered.fence
    return isDeliverer ? 'answer-delivered' : 'answer-agreed'
  }
  return members.every((member) => contradicts(answered, member))
    ? 'answer-contradicted'
    : 'answer-differed'
}

/** True when two answers have next to nothing in common; short ones may look so by chance, and `exact` calls each difference so. */
function contradicts(one: Answered, other: Answered): boolean {
  const [a, b] = [one.answer.body.evidence, other.answer.body.evidence]
  const comparator = comparators[a.comparator]
  return comparator.canBeInconclusive && comparator.compare(a, b) === 'no-match'
}

function turnScores(job: Job, turn: Turn, answers: readonly Answered[]): readonly Effect[] {
  const deliverer = answers.find(({ fence }) => fence === turn.fence)
  if (!deliverer) return []
  const reason = turn.failed?.reason
  const effects: Effect[] = []
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
