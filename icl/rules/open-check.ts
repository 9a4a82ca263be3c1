/*
 * Problem: a checker that asks no model could wait for another checker's numbers of the delivered text, and post nearly the same ones.
 *
 * Idea: each checker commits to its numbers by a hash in its verdict. Once the verdicts settle a delivery, no more verdicts are taken, and
 * the checkers that committed open their numbers. The job settles with the last opening. The numbers decide nothing.
 *
 * Failure cases: a node that does not open its numbers within the time to reveal an answer is left out. That costs it nothing, and its
 * verdict counts. At the job's deadline the job is accepted without further waiting.
 */

import type { Hash32 } from '../../lib/codecs.ts'
import { checkOf } from '../../lib/prompt-needs.ts'
import { contradictionIn, type OpenedCheck, type OpenedScore } from '../../lib/teacher.ts'
import { currentTurn } from './agreed.ts'
import { type Assignment, byFence, type Job, type Refusal, refuse, type Turn } from './job.ts'
import type { PostedVerdict } from './posted.ts'

/** The verdicts whose nodes still have to open the numbers that they committed to. */
export function unopened({ list }: Job, { verdicts, opened = [] }: Turn): readonly PostedVerdict[] {
  if (checkOf(list.terms.needs) === undefined) return []
  return verdicts.filter(
    ({ body: { verdict, check, address } }) =>
      verdict === 'match' &&
      check !== undefined &&
      !opened.some((earlier) => earlier.address === address),
  )
}

/** The numbers that a node opens, and the commitment computed from them. */
export type Opening = { readonly opened: OpenedScore; readonly commitment: Hash32 }

/** The current turn with one more node's numbers, or a refusal. Returns the same turn for a repetition. */
export function openedIn(
  job: Job,
  { node, fence }: Assignment,
  { opened, commitment }: Opening,
): Turn | Refusal {
  const turn = currentTurn(job)
  const verdict = turn?.verdicts.find(({ body }) => body.fence === fence)
  if (!turn || verdict?.body.check === undefined) {
    return refuse('not-committed', 'The node has committed to no numbers of this delivery')
  }
  if (commitment !== verdict.body.check) {
    return refuse('commitment-mismatch', 'Numbers and salt make another commitment')
  }
  if (turn.opened?.some(({ address }) => address === node)) return turn
  if (!turn.opening) return refuse('too-early', 'Not all checkers have spoken')
  const deliverer = byFence(job, turn.fence)?.answer
  if (!deliverer) throw new TypeError('A deliverer has answered')
  const wrong = contradictionIn(opened.score, deliverer.hash, deliverer.body.max_output_tokens)
  if (wrong !== undefined) return refuse('evidence-invalid', `The numbers have ${wrong}`)
  const entry: OpenedCheck = { address: node, ...opened }
  return { ...turn, opened: [...(turn.opened ?? []), entry] }
}
