import type { Job } from '../../icl/rules/job.ts'
import type { Address, JobId } from '../../lib/codecs.ts'

/** A claim as its caller saw it; times in milliseconds. */
export type Claim = {
  readonly jobId: JobId
  readonly fence: number
  readonly node: Address
  readonly startedAt: number
  readonly endedAt: number
  /** Granted, refused with a code of 4xx, or failed without a decision. */
  readonly outcome: 'granted' | 'refused' | 'failed'
}

/** What became of all claims. */
export type Counts = {
  readonly claims: number
  readonly granted: number
  readonly refused: number
  readonly failed: number
  /** Assignments that were granted for the first time. */
  readonly leases: number
  /** Fences that two nodes were granted, seats that two nodes held at once, and grants of which the store knows nothing. */
  readonly doubleGrants: number
  readonly fenceRegressions: number
}

/** Counts claims, and holds the grants against what the store says of the job in the end. */
export function createTally() {
  const open = new Map<JobId, Claim[]>()
  const counts = {
    claims: 0,
    granted: 0,
    refused: 0,
    failed: 0,
    leases: 0,
    doubleGrants: 0,
    fenceRegressions: 0,
  }
  return {
    counts: (): Counts => ({ ...counts }),
    add: (claim: Claim): void => {
      counts.claims += 1
      counts[claim.outcome] += 1
      if (claim.outcome !== 'granted') return
      const known = open.get(claim.jobId)
      if (known) known.push(claim)
      else open.set(claim.jobId, [claim])
    },
    check: (job: Job): void => {
      const grants = open.get(job.id) ?? []
      open.delete(job.id)
      counts.leases += new Set(grants.map(({ fence }) => fence)).size
      counts.doubleGrants += sharedFences(grants) + unknownGrants(job, grants) + overlaps(job)
      counts.fenceRegressions += fencesGoingBack(job) + grantsGoingBack(job, grants)
    },
    /** Jobs with grants that were never checked. */
    unchecked: (): number => open.size,
  }
}

const sharedFences = (grants: readonly Claim[]): number => {
  const nodes = new Map<number, Set<Address>>()
  for (const { fence, node } of grants) {
    nodes.set(fence, (nodes.get(fence) ?? new Set()).add(node))
  }
  return [...nodes.values()].filter(({ size }) => size > 1).length
}

const seqOf = (job: Job, fence: number, types: readonly string[]): number | undefined =>
  job.events.find((event) => event.fence === fence && types.includes(event.type))?.seq

/** Grants whose claim is not in the job's history: another writer saved over it. */
const unknownGrants = (job: Job, grants: readonly Claim[]): number => {
  const known = new Set(
    job.assignments
      .filter(({ fence }) => seqOf(job, fence, ['claimed']) !== undefined)
      .map(({ fence, node }) => `${fence}:${node}`),
  )
  const granted = new Set(grants.map(({ fence, node }) => `${fence}:${node}`))
  return [...granted].filter((grant) => !known.has(grant)).length
}

/** Seats that were given to another before the one who had them lost them. */
const overlaps = (job: Job): number =>
  job.assignments.filter((assignment, index) => {
    const before = job.assignments
      .slice(0, index)
      .findLast((other) => other.seat === assignment.seat)
    if (!before) return false
    const ended = seqOf(job, before.fence, ['lapsed', 'aborted'])
    const chosen = seqOf(job, assignment.fence, ['chosen'])
    return ended === undefined || chosen === undefined || ended > chosen
  }).length

const fencesGoingBack = ({ assignments }: Job): number =>
  assignments.filter(({ fence }, index) => fence <= (assignments[index - 1]?.fence ?? 0)).length

/** Grants of a seat that began after a later fence of the same seat had been granted. */
const grantsGoingBack = (job: Job, grants: readonly Claim[]): number => {
  const seats = new Map(job.assignments.map(({ fence, seat }) => [fence, seat]))
  return grants.filter((grant) =>
    grants.some(
      (other) =>
        other.fence > grant.fence &&
        other.endedAt < grant.startedAt &&
        seats.get(other.fence) === seats.get(grant.fence),
    ),
  ).length
}
