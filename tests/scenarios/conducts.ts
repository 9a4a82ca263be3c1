import type { Address, JobId } from '../../lib/codecs.ts'
import { comparators } from '../../lib/comparators/all.ts'
import { toBase64Url } from '../../lib/digest.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { VerdictReason } from '../../lib/schemas/jobs.ts'
import type { LeaderStatement } from '../../lib/schemas/receipt.ts'
import {
  commitmentOf,
  leaderStatementOf,
  signVerdict,
  statementHash,
} from '../../lib/statements.ts'
import { evidenceOf, resultBody } from '../icl/test-icl.ts'
import { type Conduct, leaderStatementFor, untilHeard, type Work } from '../simulation/node.ts'

/** What every good node answers in a job. */
export const rightAnswer = (jobId: JobId): string => `what is right in ${jobId}`

/** What verifiers find when they look for a leader's output; a simulated job has none. */
export type Outputs = Map<Address, 'output-unavailable' | 'output-mismatch'>

const patient = { attempts: 30, timeoutMs: 5_000 }
const saltOf = (byte: number) => toBase64Url(new Uint8Array(32).fill(byte))

/** What a verifier reveals, and whether that is what it committed to. */
type Reveal = {
  readonly answer: string
  readonly verdict: 'match' | 'no-match'
  readonly reason?: VerdictReason
  /** The evidence to reveal, if not that of the answer. */
  readonly evidence?: LeaderStatement['evidence']
}

/** Commits to an answer, waits for the leader's statement, and posts what `reveal` makes of it; nothing when that is undefined. */
async function verifyBy(
  work: Work,
  committed: string,
  reveal: (leader: LeaderStatement) => Promise<Reveal | undefined>,
): Promise<void> {
  const { node, claimed, clock, signal } = work
  const { jobId, fence } = claimed
  const salt = saltOf(9)
  const { address } = node
  const evidence = await evidenceOf(committed)
  const commitment = await commitmentOf({ jobId, address, fence, evidence, salt })
  await untilHeard(clock, signal, () =>
    node.api.commitAssignment({ body: { jobId, fence, commitment } }),
  )
  work.leave()
  const seen = await leaderStatementFor(work)
  if (!seen) return
  const { address: leaderAddress, ...body } = seen
  const leader = leaderStatementOf(leaderAddress, body)
  const shown = await reveal(leader)
  if (!shown) return
  const signed = await signVerdict(
    address,
    {
      jobId,
      fence,
      model_id: claimed.model_id,
      max_output_tokens: claimed.parameters.max_output_tokens,
      verdict: shown.verdict,
      ...(shown.reason && { reason: shown.reason }),
      evidence: shown.evidence ?? (await evidenceOf(shown.answer)),
      salt,
      leader_statement: await statementHash(leader),
    },
    node.key,
  )
  await node.api.postVerdict({ body: signed }, { ...patient, signal })
}

/** The verdict that an answer supports. */
async function fairly(leader: LeaderStatement, answer: string): Promise<Reveal> {
  const same = comparators.exact.compare(leader.evidence, await evidenceOf(answer)) === 'match'
  return same
    ? { answer, verdict: 'match' }
    : { answer, verdict: 'no-match', reason: 'different-answer' }
}

/** A node as it should be, which looks for the output, too. */
export const honest = (outputs: Outputs): Conduct => ({
  verify: async (work) => {
    await work.think()
    await verifyBy(work, work.answer, async (leader) => {
      const fair = await fairly(leader, work.answer)
      const reason = outputs.get(leader.address)
      return fair.verdict === 'match' && reason
        ? { answer: work.answer, verdict: 'no-match', reason }
        : fair
    })
  },
})

/** Asks no model: it makes an answer up and always votes `match`. */
export const lazyVerifier: Conduct = {
  verify: (work) => {
    const answer = `made up by ${work.node.name}`
    return verifyBy(work, answer, async () => ({ answer, verdict: 'match' }))
  },
}

