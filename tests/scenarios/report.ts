import { receiptOf } from '../../icl/operations/make-receipt.ts'
import type { Job } from '../../icl/rules/job.ts'
import { evidenceOf } from '../icl/node-steps.ts'
import { rightAnswer } from './conducts.ts'
import type { NodeOutcome, Outcome } from './run-scenario.ts'

/** How often each of some texts is there, the most frequent first. */
export function countsOf(texts: readonly string[]): string {
  const counts = new Map<string, number>()
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1)
  const sorted = [...counts].toSorted((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
  return sorted.map(([text, count]) => `${text} x${count}`).join(', ') || '-'
}

/** The jobs that were accepted with another answer than the right one. */
export async function wronglyAccepted({ jobs }: Outcome): Promise<readonly Job[]> {
  const wrong: Job[] = []
  for (const job of jobs) {
    const { answers, delivery } = receiptOf(job) ?? {}
    const deliverer = delivery?.body.address
    const evidence = answers?.find(({ body }) => body.address === deliverer)?.body.evidence
    if (!evidence) continue
    if (evidence.digest !== (await evidenceOf(rightAnswer(job.id))).digest) wrong.push(job)
  }
  return wrong
}

/** True when a member of the job's agreement failed to deliver. */
export const isTurned = ({ agreement }: Job): boolean =>
  agreement?.turns.some(({ failed }) => failed) === true

/** The nodes of a simulation that cheat. */
export const cheatsOf = ({ nodes }: Outcome): readonly NodeOutcome[] =>
  nodes.filter(({ isHonest }) => !isHonest)
