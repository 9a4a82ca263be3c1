import { checkOf } from '../../lib/prompt-needs.ts'
import type { ReputationCode } from '../../lib/reputation.ts'
import {
  isIdleWeigher,
  oddNodes,
  type Weight,
  weighedAt,
  weightOfAnswer,
} from '../../lib/weighing.ts'
import { type Answered, answersOf, currentTurn } from './agreed.ts'
import type { Job } from './job.ts'

/** The answers that a node weighs, with the CIDs of their shown texts. */
export function toWeigh(
  job: Job,
  fence: number,
): readonly { readonly answered: Answered; readonly cid: string }[] {
  const answers = answersOf(job)
  const index = answers.findIndex((own) => own.fence === fence)
  if (index === -1) return []
  return weighedAt(answers, index).flatMap((answered) => {
    const cid = job.weighing?.shown.find((one) => one.fence === answered.fence)?.cid
    return cid === undefined ? [] : [{ answered, cid }]
  })
}

const codes: Readonly<Record<Weight, ReputationCode>> = {
  likely: 'answer-likely',
  unlikely: 'answer-unlikely',
  'other-text': 'never-shown',
  unclear: 'answer-undecided',
}

const numbersOf = ({ weighing }: Job) => (weighing?.opened ?? []).map(({ body }) => body)

/** True for a job whose answers are weighed. Documents of tool calls and JSON have no weight. */
export const isWeighed = ({ list, comparator }: Pick<Job, 'list' | 'comparator'>): boolean =>
  checkOf(list.terms.needs) !== undefined && comparator !== 'structured/1'

/**
 * The code of an answer by its weight; undefined where it has none. An answer is not called unshown where no node has shown one, since the
 * ICL may have had no room. One that was delivered is not called another text, since others have read it, but gains nothing.
 */
export function codeByWeight(job: Job, { fence, answer }: Answered): ReputationCode | undefined {
  const { weighing, phase } = job
  if (!weighing || weighing.step === 'show') return undefined
  const shown = weighing.shown.filter(({ cid }) => cid !== undefined)
  if (!shown.some((one) => one.fence === fence)) {
    return shown.length === 0 ? undefined : 'never-shown'
  }
  const weight = weightOfAnswer(answer.hash, numbersOf(job))
  const isDelivered = phase === 'accepted' && currentTurn(job)?.fence === fence
  return weight && codes[weight === 'other-text' && isDelivered ? 'unclear' : weight]
}

/** The scores of nodes as weighers: for odd numbers, or silence. */
export function weigherScores(job: Job) {
  const { weighing } = job
  if (weighing?.step !== 'over') return []
  const odd = oddNodes(numbersOf(job))
  return answersOf(job).flatMap((answered): { answered: Answered; code: ReputationCode }[] => {
    const { fence, node } = answered
    if (odd.includes(node)) return [{ answered, code: 'numbers-odd' }]
    const own = weighing.weighed.find((one) => one.fence === fence)
    const isOpened = weighing.opened.some(({ body }) => body.fence === fence)
    const isSilent = own ? own.commitment && !isOpened : toWeigh(job, fence).length > 0
    return isSilent ? [{ answered, code: 'never-weighed' }] : []
  })
}

/** The nodes that left the weighing of the answers that they had to weigh to others. */
export const idleWeighers = (job: Job): readonly number[] =>
  job.weighing?.step !== 'over'
    ? []
    : answersOf(job).flatMap(({ fence, node }) =>
        toWeigh(job, fence).length > 0 && isIdleWeigher(node, numbersOf(job)) ? [fence] : [],
      )