/** What a cheat finds out. */
export type Diary = {
  /** Jobs whose leader's statement it saw before it had committed. */
  readonly peeked: JobId[]
  /** The codes with which the ICL refused what it posted. */
  readonly refusals: string[]
}

export const newDiary = (): Diary => ({ peeked: [], refusals: [] })

const noting = async ({ refusals }: Diary, work: Promise<void>): Promise<void> => {
  try {
    await work
  } catch (error) {
    if (error instanceof ProblemError) refusals.push(error.code)
    throw error
  }
}

/** Looks for the leader's statement before it commits, commits to something, and reveals the leader's evidence as its own. */
export const copyingVerifier = (diary: Diary): Conduct => ({
  verify: async (work) => {
    const { node, claimed } = work
    for (let look = 0; look < 3; look++) {
      await work.clock.sleep(3_000, work.signal)
      const params = { jobId: claimed.jobId }
      const seen = await node.api.getAssignment({ params, query: { wait: 0 } }, patient)
      if (seen.leader_statement) diary.peeked.push(claimed.jobId)
    }
    const copy = async ({ evidence }: LeaderStatement): Promise<Reveal> => ({
      answer: '',
      verdict: 'match',
      evidence,
    })
    await noting(diary, verifyBy(work, `nothing yet of ${node.name}`, copy))
  },
})

/** Works, commits to what it found, and reveals something else. */
export const revealsAnother = (diary: Diary): Conduct => ({
  verify: (work) => {
    const another = async (): Promise<Reveal> => ({
      answer: `another answer of ${work.node.name}`,
      verdict: 'no-match',
      reason: 'different-answer',
    })
    return noting(diary, verifyBy(work, work.answer, another))
  },
})

/** Works and commits, and never opens its commitment. */
export const neverReveals: Conduct = {
  verify: (work) => verifyBy(work, work.answer, async () => undefined),
}

/** Nodes that act as one, and what they tell one another outside the service: which of them leads which job. */
export type Ring = { readonly members: Set<Address>; readonly leads: Map<JobId, Address> }

/** Leads with a wrong answer, and confirms it when another of the ring leads; of others it verifies well, so as not to be seen. */
export function colluder({ members, leads }: Ring): Conduct {
  const wrong = ({ claimed }: Work) => `what the ring agreed on for ${claimed.jobId}`
  return {
    lead: (work) => {
      leads.set(work.claimed.jobId, work.node.address)
      return leadWith(work, wrong(work))
    },
    verify: async (work) => {
      await work.think()
      const leader = leads.get(work.claimed.jobId)
      const isOwn = leader !== undefined && members.has(leader)
      const answer = isOwn ? wrong(work) : work.answer
      await verifyBy(work, answer, (statement) => fairly(statement, answer))
    },
  }
}

async function leadWith(work: Work, answer: string): Promise<void> {
  const { icl, node, claimed, signal } = work
  await work.think()
  await node.api.postResult(
    { body: await resultBody(icl, node, claimed, answer) },
    { ...patient, signal },
  )
}

/** Answers wrongly, every `every`-th time, in either role; no two such nodes agree. */
export function wrongAnswers(every = 1): Conduct {
  let turn = 0
  const answerFor = (work: Work) =>
    turn++ % every === 0 ? `wrong in the way of ${work.node.name}` : work.answer
  return {
    lead: (work) => leadWith(work, answerFor(work)),
    verify: async (work) => {
      await work.think()
      const answer = answerFor(work)
      await verifyBy(work, answer, (leader) => fairly(leader, answer))
    },
  }
}

/** Signs two results for one assignment and posts both. */
export const equivocatingLeader = (diary: Diary): Conduct => ({
  lead: async (work) => {
    await leadWith(work, work.answer)
    await noting(diary, leadWith(work, `another answer of ${work.node.name}`))
  },
})

/** Claims and is silent. */
export const silent: Conduct = { lead: async () => {}, verify: async () => {} }
