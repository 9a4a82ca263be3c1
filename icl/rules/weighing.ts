/*
 * Problem: the ICL cannot read answers, and a node that asks no model could post nearly the same numbers of a text as another node.
 *
 * Idea: once the answers agree, each node shows its own answer to the other nodes of the job, sealed under the job's secret. Each commits to
 * its numbers of two answers by a hash, and opens them when no other commitment can come (lib/weighing.ts decides by them). Meanwhile the
 * answer is delivered and checked. The job is accepted when both are done.
 *
 * Invariants: no answer is shown before the agreement, so no node can copy one. Nothing is taken after its step has ended.
 *
 * Failure cases: a node that shows nothing in time, or says that it has lost its text, is scored for that. Numbers that do not come are left
 * out. Each step has a deadline, and at the job's deadline the job is accepted without further waiting.
 */

import type { Hash32 } from '../../lib/codecs.ts'
import { wrongNumbers } from '../../lib/weighing.ts'
import { answersOf, currentTurn } from './agreed.ts'
import {
  type Assignment,
  type Change,
  changeTo,
  type Job,
  type Moment,
  maxOutputTokensOf,
  refuse,
  type Transition,
  type Weighing,
} from './job.ts'
import type { PostedNumbers } from './posted.ts'
import { acceptedWhenDone } from './settle.ts'
import { isWeighed, toWeigh } from './weighed.ts'

/** The job with the weighing of its answers begun, if its terms ask for that. */
export const withWeighing = (job: Job, { now, limits }: Moment): Job =>
  !isWeighed(job)
    ? job
    : {
        ...job,
        weighing: {
          ...{ step: 'show', deadline: now + limits.revealMs },
          ...{ shown: [], weighed: [], opened: [] },
        },
      }

/** The step that a node still has to take, and its deadline. */
export function ownWeighing({ weighing, ...job }: Job, fence: number) {
  if (!weighing) return undefined
  const { step, deadline, shown, weighed, opened } = weighing
  const mine = weighed.find((one) => one.fence === fence)
  const isOwn = {
    show: () => !shown.some((one) => one.fence === fence),
    weigh: () => mine === undefined && toWeigh({ ...job, weighing }, fence).length > 0,
    open: () => mine?.commitment !== undefined && !opened.some(({ body }) => body.fence === fence),
    over: () => false,
  }[step]()
  return isOwn && step !== 'over' ? { step, deadline } : undefined
}

/** Stores the CID of a node's sealed answer, or that it has none. */
export function show(
  job: Job,
  { fence, answer }: Assignment,
  cid: string | undefined,
  moment: Moment,
): Transition {
  const { weighing } = job
  if (!answer) return refuse('not-revealed', 'The assignment has no answer')
  if (!weighing) return refuse('too-early', notAsked)
  const known = weighing.shown.find((one) => one.fence === fence)
  if (known) {
    return known.cid === cid
      ? changeTo(job)
      : refuse('already-answered', 'The node has shown another text')
  }
  if (weighing.step !== 'show') return refuse('job-settled', 'The time to show is over')
  return advanced(job, { shown: [...weighing.shown, { fence, cid }] }, moment)
}

const notAsked = 'The answers do not agree yet, or the terms ask for no check'

/** Stores a node's commitment to its numbers, or that it has none. */
export function weigh(
  job: Job,
  { fence, answer }: Assignment,
  commitment: Hash32 | undefined,
  moment: Moment,
): Transition {
  const { weighing } = job
  if (!answer) return refuse('not-revealed', 'The assignment has no answer')
  if (!weighing || weighing.step === 'show') return refuse('too-early', notAsked)
  const known = weighing.weighed.find((one) => one.fence === fence)
  if (known) {
    return known.commitment === commitment
      ? changeTo(job)
      : refuse('already-committed', 'The node has committed to other numbers')
  }
  if (weighing.step !== 'weigh') return refuse('job-settled', 'The time to weigh is over')
  return advanced(job, { weighed: [...weighing.weighed, { fence, commitment }] }, moment)
}

/** Stores the numbers that a node committed to. */
export function openNumbers(
  job: Job,
  { fence }: Assignment,
  numbers: PostedNumbers,
  moment: Moment,
): Transition {
  const { weighing } = job
  const own = weighing?.weighed.find((one) => one.fence === fence)
  if (!weighing || own?.commitment === undefined) {
    return refuse('not-committed', 'The node has committed to no numbers')
  }
  if (own.commitment !== numbers.hash) {
    return refuse('commitment-mismatch', 'The numbers are not those that the node committed to')
  }
  if (weighing.opened.some(({ body }) => body.fence === fence)) return changeTo(job)
  if (weighing.step === 'weigh') return refuse('too-early', 'Not all nodes have committed')
  if (weighing.step !== 'open') return refuse('job-settled', 'The time to open is over')
  const answers = toWeigh(job, fence).map(({ answered }) => answered.answer.hash)
  const wrong = wrongNumbers(numbers.body, answers, maxOutputTokensOf(job))
  if (wrong !== undefined) return refuse('evidence-invalid', `The numbers have ${wrong}`)
  return advanced(job, { opened: [...weighing.opened, numbers] }, moment)
}

/** How long after its part in a turn a node may still commit to its numbers. */
const afterTurnMs = 20_000

/** The job with time to weigh until a while after the current turn, in which nodes have something else to do. */
export function withTimeToWeigh(job: Job): Job {
  const { weighing } = job
  const turn = currentTurn(job)
  if (weighing?.step !== 'weigh' || !turn || turn.settled) return job
  const deadline = Math.max(weighing.deadline, turn.deadline + afterTurnMs)
  return { ...job, weighing: { ...weighing, deadline } }
}

/** Ends a step whose deadline has passed, unless a turn has begun since. */
export function lapseWeighing(job: Job, moment: Moment): Change {
  const { weighing } = job
  if (!weighing || weighing.step === 'over' || moment.now < weighing.deadline) return changeTo(job)
  const next = withTimeToWeigh(job)
  return moment.now < (next.weighing?.deadline ?? 0) ? changeTo(next) : advanced(job, {}, moment)
}

/** The job after a change of its weighing: in the next step if no node owes this one, and accepted if nothing else is outstanding. */
function advanced(job: Job, change: Partial<Weighing>, moment: Moment): Change {
  const { now, limits } = moment
  const { weighing } = job
  if (!weighing) return changeTo(job)
  let next: Weighing = { ...weighing, ...change }
  const isOwed = () =>
    now < next.deadline &&
    answersOf(job).some(({ fence }) => ownWeighing({ ...job, weighing: next }, fence))
  while (next.step !== 'over' && !isOwed()) {
    const step = { show: 'weigh', weigh: 'open', open: 'over' } as const
    const ms = next.step === 'show' ? limits.weighMs : limits.revealMs
    next = { ...next, step: step[next.step], deadline: now + ms }
  }
  return acceptedWhenDone({ ...job, weighing: next }, now)
}
