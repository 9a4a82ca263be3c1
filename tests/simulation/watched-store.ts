import type { Node } from '../../icl/rules/eligibility.ts'
import { defaultJobLimits, type Job } from '../../icl/rules/job.ts'
import { createMemoryStore } from '../../icl/store/memory/store.ts'
import type { Store, Write } from '../../icl/store/store.ts'
import type { Clock } from '../../lib/clock.ts'
import type { JobId } from '../../lib/codecs.ts'
import { ProblemError } from '../../lib/problem.ts'
import type { Dice } from './dice.ts'

/** A store, which is sometimes slow or away, and notes each save that breaks a promise. */
export type WatchedStore = Store & {
  readonly broken: string[]
  /** Every job as it was saved last. */
  readonly latest: Map<JobId, Job>
  /** Every call fails while it is set. */
  isAway: boolean
  /** How likely it is that a save is done, and its answer lost. */
  lostAnswers: number
  /** Whether a replica continues just now with an offer that it began before it was frozen: another may have made its own meanwhile. */
  isThawing: () => boolean
  /** Hears of every save that was done and not said to be. */
  onLostAnswer: () => void
  /** Hears of every save of a job. */
  onJob: (before: Job | undefined, after: Job) => void
  /** Hears of every save. */
  onSaved: (write: Write) => void
}

/** The ICL reads the node, then decides on the offer, by a clock that may be a second fast. */
const crossingMs = 1_500

const synchronous: ReadonlySet<string> = new Set(['status', 'scan'])

/** Watches a store that several replicas may share; it is in memory unless another is given. */
export function createWatchedStore(
  clock: Clock,
  dice: Dice,
  base: Store = { ...createMemoryStore(), shared: true },
): WatchedStore {
  const broken: string[] = []
  const latest = new Map<JobId, Job>()
  const slowly = async () => {
    if (dice.chance(0.05)) await clock.sleep(dice.between(1, 40))
  }
  const reports = new Map<string, { readonly capacity: number; replacedAt: number }[]>()
  /** The most that the node took since the offer was decided on. Its save may come later: commits of a mirror wait while the database flickers. */
  const capacityOf = (node: Node, decidedAt: number) => {
    const since = (reports.get(node.address) ?? []).filter(
      ({ replacedAt }) => decidedAt - replacedAt < crossingMs,
    )
    return Math.max(node.capacity, ...since.map(({ capacity }) => capacity))
  }
  const saveAll = async (writes: readonly Write[]) => {
    const job = writes.find((write) => write.kind === 'job')?.job
    const node = writes.find((write) => write.kind === 'node')?.node
    const before = job && (await base.findJob(job.id))?.document
    const known = node && (await base.findNode(node.address))?.document
    // Known before it is done: what is committed with it may be looked at first.
    const replaced = { capacity: known?.capacity ?? 0, replacedAt: Number.POSITIVE_INFINITY }
    if (known) reports.set(known.address, [...(reports.get(known.address) ?? []), replaced])
    const refused = await base.saveAll(writes).finally(() => {
      replaced.replacedAt = clock.now()
    })
    if (!refused) for (const write of writes) watched.onSaved(write)
    if (!refused && job) {
      latest.set(job.id, job)
      broken.push(...brokenBy(before, job))
      if (!watched.isThawing()) broken.push(...(await overfull(base, before, job, capacityOf)))
      watched.onJob(before, job)
    }
    if (watched.lostAnswers > 0 && dice.chance(watched.lostAnswers)) {
      watched.onLostAnswer()
      throw away()
    }
    return refused
  }
  const saving: Pick<Store, 'save' | 'saveAll'> = {
    save: async (write) => (await saveAll([write])) === undefined,
    saveAll,
  }
  const watched: WatchedStore = new Proxy(
    {
      broken,
      latest,
      isAway: false,
      lostAnswers: 0,
      isThawing: () => false,
      onLostAnswer: () => {},
      onJob: () => {},
      onSaved: () => {},
    } as unknown as WatchedStore,
    {
      get: (own, name) => {
        if (name in own) return Reflect.get(own, name)
        const value: unknown = Reflect.get(name in saving ? saving : base, name)
        if (typeof value !== 'function' || synchronous.has(String(name))) return value
        return async (...args: unknown[]) => {
          await slowly()
          if (watched.isAway) throw away()
          const answer: unknown = await value.apply(base, args)
          await slowly()
          return answer
        }
      },
    },
  )
  return watched
}

