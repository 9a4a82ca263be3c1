import type { ChainResult } from '../../icl/chain/chain.ts'
import type { Assignment, Job } from '../../icl/rules/job.ts'

/**
 * Why a job may not be accepted by what stands in it, in words; empty when it may. Written from the rules, not from the code that
 * applies them: two matches that are more than half; or, but for `exact`, one match and nobody against it.
 */
export function whyNotAccepted(job: Job): readonly string[] {
  const seats = [...new Set(job.assignments.filter(({ round }) => round === job.round).map(seatOf))]
  const assignments = seats.map((seat) => lastOf(job, seat))
  const [leader, ...others] = assignments.sort((a, b) => a.seat - b.seat)
  const verifiers = others.filter(({ role }) => role === 'verifier')
  const about = `job ${job.id.slice(0, 10)} was accepted`
  const nodes = new Set(assignments.map(({ node }) => node))
  const wrong: string[] = []
  if (leader?.role !== 'leader' || leader.status !== 'done') wrong.push('without a leader')
  if (!job.result) wrong.push('without a result')
  if (assignments.some(({ status }) => status !== 'done'))
    wrong.push('before every seat had answered')
  if (nodes.size !== assignments.length) wrong.push('by a node that had two seats')
  if (nodes.has(job.client)) wrong.push('by its own client')
  if (verifiers.length > 5) wrong.push('by more than five verifiers')
  if (!isEnough(job, verifiers)) wrong.push(`by ${verifiers.map(voteOf).join(', ') || 'nobody'}`)
  if (verifiers.some((assignment) => isFalseMatch(job, assignment))) {
    wrong.push("by a match that is not the leader's answer")
  }
  return wrong.map((how) => `${about} ${how}`)
}

const seatOf = ({ seat }: Assignment) => seat
const lastOf = ({ assignments, round }: Job, seat: number): Assignment =>
  assignments.findLast(
    (assignment) => assignment.round === round && assignment.seat === seat,
  ) as Assignment

const voteOf = ({ verdict }: Assignment): string =>
  verdict?.body.reason ?? verdict?.body.verdict ?? 'no vote'

function isEnough({ comparator, minMatches }: Job, verifiers: readonly Assignment[]): boolean {
  const votes = verifiers.map(voteOf)
  const matches = votes.filter((vote) => vote === 'match').length
  const against = votes.filter((vote) => vote !== 'match' && vote !== 'inconclusive').length
  if (matches < minMatches) return false
  if (matches > 1 && matches > votes.length / 2) return true
  return comparator !== 'exact' && matches > 0 && against === 0
}

const isFalseMatch = ({ comparator, result }: Job, { verdict }: Assignment): boolean =>
  comparator === 'exact' &&
  verdict?.body.verdict === 'match' &&
  verdict.body.evidence.digest !== result?.body.evidence.digest

/** What is wrong with a result that was put on chain, in words. */
export function whyNotOnChain(result: ChainResult, job: Job | undefined): readonly string[] {
  const about = `the result of ${result.jobId.slice(0, 10)} on chain`
  if (!job) return [`${about} is of no job`]
  if (job.phase !== 'accepted') return [`${about} is of a job that is ${job.phase}`]
  const current = job.assignments.filter(
    ({ round, status }) => round === job.round && status === 'done',
  )
  const verifiers = current.filter(({ role }) => role === 'verifier').map(({ node }) => node)
  const leader = current.find(({ role }) => role === 'leader')?.node
  const wrong: string[] = [...whyNotAccepted(job)]
  if (result.receiptHash !== job.receiptHash) wrong.push(`${about} has another receipt`)
  if (result.leader !== leader) wrong.push(`${about} names another leader`)
  if (result.verifiers.includes(result.leader)) wrong.push(`${about} has its leader as a verifier`)
  const named = new Set(result.verifiers)
  if (named.size !== verifiers.length || verifiers.some((node) => !named.has(node))) {
    wrong.push(`${about} names other verifiers`)
  }
  return wrong
}
