import type { Clock } from '../../lib/clock.ts'
import type { JobId } from '../../lib/codecs.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { AssignmentOffer } from '../../lib/schemas/assignments.ts'
import {
  type beat,
  commitTo,
  modelId,
  type Outside,
  resultBody,
  type TestNode,
} from '../icl/test-icl.ts'
import type { Dice } from './dice.ts'

/** How a node works; times in milliseconds. */
export type Habits = {
  readonly slots: number
  readonly thinkMs: readonly [number, number]
  /** How likely it falls silent for good in the middle of a job. */
  readonly dies: number
  /** What it answers to a prompt. */
  readonly answer: string | ((jobId: JobId) => string)
  /** Whatever it does otherwise than a node should. */
  readonly conduct?: Conduct
}

type Claimed = Awaited<ReturnType<TestNode['api']['claimAssignment']>>

/** An assignment that a node has claimed, and what it works with. */
export type Work = {
  readonly icl: Outside
  readonly node: TestNode
  readonly claimed: Claimed
  readonly clock: Clock
  readonly signal: AbortSignal
  /** What it would answer if it did as it should. */
  readonly answer: string
  /** Takes as long as an inference. */
  think(): Promise<void>
  /** Frees the place that the assignment takes. */
  leave(): void
}

/** How a node leads or verifies. */
export type Conduct = {
  readonly lead?: (work: Work) => Promise<void>
  readonly verify?: (work: Work) => Promise<void>
}

/** A node that works by itself. */
export type SimulatedNode = TestNode & {
  /** Falls silent: what it does next, nobody hears. */
  kill(): void
  readonly isAlive: boolean
  /** Claims that it was granted, by job and fence. */
  readonly claims: string[]
}

const heartbeatMs = 60_000
const patient = { attempts: 30, timeoutMs: 5_000 }
const held = { timeoutMs: 40_000 }

/** Lets an attested node beat, poll and work, until it is killed. */
export function startNode(
  world: { readonly icl: Outside; readonly clock: Clock; readonly dice: Dice },
  node: TestNode,
  habits: Habits,
): SimulatedNode {
  const { icl, clock, dice } = world
  const life = new AbortController()
  const { signal } = life
  const running = new Set<string>()
  const claims: string[] = []
  const options = { ...patient, signal }

  const sendBeat = (): ReturnType<typeof beat> =>
    node.api.postHeartbeat(
      {
        body: {
          operator_address: node.address,
          timestamp: Math.floor(clock.now() / 1000),
          version: '0.0.0',
          free_slots: habits.slots - running.size,
          supported_model_ids: [modelId],
        },
      },
      options,
    )
  const think = async () => {
    await clock.sleep(dice.between(...habits.thinkMs), signal)
    if (dice.chance(habits.dies)) life.abort(new Error('the node died'))
    signal.throwIfAborted()
  }

  const work = async ({ jobId, fence }: AssignmentOffer, leave: () => void) => {
    const claimed = await node.api.claimAssignment(
      { body: { jobId: jobId as JobId, fence } },
      options,
    )
    claims.push(`${jobId}:${claimed.fence}`)
    const answer = typeof habits.answer === 'string' ? habits.answer : habits.answer(claimed.jobId)
    const given: Work = { icl, node, claimed, clock, signal, answer, think, leave }
    const { lead = leadWell, verify = verifyWell } = habits.conduct ?? {}
    await (claimed.role === 'leader' ? lead(given) : verify(given))
  }

  const beatLoop = async () => {
    while (!signal.aborted) {
      await sendBeat().catch(() => {})
      await clock.sleep(heartbeatMs, signal).catch(() => {})
    }
  }
  const pollLoop = async () => {
    while (!signal.aborted) {
      const answer = await node.api
        .getAssignments(
          { params: { address: node.address }, query: { wait: 20 } },
          { ...held, signal },
        )
        .catch(() => ({ assignments: [] }))
      for (const assignment of answer.assignments) {
        const name = `${assignment.jobId}:${assignment.fence}`
        if (running.size >= habits.slots || running.has(name)) continue
        running.add(name)
        const leave = () => running.delete(name)
        void work(assignment, leave)
          // A refusal means that somebody else has the work now.
          .catch(() => {})
          .finally(leave)
      }
      // A node that is full must not ask again at once.
      await clock.sleep(running.size > 0 ? 1_000 : 10, signal).catch(() => {})
    }
  }
  void beatLoop()
  void pollLoop()
  return {
    ...node,
    claims,
    kill: () => life.abort(new Error('the node was killed')),
    get isAlive() {
      return !signal.aborted
    },
  }
}

/** Leads as a node should. */
async function leadWell({ icl, node, claimed, signal, answer, think }: Work): Promise<void> {
  await think()
  const body = await resultBody(icl, node, claimed, answer)
  await node.api.postResult({ body }, { ...patient, signal })
}

/** Verifies as a node should, but for the output, which nobody looks at here. */
async function verifyWell(work: Work): Promise<void> {
  const { node, claimed, clock, signal, answer } = work
  await work.think()
  const reveal = await untilHeard(clock, signal, () => commitTo(node, claimed, answer))
  // Committing frees the slot: what is left is a wait.
  work.leave()
  if (!(await leaderStatementFor(work))) return
  const body = await untilHeard(clock, signal, reveal)
  await node.api.postVerdict({ body }, { ...patient, signal })
}

/** Waits for the leader's statement; undefined when the node has no part any more. */
export async function leaderStatementFor({ node, claimed, clock, signal }: Work) {
  const input = { params: { jobId: claimed.jobId }, query: { wait: 20 } }
  for (;;) {
    const seen = await untilHeard(clock, signal, () =>
      node.api.getAssignment(input, { ...held, signal }),
    )
    if (seen.leader_statement) return seen.leader_statement
    if (seen.status !== 'committed') return undefined
  }
}

/** Tries again while nobody was heard; a refusal is final. */
export async function untilHeard<T>(
  clock: Clock,
  signal: AbortSignal | undefined,
  ask: () => Promise<T>,
): Promise<T> {
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      const isFinal = error instanceof ProblemError && error.status < 429
      if (isFinal || signal?.aborted) throw error
      await clock.sleep(500, signal)
    }
  }
}
