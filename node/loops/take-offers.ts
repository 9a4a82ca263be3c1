import { type Clock, elapsedSince } from '../../lib/clock.ts'
import type { AssignmentOffer, AssignmentState } from '../../lib/schemas/assignments.ts'
import { nameOf } from '../journal/read-journal.ts'
import type { Log } from '../log.ts'
import type { NodeApi } from '../node-api.ts'
import type { Slots } from '../slots.ts'

const quietMs = 60_000

type TakerOptions = {
  readonly slots: Slots
  /** Starts a job in its slot, which claims it. The promise settles when the ICL has responded to the claim. */
  readonly spawn: (assignment: AssignmentOffer) => Promise<void>
  /** False while there is no valid certificate. Then the node takes no work. */
  readonly mayWork: () => boolean
  readonly clock: Clock
  readonly log: Log
}

/** Starts what is offered and not taken yet, as far as there are free slots. Returns the claims. */
export type TakeOffers = (offers: readonly AssignmentOffer[]) => readonly Promise<void>[]

/** Makes the function that takes offers until `signal` aborts. */
export function createTaker(options: TakerOptions, signal: AbortSignal): TakeOffers {
  const { slots, spawn, mayWork, clock, log } = options
  let quietSince = clock.monotonic()
  return (offers) => {
    if (signal.aborted || !mayWork()) return []
    // An assignment that is named twice would be answered twice at once, and paid for twice.
    const named = new Map(offers.map((offer) => [nameOf(offer), offer]))
    const fresh = [...named.values()].filter((offer) => !slots.isTaken(offer))
    if (fresh.length > 0) quietSince = clock.monotonic()
    if (elapsedSince(clock, quietSince) >= quietMs) {
      log.info('No assignments for last 60s')
      quietSince = clock.monotonic()
    }
    const takeable = fresh.slice(0, slots.free())
    if (takeable.length > 0) log.info(`Received ${fresh.length} assignment(s)`)
    return takeable.map((assignment) => {
      log.info(`Spawning ${assignment.role} job ${assignment.jobId}`)
      return spawn(assignment)
    })
  }
}

/** The ICL's client, which takes the offers that come with the answers to steps. */
export function takingOffers(api: NodeApi, take: TakeOffers): NodeApi {
  const taking = async <S extends AssignmentState>(answer: Promise<S>): Promise<S> => {
    const state = await answer
    if (state.assignments) take(state.assignments)
    return state
  }
  return {
    ...api,
    commitAssignment: (...asked) => taking(api.commitAssignment(...asked)),
    revealAnswer: (...asked) => taking(api.revealAnswer(...asked)),
    postResult: (...asked) => taking(api.postResult(...asked)),
    postVerdict: (...asked) => taking(api.postVerdict(...asked)),
  }
}
