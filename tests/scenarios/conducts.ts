import type { Address, JobId } from '../../lib/codecs.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { OwnAssignment } from '../../lib/schemas/assignments.ts'
import { answerOf } from '../icl/node-steps.ts'
import { type Conduct, commitAs, patient, say, type Work } from '../simulation/node.ts'

/** What every good node answers in a job. */
export const rightAnswer = (jobId: JobId): string => `what is right in ${jobId}`

/** What checkers find when they look for a node's output; a simulated job has none. */
export type Outputs = Map<Address, 'output-unavailable' | 'output-mismatch'>

/** A node as it should be, which looks for the output, too. */
export const honest = (outputs: Outputs): Conduct => ({
  check: (work, { step, to_check: seen }) => {
    const reason = seen && outputs.get(seen.delivery.body.address)
    return say(work, step === 'check' && reason ? { verdict: 'no-match', reason } : undefined)
  },
})

/** Asks no model: it makes an answer up and always says `match`. */
export const lazy: Conduct = {
  commit: (work) => commitAs(work, `made up by ${work.node.name}`),
  check: (work) => say(work, { verdict: 'match' }),
}

/** Finds fault with whatever another delivers. */
export const denier: Conduct = {
  check: (work) => say(work, { verdict: 'no-match', reason: 'output-mismatch' }),
}

/** What a cheat finds out. */
export type Diary = {
  /** Jobs in which it saw the answer of another before it had committed. */
  readonly peeked: JobId[]
  /** The codes with which the ICL refused what it posted. */
  readonly refusals: string[]
}

export const newDiary = (): Diary => ({ peeked: [], refusals: [] })

const noting = async ({ refusals }: Diary, work: Promise<unknown>): Promise<void> => {
  try {
    await work
  } catch (error) {
    if (error instanceof ProblemError) refusals.push(error.code)
    throw error
  }
}

/** Looks for another's answer before it commits, commits to something, and reveals the right answer as its own. */
export const copier = (diary: Diary): Conduct => ({
  commit: async (work) => {
    const { node, claimed } = work
    for (let look = 0; look < 3; look++) {
      await work.clock.sleep(3_000, work.signal)
      const params = { jobId: claimed.jobId }
      const seen = await node.api.getAssignment({ params, query: { wait: 0 } }, patient)
      if (seen.to_check) diary.peeked.push(claimed.jobId)
    }
    return commitAs(work, `nothing yet of ${node.name}`)
  },
  reveal: (work, seen) => noting(diary, revealAs(work, work.answer, seen)),
})

/** Works, commits to what it found, and reveals something else. */
export const revealsAnother = (diary: Diary): Conduct => ({
  reveal: (work, seen) =>
    noting(diary, revealAs(work, `another answer of ${work.node.name}`, seen)),
})

async function revealAs(
  { node, claimed, signal }: Work,
  answer: string,
  { commitments }: OwnAssignment,
): Promise<void> {
  const body = await answerOf(node, claimed, answer, commitments)
  await node.api.revealAnswer({ body }, { ...patient, signal })
}

/** Works and commits, and never opens its commitment. */
export const neverReveals: Conduct = { reveal: async () => {} }

/** Answers as it should, and lets its turn to deliver pass. */
export const neverDelivers: Conduct = { deliver: async () => {} }

/** Nodes that act as one all give the same wrong answer. */
export const colluder: Conduct = {
  commit: async (work) => {
    await work.think()
    return commitAs(work, `what the ring agreed on for ${work.claimed.jobId}`)
  },
}

/** Answers wrongly, every `every`-th time; no two such nodes agree. */
export function wrongAnswers(every = 1): Conduct {
  let turn = 0
  return {
    commit: async (work) => {
      await work.think()
      return commitAs(
        work,
        turn++ % every === 0 ? `wrong in the way of ${work.node.name}` : work.answer,
      )
    },
  }
}

/** Signs two answers for one assignment and posts both. */
export const equivocator = (diary: Diary): Conduct => ({
  reveal: async (work, seen) => {
    await revealAs(work, work.answer, seen)
    await noting(diary, revealAs(work, `another answer of ${work.node.name}`, seen))
  },
})

/** Claims and is silent. */
export const silent: Conduct = { commit: async () => false }

const afterLeaseMs = 125_000

/** Works for longer than its lease. */
export const late: Conduct = {
  commit: async (work) => {
    await work.clock.sleep(afterLeaseMs, work.signal)
    return commitAs(work, work.answer)
  },
}
