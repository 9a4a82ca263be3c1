/*
 * Problem: a checker that asks no model could wait for another's numbers of the delivered text, and say nearly the same.
 *
 * Idea: each checker binds itself to its numbers by a hash in its verdict. Once the verdicts settle a delivery nobody may give one any more,
 * and those that are bound open theirs. The job settles with the last one that does.
 *
 * Invariants:
 * - Numbers are opened only when no verdict, so no commitment, can come any more. They decide nothing.
 * - Only a job whose terms ask for them waits for them, and not for longer than the time to reveal an answer.
 *
 * Failure cases: a node that does not open its numbers in time, such as one that was restarted, is left out. That costs it nothing, and its
 * verdict counts. At the job's deadline, or when the client cancels, the job is accepted as it would have been without the wait.
 */

import type { Hash32 } from '../../lib/codecs.ts'
import { checkOf } from '../../lib/prompt-needs.ts'
import { contradictionIn, type OpenedCheck, type OpenedScore } from '../../lib/teacher.ts'
import { answersOf, currentTurn } from './agreed.ts'
import type { Assignment, Job, Transition, Turn } from './job.ts'
import type { PostedVerdict } from './posted.ts'

/** The verdicts whose nodes have still to open the numbers that they committed to. */
export function unopened({ list }: Job, { verdicts, opened = [] }: Turn): readonly PostedVerdict[] {
  if (checkOf(list.terms.needs) === undefined) return []
  return verdicts.filter(
    ({ body: { verdict, check, address } }) =>
      verdict === 'match' &&
      check !== undefined &&
      !opened.some((earlier) => earlier.address === address),
  )
}

/** What a node opens, and the commitment that it makes. */
export type Opening = { readonly opened: OpenedScore; readonly commitment: Hash32 }

/** The current turn with one more node's numbers; the same turn when it is a repetition. */
export function openedIn(
  job: Job,
  { node, fence }: Assignment,
  { opened, commitment }: Opening,
): Turn | Extract<Transition, { readonly refused: unknown }> {
  const turn = currentTurn(job)
  const verdict = turn?.verdicts.find(({ body }) => body.fence === fence)
  if (!turn || verdict?.body.check === undefined) {
    return {
      refused: 'not-committed',
      detail: 'The node has committed to no numbers of this delivery',
    }
  }
  if (commitment !== verdict.body.check) {
    return { refused: 'commitment-mismatch', detail: 'Numbers and salt make another commitment' }
  }
  if (turn.opened?.some(({ address }) => address === node)) return turn
  if (!turn.opening) return { refused: 'too-early', detail: 'Not all checkers have spoken' }
  const deliverer = answersOf(job).find((answered) => answered.fence === turn.fence)?.answer
  if (!deliverer) throw new TypeError('A deliverer has answered')
  const wrong = contradictionIn(opened.score, deliverer.hash, deliverer.body.max_output_tokens)
  if (wrong !== undefined)
    return { refused: 'evidence-invalid', detail: `The numbers have ${wrong}` }
  const entry: OpenedCheck = { address: node, ...opened }
  return { ...turn, opened: [...(turn.opened ?? []), entry] }
}
