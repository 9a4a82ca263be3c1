/*
 * Problem: more prompts come than the nodes can answer. A draw that went ahead at once would only make a job that waits for
 * its nodes until its deadline, and a client that sends hundreds of prompts would keep all others waiting.
 *
 * Idea: a draw goes ahead once enough nodes of its list have room and its client may have another job. Until then it waits in
 * a queue. Clients take turns: the first draw of each client comes before the second draw of any. Of two clients, the one
 * whose last turn is longer ago comes first. An owner of 100 wallets counts as 100 clients, because the ICL cannot tell
 * owners apart. But each draw has stored a key on chain.
 *
 * Invariants:
 * - A turn is kept for 60 s until its client asks. After that its room is kept until the nodes of the job have their offers,
 *   and for 20 s at most, so that a client that never commits to its lists does not hold up others for longer.
 * - A draw that waits for a node taken by another turn keeps the room of its other nodes, so that draws behind it do not
 *   overtake it for ever. A draw with too few nodes that have room at all keeps nothing. So a node that reports no slots, or
 *   stays full, holds up only the draws that need it.
 * - A draw keeps its place while its client asks again within 90 s. When the chain fails a question for a draw, its place or
 *   turn is renewed, a turn for 2 minutes at most.
 * - While draws wait, there is a look when a job may have left room, at most ten times a second, and one every 2 s for what nothing
 *   notifies of: times that are over, and nodes that have more slots.
 *
 * Failure cases: the queue is in the memory of this process. After a restart, clients ask again and queue in the order in
 * which they come. Each replica has its own queue over the same nodes. Grants that take longer than these 20 s, and those of
 * joiners, are not counted: more draws go ahead, and their jobs wait for a slot.
 */
import { type Clock, elapsedSince, type MonotonicMs } from '../../lib/clock.ts'
import type { Address, JobId } from '../../lib/codecs.ts'
import { cached } from '../async/cached.ts'
import { createCounts } from '../async/counts.ts'
import { type Notifier, roomKey } from '../async/notifier.ts'
import { countedRoom, type Room, type Taken } from './draw-room.ts'

/** How many draws of one client may wait, so that the memory for them is bounded. */
export const mostDrawsWaiting = 1_000

const grantMs = 60_000
const roomMs = 20_000
const keptMs = 90_000
const longestKeptMs = 120_000
const lookMs = 100
const longestPauseMs = 2_000
/** How many draws may keep room in vain before a look ends. */
const mostInVain = 64
const longestRetrySeconds = 30

/** The name of a draw: its stored key. */
export const drawNameOf = (key: { readonly kpHighHandle: bigint; readonly kpLowHandle: bigint }) =>
  `${key.kpHighHandle}:${key.kpLowHandle}`

/** A draw that asks for its turn. */
export type Draw = {
  /** The name of the stored key, and so of the draw. */
  readonly name: string
  readonly client: Address
  readonly quorum: number
  /** The members of its list that serve its demand, busy or not. */
  readonly nodes: readonly Address[]
}

/** The state of a waiting draw: its place from 1 on, the number of waiting draws, and when to ask again. */
type Queued = {
  readonly place: number
  readonly waiting: number
  readonly retryAfterSeconds: number
}

/** The draws of this process that wait for their turn. */
export type DrawQueue = ReturnType<typeof createDrawQueue>

const turnKey = (name: string): string => `turn of ${name}`

type Waiting = Omit<Draw, 'nodes'> & {
  readonly since: MonotonicMs
  /** The nodes of the client's last request: nodes come and go. */
  nodes: Draw['nodes']
  askedAt: MonotonicMs
  held: number
}
type Granted = Pick<Draw, 'name' | 'client'> & {
  readonly waitedMs: number
  readonly grantedAt: MonotonicMs
  at: MonotonicMs
  isTold: boolean
  seats: readonly Address[]
  job?: JobId
}

