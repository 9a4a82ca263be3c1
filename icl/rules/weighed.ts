import type { ReputationCode } from '../../lib/reputation.ts'
import { oddNodes, type Weight, weighedAt, weightOfAnswer } from '../../lib/weighing.ts'
import { type Answered, answersOf } from './agreed.ts'
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
}

/** The code of an answer by its weight; undefined where it has none. `answer-likely` counts outside the agreement only. */
export function codeByWeight(
  { weighing }: Job,
  { fence, answer }: Answered,
): ReputationCode | undefined {
  if (!weighing || weighing.step === 'show') return undefined
  const isShown = weighing.shown.some((one) => one.fence === fence && one.cid !== undefined)
  if (!isShown) return 'never-shown'
  const weight = weightOfAnswer(
    answer.hash,
    weighing.opened.map(({ body }) => body),
  )
  return weight && codes[weight]
}

/** What nodes are scored for as weighers: odd numbers, or silence. */
export function weigherScores(job: Job) {
  const { weighing } = job
  if (weighing?.step !== 'over') return []
  const odd = oddNodes(weighing.opened.map(({ body }) => body))
  return answersOf(job).flatMap((answered): { answered: Answered; code: ReputationCode }[] => {
    const { fence, node } = answered
    if (odd.includes(node)) return [{ answered, code: 'numbers-odd' }]
    const own = weighing.weighed.find((one) => one.fence === fence)
    const isOpened = weighing.opened.some(({ body }) => body.fence === fence)
    const isSilent = own ? own.commitment && !isOpened : toWeigh(job, fence).length > 0
    return isSilent ? [{ answered, code: 'never-weighed' }] : []
  })
}

/** The nodes that gave odd numbers of the texts that they were to weigh, or none although another node gave some. */
export function idleWeighers(job: Job): readonly number[] {
  const { step, opened = [] } = job.weighing ?? {}
  if (step !== 'over' || opened.length === 0) return []
  const odd = oddNodes(opened.map(({ body }) => body))
  return answersOf(job).flatMap(({ fence, node }) => {
    const hasWeighed = opened.some(({ body }) => body.fence === fence) && !odd.includes(node)
    return hasWeighed || toWeigh(job, fence).length === 0 ? [] : [fence]
  })
}
