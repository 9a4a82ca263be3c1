/*
 * Whether an answer is one that the model would give, by what two other nodes' models say of its text.
 *
 * Problem: honest nodes with unlike processors part ways within some 25 tokens, so a dissent says little against a node. And an answer of
 * a cheaper copy of the model can be worded like the others.
 *
 * Idea: two others score the text (`teacher/1`). A text of the model itself has hardly a token that is much less likely than the likeliest
 * one, on every honest build. Where both scores say so the text is `likely`, where both say the opposite it is `unlikely`.
 *
 * Invariants:
 * - The rule counts in integers and reads nothing but the scores, so ICL, client and receipt get the same result.
 * - One score decides nothing: a single liar can only leave a text undecided.
 * - The thresholds come from a real model's honest texts on unlike builds (docs/comparators.md), at most 1 % of which are `unlikely`.
 *
 * Failure cases: two colluding scorers decide as they like. A text that is too short is undecided. A provider can read a text as other
 * tokens than were generated, and one such token costs 2 nats: `trimmed` leaves out the greatest gaps. A near copy of the model (Q8_0) is
 * `likely`.
 */

import type { TeacherScore } from './schemas/teacher.ts'

/** Fewer tokens decide nothing. */
const leastTokens = 25
/**
 * The greatest trimmed gap of a text of the model, in thousandths of a nat: for the whole text, and more for each token. The 99th
 * percentile of honest texts hardly grows with their length, because more tokens are left out too. The second part is a margin for servers
 * with more noise than those that were measured.
 */
const mostGap = { text: 400, token: 1 }

export type Likelihood = 'likely' | 'unlikely'

/** Decides by two or more scores of one text by different nodes; undefined with fewer, where they differ, and for a short text. */
export function likelihoodOf(scores: readonly TeacherScore[]): Likelihood | undefined {
  if (scores.length < 2 || scores.some(({ n }) => n < leastTokens)) return undefined
  const above = scores.filter(({ n, trimmed }) => trimmed > mostGap.text + n * mostGap.token).length
  if (above === 0) return 'likely'
  return above === scores.length ? 'unlikely' : undefined
}