/** Makes an empty queue. `onTurn` gets the milliseconds that a draw has waited. */
export function createDrawQueue(
  { clock, notifier }: { readonly clock: Clock; readonly notifier: Notifier },
  room: Room,
  onTurn: (waitedMs: number) => void = () => {},
) {
  const waiting = new Map<string, Waiting>()
  const turns = createTurns(clock, room, waiting, (name, waitedMs) => {
    onTurn(waitedMs)
    notifier.notify(turnKey(name))
  })
  // Looks run one after the other: two at once would give the same room twice.
  let last: Promise<void> = Promise.resolve()
  const looks = cached(clock, lookMs, () => {
    last = last.catch(() => {}).then(turns.look)
    return last
  })
  let held = 0
  let isLooking = false
  /** Looks for all draws that are held. Each of them asks itself, too, and so hears of a failure. */
  const keepLooking = async () => {
    if (isLooking) return
    isLooking = true
    while (held > 0 && !notifier.closed) {
      const news = notifier.wait([roomKey], longestPauseMs)
      await looks.read().catch(() => {})
      await news
      await clock.sleep(lookMs)
      // News that came meanwhile woke nobody, and the last look may be older than it.
      looks.forget()
    }
    isLooking = false
  }
  const enter = (draw: Draw): Waiting => {
    const now = clock.monotonic()
    const entry = waiting.get(draw.name) ?? { ...draw, since: now, askedAt: now, held: 0 }
    entry.nodes = draw.nodes
    if (!waiting.has(draw.name)) looks.forget()
    waiting.set(draw.name, entry)
    turns.meet(draw.client)
    return entry
  }
  return {
    /** Waits for a draw's turn, at most `ms` milliseconds. Returns undefined once the turn has come, else the state of the draw. */
    waitFor: async (draw: Draw, ms: number, signal?: AbortSignal): Promise<Queued | undefined> => {
      const beganAt = clock.monotonic()
      if (turns.isTaken(draw)) return undefined
      const entry = enter(draw)
      entry.held++
      held++
      try {
        for (;;) {
          await looks.read()
          // A turn is not taken for a caller that has gone away.
          if (signal?.aborted) return turns.standing(draw.name)
          if (turns.isTaken(draw)) return undefined
          const leftMs = ms - elapsedSince(clock, beganAt)
          if (leftMs <= 0 || notifier.closed) return turns.standing(draw.name)
          void keepLooking()
          await notifier.wait([turnKey(draw.name)], leftMs, signal)
        }
      } finally {
        entry.held--
        held--
        entry.askedAt = clock.monotonic()
      }
    },
    /** Whether a draw waits or has its turn. */
    has: (name: string) => waiting.has(name) || turns.of(name) !== undefined,
    /** Renews the place or the turn of a draw for which the chain failed a question. */
    keep: (name: string, client: Address) => {
      const entry = waiting.get(name)
      if (entry?.client === client) entry.askedAt = clock.monotonic()
      turns.keep(name, client)
    },
    /** How long a draw has waited, or waited until its turn came, in milliseconds; 0 for an unknown draw. */
    waitedMs: (name: string) => {
      const since = waiting.get(name)?.since
      return since === undefined ? (turns.of(name)?.waitedMs ?? 0) : elapsedSince(clock, since)
    },
    waitingOf: (client: Address) =>
      [...waiting.values()].filter((draw) => draw.client === client).length,
    /** Notes the job that was submitted for a draw. */
    submitted: (name: string, job: JobId) => {
      turns.submitted(name, job)
      waiting.delete(name)
    },
    get size() {
      return waiting.size
    },
  }
}

