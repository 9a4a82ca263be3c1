/*
 * Problem: more prompts come than the nodes can answer. A draw that went ahead would only make a job that waits for its
 * nodes until its deadline, and a client that sends hundreds would keep all others waiting.
 *
 * Idea: a draw goes ahead once enough nodes of its list have room and its client has a place left. Until then it has a place
 * in a queue. Clients take turns: the first draw of each client comes before the second of any, and of two clients the one
 * comes first whose last turn is longer ago. So a client that is alone waits for one draw of each other client, however many
 * draws these have. An owner of 100 wallets is 100 clients, and goes ahead 100 times of one who comes later. Each of these draws has
 * stored a key on chain, and nothing that the ICL sees tells owners apart: many share an address.
 *
 * Invariants:
 * - A turn is kept for 60 s until its client asks. From then on the room that goes with it is kept until the nodes of the job
 *   are offered their work, and 20 s at most: a client that never commits to its lists holds up others no longer.
 * - A draw that waits until another's turn at a node is over keeps the room of its other nodes: draws behind it do not overtake it for ever.
 *   One whose nodes have no room whatever the queue does keeps nothing: a node that reports no slots, or is full for long, holds up the
 *   draws that need it, and no others.
 * - A draw keeps its place while its client asks again within 90 s. One that the chain fails keeps its place or its turn as if it had just
 *   got it, the turn for 2 more minutes at most: who can have the chain fail its questions holds up others no longer.
 *
 * Failure cases: the queue is in the memory of this process. After a restart clients ask again and have the order in which
 * they come, and each replica has a queue of its own over the same nodes. A node that fails leaves less room: draws wait longer.
 * Grants that take longer than these 20 s, and those of joiners, are not counted: then more draws go ahead, and their jobs wait for a
 * slot. The store cannot tell them from the seats of a client that never commits.
 */

import { type Clock, elapsedSince, type MonotonicMs } from '../../lib/clock.ts'
import type { Address, JobId } from '../../lib/codecs.ts'
import { cached } from '../async/cached.ts'
import { countedRoom, type Room } from './counted-room.ts'

/** Draws of one client that may wait: what a process keeps for them is bounded. */
export const mostDrawsWaiting = 1_000

const grantMs = 60_000
const roomMs = 20_000
const keptMs = 90_000
const longestKeptMs = 120_000
const lookMs = 100
const pauseMs = 200
/** Draws that a look asks about without letting one go ahead. */
const mostInVain = 64
const longestRetrySeconds = 30

/** What a draw is known by: its stored key. */
export const drawNameOf = (key: { readonly kpHighHandle: bigint; readonly kpLowHandle: bigint }) =>
  `${key.kpHighHandle}:${key.kpLowHandle}`

/** A draw that asks for its turn. */
export type Draw = {
  /** Names the stored key, and so the draw. */
  readonly name: string
  readonly client: Address
  readonly quorum: number
  /** The nodes of its list that serve it, busy or not. */
  readonly nodes: readonly Address[]
}

/** How a draw stands that has to wait: its place from 1 on, among how many, and when to ask again. */
type Queued = {
  readonly place: number
  readonly waiting: number
  readonly retryAfterSeconds: number
}

/** The draws of this process that wait for their turn. */
export type DrawQueue = {
  /** Waits for a draw's turn, at most so many milliseconds; undefined once it has come, else how the draw stands. */
  waitFor(draw: Draw, ms: number, signal?: AbortSignal): Promise<Queued | undefined>
  /** Whether a draw waits, or has its turn. */
  has(name: string): boolean
  /** The chain failed a question for this draw: it loses neither its place nor its turn for that. */
  keep(name: string, client: Address): void
  /** Milliseconds since the draw was asked for first, of one that waits, and until its turn came, of one that has it; else 0. */
  waitedMs(name: string): number
  /** How many draws of a client wait. */
  waitingOf(client: Address): number
  /** The draw's job is there. */
  submitted(name: string, job: JobId): void
  readonly size: number
}

