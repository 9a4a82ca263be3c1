import type { ChainResult } from '../../icl/chain/chain.ts'
import type { Assignment, Job } from '../../icl/rules/job.ts'
import type { PostedAnswer } from '../../icl/rules/posted.ts'
import { comparators } from '../../lib/comparators/all.ts'

type Answered = Assignment & { readonly answer: PostedAnswer }

const membersOf = ({ agreement, assignments }: Job): readonly Answered[] =>
  assignments.filter(
    (assignment): assignment is Answered =>
      assignment.answer !== undefined && agreement?.group.includes(assignment.fence) === true,
  )

/** Why a job may not be accepted by what stands in it, in words; empty when it may. Written from the protocol, not from the code that applies it. */
export function whyNotAccepted(job: Job): readonly string[] {
  const about = `job ${job.id.slice(0, 10)} was accepted`
  const answers = job.assignments.filter(({ answer }) => answer !== undefined)
  const nodes = new Set(answers.map(({ node }) => node))
  const members = membersOf(job)
  const wrong: string[] = []
  if (answers.length !== job.seats) wrong.push('before every seat had answered')
  if (nodes.size !== answers.length) wrong.push('by a node that had two seats')
  if (nodes.has(job.client)) wrong.push('by its own client')
  if (answers.length > mostAnswersOf(job)) wrong.push('by too many answers')
  if (answers.length < job.list.terms.quorum) wrong.push('by fewer than the quorum')
  if (members.length < neededIn(job)) wrong.push(`by ${members.length} that match`)
  if (!members.every((one) => members.every((other) => isMatch(one, other)))) {
    wrong.push('by answers that do not match one another')
  }
  wrong.push(...whyNotDelivered(job, members), ...whyNotWeighed(job))
  return wrong.map((how) => `${about} ${how}`)
}

const mostAnswersOf = ({ list }: Job): number =>
  Math.min(list.terms.max_answers, list.members.length)

function neededIn(job: Job): number {
  const { rule, quorum, min_matches: matches } = job.list.terms
  const most = mostAnswersOf(job)
  const base = { 'any-two': 2, three: most === 3 ? 2 : 3, majority: Math.floor(most / 2) + 1 }
  return Math.max(base[rule], Math.floor(quorum / 2) + 1, matches + 1)
}

const isMatch = (one: Answered, other: Answered): boolean =>
  comparators[one.answer.body.evidence.comparator].compare(
    one.answer.body.evidence,
    other.answer.body.evidence,
  ) === 'match'

function whyNotDelivered({ agreement }: Job, members: readonly Answered[]): readonly string[] {
  const turn = agreement?.turns.at(-1)
  const deliverer = members.find(({ fence }) => fence === turn?.fence)
  if (!turn?.delivery || turn.failed) return ['without a delivery']
  if (!deliverer) return ['by the delivery of a node outside the agreement']
  const wrong: string[] = []
  if (turn.delivery.body.answer !== deliverer.answer.hash) wrong.push('by another answer')
  const others = members.filter((member) => member !== deliverer)
  const checks = others.flatMap(({ node }) =>
    turn.verdicts.filter(({ body }) => body.address === node).map(({ body }) => body.verdict),
  )
  const matches = checks.filter((check) => check === 'match').length
  if (matches === 0 || matches < checks.length - matches) wrong.push(`by ${checks.join(', ')}`)
  return wrong
}

/** Where the terms ask for numbers, each node of an answer may open those that it committed to, of the two answers before its own. */
function whyNotWeighed({ assignments, comparator, list, weighing }: Job): readonly string[] {
  const isAsked = list.terms.needs?.parts?.includes('teacher') && comparator !== 'structured/1'
  if (!weighing || !isAsked) return weighing || isAsked ? ['without the numbers of its terms'] : []
  const ordered = assignments
    .flatMap(({ answer, batch, fence }) => (answer ? [{ ...answer, batch, fence }] : []))
    .toSorted((a, b) => a.batch - b.batch || a.body.position - b.body.position)
  return weighing.opened.flatMap(({ body, hash }, at) => {
    const place = ordered.findIndex(({ fence }) => fence === body.fence)
    const before = [1, 2].map((back) => ordered.at(place - back)?.hash)
    const own = weighing.weighed.find(({ fence }) => fence === body.fence)
    const isSecond = weighing.opened.findIndex((other) => other.body.fence === body.fence) !== at
    return [
      ...(place === -1 || isSecond ? ['with numbers of a node that has no say'] : []),
      ...(own?.commitment === hash ? [] : ['with numbers that their node did not commit to']),
      ...(body.weighed.every(({ answer }) => before.includes(answer))
        ? []
        : ['with numbers of an answer that their node does not weigh']),
    ]
  })
}

/** What is wrong with a result that was put on chain, in words. */
export function whyNotOnChain(result: ChainResult, job: Job | undefined): readonly string[] {
  const about = `the result of ${result.jobId.slice(0, 10)} on chain`
  if (!job) return [`${about} is of no job`]
  if (job.phase !== 'accepted') return [`${about} is of a job that is ${job.phase}`]
  const wrong: string[] = [...whyNotAccepted(job)]
  if (result.receiptHash !== job.receiptHash) wrong.push(`${about} has another receipt`)
  return wrong
}