/** The past turns and the next ones. */
function createTurns(
  clock: Clock,
  room: Room,
  waiting: Map<string, Waiting>,
  onTurn: (name: string, waitedMs: number) => void,
) {
  const granted = new Map<string, Granted>()
  const taken = createTaken()
  // Ordinal numbers of turns. A client without a turn gets the number of when it came.
  const lastTurn = new Map<Address, number>()
  let count = 0
  let lastGrants: readonly MonotonicMs[] = []

  const order = () => inTurn([...waiting.values()], lastTurn)
  const forget = async () => {
    for (const [name, turn] of [...granted]) {
      // A job that cannot be read keeps its room for the usual time, and holds up no other draw.
      const seats = turn.job && (await room.seatedIn(turn.job).catch(() => undefined))
      if (seats) taken.change(turn, { seats })
      const isOver = elapsedSince(clock, turn.at) >= (turn.isTold ? roomMs : grantMs)
      if (!isOver && !(turn.job && turn.seats.length === 0)) continue
      taken.count(turn, -1)
      granted.delete(name)
    }
    for (const [name, { askedAt, held }] of waiting) {
      if (held === 0 && elapsedSince(clock, askedAt) >= keptMs) waiting.delete(name)
    }
    const clients = new Set([...waiting.values(), ...granted.values()].map(({ client }) => client))
    for (const client of lastTurn.keys()) if (!clients.has(client)) lastTurn.delete(client)
  }
  const grant = (draw: Waiting, seats: readonly Address[]) => {
    const { name, client, since } = draw
    const at = clock.monotonic()
    waiting.delete(name)
    const waitedMs = elapsedSince(clock, since)
    const turn = { name, client, seats, waitedMs, grantedAt: at, at, isTold: false }
    granted.set(name, turn)
    taken.count(turn, 1)
    lastTurn.set(client, ++count)
    lastGrants = [...lastGrants.slice(-15), at]
    onTurn(name, waitedMs)
  }
  return {
    meet: (client: Address) => {
      if (!lastTurn.has(client)) lastTurn.set(client, ++count)
    },
    submitted: (name: string, job: JobId) => {
      const turn = granted.get(name)
      if (turn) taken.change(turn, { job })
    },
    of: (name: string) => granted.get(name),
    /** Marks a turn as not told, and restarts its time. */
    keep: (name: string, client: Address) => {
      const turn = granted.get(name)
      if (turn?.client !== client || turn.job) return
      if (elapsedSince(clock, turn.grantedAt) >= longestKeptMs) return
      turn.isTold = false
      turn.at = clock.monotonic()
    },
    /** Whether a draw has its turn. Marks the turn as told. */
    isTaken: ({ name, client }: Draw): boolean => {
      const turn = granted.get(name)
      if (turn?.client !== client) return false
      if (!turn.isTold) turn.at = clock.monotonic()
      turn.isTold = true
      return true
    },
    standing: (name: string): Queued => {
      const draws = order()
      const place = draws.findIndex((draw) => draw.name === name) + 1
      const retryAfterSeconds = retryAfter(clock, lastGrants, place)
      return { place, waiting: draws.length, retryAfterSeconds }
    },
    look: async () => {
      await forget()
      const left = countedRoom(room, taken)
      let inVain = 0
      for (const draw of order()) {
        if (inVain >= mostInVain) return
        if ((await left.ofClient(draw.client)) <= 0) continue
        const able: Address[] = []
        for (const node of draw.nodes) if (await left.hasAny(node)) able.push(node)
        if (able.length < draw.quorum) continue
        const seats = able.filter(left.hasLeft).slice(0, draw.quorum)
        left.take(draw.client, seats)
        // The draw may have left the queue while the look awaited the store.
        if (!waiting.has(draw.name)) continue
        if (seats.length < draw.quorum) inVain++
        else grant(draw, seats)
      }
    },
  }
}

/** Counts the room that turns keep. */
function createTaken() {
  const taken: Taken = { clients: createCounts<Address>(), nodes: createCounts<Address>() }
  const count = ({ client, seats, job }: Granted, change: 1 | -1) => {
    // A submitted job already counts among those of its client.
    if (!job) taken.clients.add(client, change)
    for (const node of seats) taken.nodes.add(node, change)
  }
  return {
    ...taken,
    count,
    change: (turn: Granted, to: Partial<Pick<Granted, 'job' | 'seats'>>) => {
      count(turn, -1)
      Object.assign(turn, to)
      count(turn, 1)
    },
  }
}

/** The first draw of each client, then the second, and so on. Among equals, the client whose last turn is longer ago comes first. */
function inTurn(draws: readonly Waiting[], lastTurn: ReadonlyMap<Address, number>) {
  const before = new Map<Address, number>()
  const ranked = draws.map((draw) => {
    const rank = before.get(draw.client) ?? 0
    before.set(draw.client, rank + 1)
    return { draw, rank, turn: lastTurn.get(draw.client) ?? 0 }
  })
  // The sort is stable: equal draws stay in the order in which they came.
  return ranked.toSorted((a, b) => a.rank - b.rank || a.turn - b.turn).map(({ draw }) => draw)
}

/** Estimates the seconds until the turn of the draw at this place, from the pace of the last turns. */
function retryAfter(clock: Clock, grants: readonly MonotonicMs[], place: number): number {
  const [first] = grants
  if (first === undefined) return 1
  const seconds = (elapsedSince(clock, first) / grants.length / 1000) * place
  return Math.min(Math.max(Math.ceil(seconds), 1), longestRetrySeconds)
}