type Waiting = Omit<Draw, 'nodes'> & {
  readonly since: MonotonicMs
  /** As its client asked last: nodes come and go. */
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

/** Makes an empty queue; `onTurn` is told how many milliseconds a draw has waited. */
export function createDrawQueue(
  clock: Clock,
  room: Room,
  onTurn: (waitedMs: number) => void = () => {},
): DrawQueue {
  const waiting = new Map<string, Waiting>()
  const turns = createTurns(clock, room, waiting, onTurn)
  // Looks follow one another: two at once would give the same room twice.
  let last: Promise<void> = Promise.resolve()
  const looks = cached(clock, lookMs, () => {
    last = last.catch(() => {}).then(turns.look)
    return last
  })
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
    waitFor: async (draw, ms, signal) => {
      const beganAt = clock.monotonic()
      if (turns.isTaken(draw)) return undefined
      const entry = enter(draw)
      entry.held++
      try {
        for (;;) {
          await looks.read()
          // A turn is not told to a caller that has gone away.
          if (signal?.aborted) return turns.standing(draw.name)
          if (turns.isTaken(draw)) return undefined
          const leftMs = ms - elapsedSince(clock, beganAt)
          if (leftMs <= 0) return turns.standing(draw.name)
          await clock.sleep(Math.min(pauseMs, leftMs), signal).catch(() => {})
        }
      } finally {
        entry.held--
        entry.askedAt = clock.monotonic()
      }
    },
    has: (name) => waiting.has(name) || turns.of(name) !== undefined,
    keep: (name, client) => {
      const entry = waiting.get(name)
      if (entry?.client === client) entry.askedAt = clock.monotonic()
      turns.keep(name, client)
    },
    waitedMs: (name) => {
      const since = waiting.get(name)?.since
      return since === undefined ? (turns.of(name)?.waitedMs ?? 0) : elapsedSince(clock, since)
    },
    waitingOf: (client) => [...waiting.values()].filter((draw) => draw.client === client).length,
    submitted: (name, job) => {
      turns.submitted(name, job)
      waiting.delete(name)
    },
    get size() {
      return waiting.size
    },
  }
}

/** Who had a turn, and who has the next ones. */
function createTurns(
  clock: Clock,
  room: Room,
  waiting: Map<string, Waiting>,
  onTurn: (waitedMs: number) => void,
) {
  const granted = new Map<string, Granted>()
  // Ordinal numbers of turns: a client that never had one counts from when it came.
  const lastTurn = new Map<Address, number>()
  let count = 0
  let lastGrants: readonly MonotonicMs[] = []

  const order = () => inTurn([...waiting.values()], lastTurn)
  const forget = async () => {
    for (const [name, turn] of [...granted]) {
      // A job that cannot be read keeps its room for the usual time, and holds up no other draw.
      if (turn.job) turn.seats = await room.seatedIn(turn.job).catch(() => turn.seats)
      const isOver = elapsedSince(clock, turn.at) >= (turn.isTold ? roomMs : grantMs)
      if (isOver || (turn.job && turn.seats.length === 0)) granted.delete(name)
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
    granted.set(name, { name, client, seats, waitedMs, grantedAt: at, at, isTold: false })
    lastTurn.set(client, ++count)
    lastGrants = [...lastGrants.slice(-15), at]
    onTurn(waitedMs)
  }
  return {
    meet: (client: Address) => {
      if (!lastTurn.has(client)) lastTurn.set(client, ++count)
    },
    submitted: (name: string, job: JobId) => {
      const turn = granted.get(name)
      if (turn) turn.job = job
    },
    of: (name: string) => granted.get(name),
    /** Has a turn count as not told, from now on. */
    keep: (name: string, client: Address) => {
      const turn = granted.get(name)
      if (turn?.client !== client || turn.job) return
      if (elapsedSince(clock, turn.grantedAt) >= longestKeptMs) return
      turn.isTold = false
      turn.at = clock.monotonic()
    },
    /** Whether a draw has its turn, which then counts as told. */
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
      return {
        place,
        waiting: draws.length,
        retryAfterSeconds: retryAfter(clock, lastGrants, place),
      }
    },
    look: async () => {
      await forget()
      const left = countedRoom(room, [...granted.values()])
      let inVain = 0
      for (const draw of order()) {
        if (inVain >= mostInVain) return
        if ((await left.ofClient(draw.client)) <= 0) continue
        const able: Address[] = []
        for (const node of draw.nodes) if (await left.hasAny(node)) able.push(node)
        if (able.length < draw.quorum) continue
        const seats = able.filter(left.hasLeft).slice(0, draw.quorum)
        left.take(draw.client, seats)
        // Its place may have been given up while others were asked about.
        if (!waiting.has(draw.name)) continue
        if (seats.length < draw.quorum) inVain++
        else grant(draw, seats)
      }
    },
  }
}

/** The first draw of each client, then the second, and so on; among equals, the client first whose last turn is longer ago. */
function inTurn(
  draws: readonly Waiting[],
  lastTurn: ReadonlyMap<Address, number>,
): readonly Waiting[] {
  const before = new Map<Address, number>()
  const ranked = draws.map((draw) => {
    const rank = before.get(draw.client) ?? 0
    before.set(draw.client, rank + 1)
    return { draw, rank, turn: lastTurn.get(draw.client) ?? 0 }
  })
  // The sort is stable: what is equal stays in the order in which it came.
  return ranked.toSorted((a, b) => a.rank - b.rank || a.turn - b.turn).map(({ draw }) => draw)
}

/** By how fast turns have come lately, when the draw at this place may expect its own. */
function retryAfter(clock: Clock, grants: readonly MonotonicMs[], place: number): number {
  const [first] = grants
  if (first === undefined) return 1
  const seconds = (elapsedSince(clock, first) / grants.length / 1000) * place
  return Math.min(Math.max(Math.ceil(seconds), 1), longestRetrySeconds)
}
