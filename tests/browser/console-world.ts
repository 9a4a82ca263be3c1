import { createApp } from '../../icl/app.ts'
import { openAccess } from '../../icl/rules/access.ts'
import { attestedNode, type Node } from '../../icl/rules/eligibility.ts'
import type { Job } from '../../icl/rules/job.ts'
import { assignmentOf, isSettled, recorded } from '../../icl/rules/job.ts'
import { listen } from '../../icl/start/listen.ts'
import type { Address, JobId } from '../../lib/codecs.ts'
import { type ReputationCode, standingOf } from '../../lib/reputation.ts'
import { aHash, aJobId, anAddress } from '../branded.ts'
import { activeNode } from '../icl/fake-chain.ts'
import {
  abortTurnBy,
  claimed,
  commitBy,
  delivered,
  inTurn,
  revealed,
  sampleJob,
  take,
  verdictBy,
} from '../icl/rules/sample-job.ts'
import { createTestIcl } from '../icl/test-icl.ts'
import { sampleReading } from '../sample-reading.ts'

const hex = (prefix: string, index: number, digits: number): `0x${string}` =>
  `0x${(prefix + index.toString(16).padStart(4, '0')).repeat(digits).slice(0, digits)}`

/** The address of one of the nodes. */
export const nodeAt = (index: number): Address => anAddress(hex('a7', index, 40))
// Must never be shown.
const client: Address = anAddress(hex('c1', 7, 40))
/** The id of one of the jobs; each ninth from the fourth on has four nodes to ask. */
export const idAt = (index: number): JobId => aJobId(hex('1d', index, 64))

// The same numbers on every run, so that a picture changes only with the page.
const spread = (index: number, salt: number): number =>
  ((index * 7919 + salt * 104_729) % 1000) / 1000

const models = ['openai:gpt-5-mini', 'anthropic:claude-haiku', 'openai:gpt-5']
const codes: readonly ReputationCode[] = [
  ...['answer-delivered', 'answer-agreed', 'answer-agreed', 'answer-delivered'],
  ...['answer-agreed', 'lease-lapsed', 'answer-contradicted'],
] as ReputationCode[]

function seededNode(index: number, now: number): { node: Node; events: readonly Event[] } {
  const address = nodeAt(index)
  const events = Array.from({ length: 3 + ((index * 17) % 23) * 4 }, (_, step) => ({
    id: `${address}:${step}`,
    node: address,
    jobId: idAt(step * 3),
    code: codes[Math.floor(spread(index * 31 + step, 9) ** (1 + (index % 4) / 2) * codes.length)]!,
    at: now - (step + 1) * 97_000,
  }))
  const age = spread(index, 1) * 20 * 3_600_000
  const certificate = {
    id: `certificate ${index}`,
    backend: index % 4 === 0 ? ('mock' as const) : ('tpm' as const),
    issuedAt: now - age,
    expiresAt: now - age + 86_400_000,
    thumbprint: `t${index}`,
    session: { key: 'k', not_after: Math.floor(now / 1000) + 86_400, signature: '0x' as const },
    highestTier: index % 4 === 0 ? 0 : 2,
  }
  const isLate = index % 11 === 5
  return {
    events,
    node: {
      ...attestedNode(address, certificate, sampleReading),
      heartbeatAt: now - (isLate ? 400_000 : spread(index, 2) * 60_000),
      polledAt: now - (isLate ? 400_000 : 3_000),
      version: '0.1.0',
      modelIds: models.slice(0, 1 + (index % models.length)),
      capacity: 4,
      standing: standingOf(events),
    },
  }
}
type Event = { id: string; node: Address; jobId: JobId; code: ReputationCode; at: number }

type End = 'accepted' | 'disagreed' | 'undelivered' | 'expired' | 'cancelled'
const ends: readonly End[] = [
  ...Array.from({ length: 14 }, () => 'accepted' as const),
  ...(['disagreed', 'undelivered', 'expired', 'cancelled'] as const),
]

