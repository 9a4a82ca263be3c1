import type { Api } from '../../lib/api.ts'
import type { Clock } from '../../lib/clock.ts'
import type { JobId } from '../../lib/codecs.ts'
import { ProblemError } from '../../lib/problem.ts'
import type {
  AssignmentOffer,
  AssignmentState,
  OwnAssignment,
} from '../../lib/schemas/assignments.ts'
import type { PromptPart } from '../../lib/schemas/prompt-needs.ts'
import { commitTo, deliveryOf, openingOf, verdictOf } from '../icl/node-steps.ts'
import { heartbeatOf, modelId, type Outside, type TestNode } from '../icl/test-icl.ts'
import type { Dice } from './dice.ts'

/** How a node works; times in milliseconds. */
export type Habits = {
  readonly slots: number
  readonly thinkMs: readonly [number, number]
  /** How likely it falls silent for good in the middle of a job. */
  readonly dies: number
  /** What it answers to a prompt. */
  readonly answer: string | ((jobId: JobId) => string)
  /** The parts of a prompt document that it takes. */
  readonly takes?: readonly PromptPart[]
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

/** How a node works; whatever is left out, it does as it should. */
export type Conduct = {
  /** Answers and commits to the answer; false when it does nothing more. */
  readonly commit?: (work: Work) => Promise<boolean>
  readonly reveal?: (work: Work, seen: OwnAssignment) => Promise<void>
  readonly deliver?: (work: Work) => Promise<void>
  /** Looks at the delivery of another, whether its own answer matches it or not. */
  readonly check?: (work: Work, seen: OwnAssignment) => Promise<void>
  /** Steps of a job whose answers are weighed. */
  readonly show?: (work: Work) => Promise<void>
  readonly weigh?: (work: Work, seen: OwnAssignment) => Promise<void>
  readonly open?: (work: Work) => Promise<void>
}

/** A node that works by itself. */
export type SimulatedNode = TestNode & {
  /** Falls silent: what it does next, nobody hears. */
  kill(): void
  readonly isAlive: boolean
  /** Claims that it was granted, by job and fence. */
  readonly claims: string[]
}

type AssignmentId = Pick<AssignmentOffer, 'jobId' | 'fence'>

const nameOf = ({ jobId, fence }: AssignmentId) => `${jobId}:${fence}`

const heartbeatMs = 60_000
/** Tries that outlast whatever goes wrong. */
export const patient = { attempts: 30, timeoutMs: 5_000 }
const held = { timeoutMs: 40_000 }

/** The calls of a node that has the answers to its steps wait for the next one, and does not ask for what it has been told. */
function told(api: Api, start: (offer: AssignmentOffer) => void): Api {
  const steps = new Map<JobId, OwnAssignment>()
  type Post = (input: { body: { jobId: JobId } }, options?: object) => Promise<AssignmentState>
  const telling =
    (post: Post): Post =>
    async (input, options) => {
      const answer = await post({ ...input, ...{ query: { wait: 10 } } }, { ...options, ...held })
      if (answer.next) steps.set(input.body.jobId, answer.next)
      for (const offer of answer.assignments ?? []) start(offer)
      return answer
    }
  const names = [
    'commitAssignment',
    'revealAnswer',
    'postResult',
    'postVerdict',
    'showAnswer',
    'weighAnswers',
    'openNumbers',
  ] as const
  return {
    ...api,
    ...Object.fromEntries(names.map((name) => [name, telling(api[name] as Post)])),
    getAssignment: async (input, options) => {
      const { jobId } = input.params
      const step = input.query?.wait ? steps.get(jobId) : undefined
      steps.delete(jobId)
      return step ?? api.getAssignment(input, options)
    },
  }
}

/** Half of the nodes do all that answers can bring; the others make each call of the protocol by itself. */
const isThrifty = ({ address }: TestNode): boolean => Number.parseInt(address.slice(-1), 16) % 2 > 0

/** Lets an attested node beat, poll and work, until it is killed. */
export function startNode(
  world: { readonly icl: Outside; readonly clock: Clock; readonly dice: Dice },
  plain: TestNode,
  habits: Habits,
): SimulatedNode {
  const node = isThrifty(plain)
    ? { ...plain, api: told(plain.api, (offer) => start(offer)) }
    : plain
  const { icl, clock, dice } = world
  const life = new AbortController()
  const { signal } = life
  const running = new Set<string>()
  const claims: string[] = []
  const options = { ...patient, signal }

  const sendBeat = () => {
    const beat = heartbeatOf(node.address, clock, habits.slots - running.size)
    const model_takes = habits.takes && [{ model_id: modelId, parts: [...habits.takes] }]
    const body = { ...beat, ...(model_takes && { model_takes }) }
    return node.api.postHeartbeat({ body }, options)
  }
  const think = async () => {
    await clock.sleep(dice.between(...habits.thinkMs), signal)
    if (dice.chance(habits.dies)) life.abort(new Error('the node died'))
    signal.throwIfAborted()
  }

  const claim = ({ jobId, fence }: AssignmentId) =>
    node.api.claimAssignment({ body: { jobId, fence } }, options)
  const work = async (claimed: Claimed, leave: () => void) => {
    claims.push(nameOf(claimed))
    const answer = typeof habits.answer === 'string' ? habits.answer : habits.answer(claimed.jobId)
    const given: Work = { icl, node, claimed, clock, signal, answer, think, leave }
    await workBy(habits.conduct ?? {}, given)
  }

  const beatLoop = async () => {
    while (!signal.aborted) {
      await sendBeat().catch(() => {})
      await clock.sleep(heartbeatMs, signal).catch(() => {})
    }
  }
  const start = (id: AssignmentId) => {
    const name = nameOf(id)
    if (running.has(name) || running.size >= habits.slots) return
    running.add(name)
    const leave = () => running.delete(name)
    void claim(id)
      .then((claimed) => work(claimed, leave))
      // A refusal means that another node has the work now.
      .catch(() => {})
      .finally(leave)
  }
  const pollLoop = async () => {
    while (!signal.aborted) {
      const answer = await node.api
        .getAssignments(
          { params: { address: node.address }, query: { wait: 5 } },
          { ...held, signal },
        )
        .catch(() => undefined)
      for (const offer of answer?.assignments ?? []) start(offer)
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

const pauseMs = 2_000

/** Commits, and does each step that the ICL names, once, until nothing is left to do. */
async function workBy(conduct: Conduct, work: Work): Promise<void> {
  const { node, claimed, clock, signal } = work
  const { commit = commitWell, reveal = revealWell } = conduct
  const { deliver = deliverWell, check = checkWell } = conduct
  if (!(await commit(work))) return
  // Committing frees the slot: what is left is mostly a wait.
  work.leave()
  const input = { params: { jobId: claimed.jobId }, query: { wait: 20 } }
  const done = new Set<string>()
  for (;;) {
    const seen = await untilHeard(clock, signal, () =>
      node.api.getAssignment(input, { ...held, signal }),
    )
    const { step, to_check: delivered } = seen
    if (step === 'over' || seen.fence !== claimed.fence) return
    const name = `${step} ${delivered?.delivery.signature}`
    if (step === 'wait') continue
    if (done.has(name)) await clock.sleep(pauseMs, signal)
    else if (step === 'reveal') await reveal(work, seen)
    else if (step === 'deliver') await deliver(work)
    else if (step === 'show') await conduct.show?.(work)
    else if (step === 'weigh') await conduct.weigh?.(work, seen)
    else if (step === 'open') await conduct.open?.(work)
    else if (delivered) await check(work, seen)
    done.add(name)
  }
}

/** Works, and commits to its answer. */
async function commitWell(work: Work): Promise<boolean> {
  await work.think()
  return commitAs(work, work.answer)
}

/** Commits to an answer. */
export async function commitAs({ node, claimed, clock, signal }: Work, answer: string) {
  await untilHeard(clock, signal, () => commitTo(node, claimed, answer))
  return true
}

const revealWell = async ({ node, claimed, signal }: Work, seen: OwnAssignment): Promise<void> => {
  const body = await openingOf(node, claimed.jobId, seen)
  await node.api.revealAnswer({ body }, { ...patient, signal })
}

/** Delivers as a node should, but for the output, which nobody looks at here. */
const deliverWell = async ({ icl, node, claimed, clock, signal }: Work): Promise<void> => {
  const body = await untilHeard(clock, signal, () => deliveryOf(icl, node, claimed.jobId))
  await node.api.postResult({ body }, { ...patient, signal })
}

const checkWell = (work: Work): Promise<void> => say(work)

/** Says of the current delivery what the evidence shows, or something else. */
export async function say(
  { node, claimed, clock, signal }: Work,
  said?: Parameters<typeof verdictOf>[2],
): Promise<void> {
  const body = await untilHeard(clock, signal, () => verdictOf(node, claimed.jobId, said))
  await node.api.postVerdict({ body }, { ...patient, signal })
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