const away = () => new ProblemError('unavailable', 'The database is away', { retryAfterSeconds: 1 })

/** What no change of a job may do. */
function brokenBy(before: Job | undefined, after: Job): string[] {
  const about = `job ${after.id.slice(0, 10)}`
  const fences = after.assignments.map(({ fence }) => fence)
  const seats = Array.from({ length: after.seats }, (_, seat) => seat)
  const checks: readonly [boolean, string][] = [
    [after.nextFence < (before?.nextFence ?? 0), 'a fence went back'],
    [new Set(fences).size !== fences.length, 'one fence was given out twice'],
    [before !== undefined && !isOpen(before) && before.phase !== after.phase, 'came back'],
    [
      before?.assignments.some(
        (assignment) => after.assignments.find(same(assignment))?.node !== assignment.node,
      ) === true,
      'a fence changed its node',
    ],
    [
      before?.assignments.some((assignment) => wentBack(assignment, after)) === true,
      'an assignment lost what it had',
    ],
    [(before?.nextEffect ?? 0) > after.nextEffect, 'an effect was lost'],
    [
      before?.agreement !== undefined &&
        String(before.agreement.order) !== String(after.agreement?.order),
      'an agreement was lost',
    ],
    [
      (before?.agreement?.turns.length ?? 0) > (after.agreement?.turns.length ?? 0),
      'a turn was lost',
    ],
    [
      seats.some((seat) => after.assignments.filter(holds(seat)).length > 1),
      'two nodes hold one seat',
    ],
    [isOpen(after) && after.tickAt === undefined, 'nothing wakes it'],
  ]
  return checks.flatMap(([isBroken, what]) => (isBroken ? [`${about}: ${what}`] : []))
}

const progress: Record<AssignmentIn['status'], number> = {
  'awaiting-grant': 0,
  offered: 1,
  claimed: 2,
  committed: 3,
  aborted: 4,
  lapsed: 4,
  // A node that was late may reveal all the same.
  revealed: 5,
}

const isOpen = ({ phase }: Job) => ['open', 'running'].includes(phase)

/** True when an assignment is gone, or is not as far as it was. */
function wentBack(before: AssignmentIn, { assignments }: Job): boolean {
  const after = assignments.find(same(before))
  if (!after || progress[after.status] < progress[before.status]) return true
  if (before.answer !== undefined && after.answer?.hash !== before.answer.hash) return true
  const isBack = before.reason === 'never-revealed' && after.status === 'revealed'
  return progress[before.status] === 4 && after.status !== before.status && !isBack
}

type AssignmentIn = Job['assignments'][number]
const same =
  ({ fence }: AssignmentIn) =>
  (assignment: AssignmentIn) =>
    assignment.fence === fence
const holds = (seat: number) => (assignment: AssignmentIn) =>
  assignment.seat === seat && !['aborted', 'lapsed'].includes(assignment.status)

/** Nodes that were offered more than they take. */
async function overfull(
  store: Store,
  before: Job | undefined,
  after: Job,
  capacityOf: (node: Node, decidedAt: number) => number,
): Promise<string[]> {
  const offered = after.assignments.filter(
    (assignment) =>
      assignment.status === 'offered' &&
      before?.assignments.find(same(assignment))?.status === 'awaiting-grant',
  )
  const occupied = await store.countOccupiedSlots()
  const full: string[] = []
  for (const { node, deadline } of offered) {
    const found = (await store.findNode(node))?.document
    const decidedAt = (deadline ?? 0) - defaultJobLimits.offerMs
    const capacity = found ? capacityOf(found, decidedAt) : 0
    const counted = occupied.get(node)
    if ((counted?.offered ?? 0) + (counted?.claimed ?? 0) > capacity) {
      full.push(`node ${node.slice(0, 8)} was offered more than it takes`)
    }
  }
  return full
}