/** A job as it is some seconds after it came, by the rules. */
export function seededJob(index: number, createdAt: number, isRunning = false): Job {
  const seats = index % 9 === 4 ? 4 : 3
  const members = Array.from({ length: seats }, (_, seat) => nodeAt((index * 3 + seat * 17) % 50))
  const seconds = 2 + spread(index, 3) * 7 + (index % 37 === 0 ? 30 : 0)
  const at = (share: number) => Math.floor(createdAt + seconds * 1000 * share)
  const end = ends[index % ends.length]!
  let job: Job = sampleJob({
    id: idAt(index),
    client,
    modelId: models[index % models.length]!,
    promptCid: `bafkreiaplanted${'p'.repeat(43)}a`,
    kpHighHandle: 987_654_321_012_345_678n,
    createdAt,
    deadline: end === 'expired' ? at(1) : createdAt + 600_000,
    members,
  })
  const quorum = members.slice(0, 3)
  for (const node of quorum) job = claimed(job, node, at(0.1))
  if (!isRunning) job = endedJob(job, end, at)
  job = { ...job, outbox: [] }
  if (isRunning) return { ...job, tickAt: createdAt + 900_000 }
  if (job.phase !== 'accepted') return job
  const committed = recorded(job, at(1.4), 'result-committed', { detail: idAt(index + 9_000) })
  return {
    ...committed,
    commitTx: aHash(idAt(index + 9_000)),
    receiptHash: aHash(idAt(index + 5_000)),
  }
}

function endedJob(claimedJob: Job, end: End, at: (share: number) => number): Job {
  const { members } = claimedJob.list
  if (end === 'cancelled') return take(claimedJob, { type: 'cancel' }, at(1))
  if (end === 'expired') {
    return take(claimedJob, { type: 'tick', members: members.map(() => 'no-heartbeat') }, at(1))
  }
  const answers = end === 'disagreed' ? ['one', 'two', 'three', 'four'] : ['yes', 'yes', 'yes']
  // With a fourth node on the list two that match are not enough: it joins.
  if (end === 'accepted' && members.length > 3) answers.splice(1, 1, 'no')
  let job = answeredBy(claimedJob, members.slice(0, 3), answers, at(0.5))
  const [, , , joiner] = members
  if (joiner && !isSettled(job.phase) && !job.agreement) {
    job = take(job, { type: 'tick', members: members.map(() => 'fit') }, at(0.6))
    job = answeredBy(claimed(job, joiner, at(0.6)), [joiner], [answers[3] ?? 'yes'], at(0.7))
  }
  if (end === 'undelivered') {
    for (const node of inTurn(job)) job = take(job, abortTurnBy(job, node), at(1))
  }
  if (end !== 'accepted') return job
  job = delivered(job, at(0.8))
  const [deliverer] = inTurn(job)
  for (const node of members) {
    const own = assignmentOf(job, node)?.answer?.body
    const others = assignmentOf(job, deliverer!)?.answer?.body
    if (node === deliverer || !own || isSettled(job.phase)) continue
    const isSame = own.evidence.digest === others?.evidence.digest
    job = take(job, verdictBy(job, node, isSame ? 'match' : 'different-answer'), at(1))
  }
  return job
}

/** Nodes commit to their answers and reveal them. */
function answeredBy(
  job: Job,
  nodes: readonly Address[],
  answers: readonly string[],
  at: number,
): Job {
  const given = nodes.map((node, index) => [node, answers[index]!] as const)
  const bound = given.reduce(
    (next, [node, answer]) => take(next, commitBy(next, node, answer), at),
    job,
  )
  return revealed(bound, given, at)
}

/** An ICL with 50 nodes and 500 jobs, on a clock that a test moves. */
export async function createConsoleIcl({ nodes = 50, jobs = 500, access = openAccess } = {}) {
  const icl = await createTestIcl({ access })
  const { store } = icl.deps
  const now = icl.clock.now()
  for (let index = 0; index < nodes; index++) {
    const { node, events } = seededNode(index, now)
    const chain = { ...activeNode, modelTiers: [0, 1, 2] }
    icl.chain.nodes.set(node.address, index % 13 === 7 ? { ...chain, active: false } : chain)
    await store.save({ kind: 'node', node, base: 0 })
    for (const event of events) await store.save({ kind: 'event', event })
  }
  for (let index = 0; index < jobs; index++) {
    // More of them lately, in waves.
    const ago = 9_000 + (index * 7_300 + Math.sin(index / 40) * 60_000 + spread(index, 5) * 20_000)
    const isRunning = index < 6
    const job = seededJob(index, Math.floor(now - (isRunning ? index * 900 + 500 : ago)), isRunning)
    await store.save({ kind: 'job', job, base: 0 })
  }
  return icl
}

/** The same over HTTP. */
export async function startConsoleWorld(options: Parameters<typeof createConsoleIcl>[0] = {}) {
  const icl = await createConsoleIcl(options)
  const server = listen(createApp(icl.deps), { hostname: '127.0.0.1', port: 0 })
  return {
    icl,
    origin: new URL(server.url).origin,
    stop: async () => {
      await server.stop(true)
      await icl.stop()
    },
  }
}
