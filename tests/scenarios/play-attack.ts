/*
 * Plays an attack on the service over several UTC days of virtual time: the real ICL over one store, nodes and clients around it. Each day the
 * service is started anew, so that the hours in which nothing happens take no time.
 *
 * Honest answers agree as often as they were measured to (answer-book.ts). Honest clients are older than a week, so that each has an allowance
 * of its own; so are the wallets of a patient owner.
 */

import type { Job } from '../../icl/rules/job.ts'
import { createMemoryStore } from '../../icl/store/memory/store.ts'
import type { Address } from '../../lib/codecs.ts'
import {
  inOrder,
  newcomer,
  type ReputationEvent,
  standingOf,
  utcDayOf,
  weightOf,
} from '../../lib/reputation.ts'
import type { PromptNeeds } from '../../lib/schemas/prompt-needs.ts'
import { dayMs } from '../../lib/time.ts'
import { coordinator } from '../icl/fake-chain.ts'
import { origin, walletOf } from '../icl/test-icl.ts'
import { sampleNetwork } from '../sample-network.ts'
import { createDice } from '../simulation/dice.ts'
import type { Conduct, SimulatedNode } from '../simulation/node.ts'
import { createWorld, type World } from '../simulation/world.ts'
import { createVirtualClock } from '../virtual-clock.ts'
import { type AnswerBook, type Answerer, createAnswerBook, unlikeGroups } from './answer-book.ts'
import { type ClientJob, runClientJob } from './attack-client.ts'
import { createGasMeter, type GasMeter } from './gas.ts'
import type { Kind } from './told.ts'
import { type Way, weighers, weighing } from './weighers.ts'

/** The addresses of an attack's nodes. */
export type Cast = { readonly victim: Address; readonly ring: readonly Address[] }

/** A job of a small model on unlike machines, whose answers are weighed if the terms ask for that. */
export type Check = {
  readonly isAsked: boolean
  /** The model of the owner's nodes. */
  readonly kind: Kind
  /** They give one text. */
  readonly ring?: string
  /** How they weigh. */
  readonly way?: (ring: ReadonlySet<Address>) => Way
}

/** An attack: the owner's nodes, its clients, or both. */
export type Attack = {
  readonly name: string
  /** The owner's nodes. */
  readonly nodes: number
  readonly conduct?: (book: AnswerBook) => Conduct
  /** Its nodes ask a weaker model. */
  readonly isWeaker?: boolean
  /** What the owner's client does, in the job of this number; nothing without nodes of others' jobs. */
  readonly job?: (number: number, cast: Cast) => ClientJob
  /** Jobs of the owner a day; 0 when left out. */
  readonly jobsPerDay?: number
  /** Wallets of the owner that are older than a week. */
  readonly agedWallets?: readonly string[]
  /** Others' jobs are left out: nobody else moves the victim. */
  readonly isAlone?: boolean
  readonly check?: Check
  /** In place of those of the length. */
  readonly honestNodes?: number
}

/** How much to play. */
export type Length = {
  readonly days: number
  readonly honestNodes: number
  readonly clients: number
  /** Of honest clients, a day. */
  readonly jobsPerDay: number
  /** The most jobs of an owner a day. */
  readonly ownJobsPerDay: number
}

/** A node on one day. */
export type NodeDay = { readonly before: number; readonly after: number; readonly alone: number }

/** What came of an attack. */
export type AttackOutcome = {
  readonly attack: Attack
  readonly jobs: readonly Job[]
  readonly ownJobs: number
  readonly lies: { readonly others: number; readonly own: number }
  readonly gas: number
  /** The victim's weight on each day: before, after, and after without what the owner's jobs said of it. */
  readonly victim: readonly NodeDay[]
  readonly honestWeights: readonly number[]
  /** The weights of the owner's nodes. */
  readonly cheatWeights: readonly number[]
  /** The owner's share of the draws, at first and in the end. */
  readonly share: readonly [number, number]
  /** After how many of its jobs each of the owner's nodes had lost half of a newcomer's weight; undefined for one that has not. */
  readonly halvedAfter: readonly (number | undefined)[]
  readonly parts: readonly number[]
  readonly broken: readonly string[]
  readonly events: readonly ReputationEvent[]
}

const calm = { minedMs: [100, 400], lostAnswers: 0 } as const
const firstDay = 20_800
const pauseMs = 2_500

/** Plays an attack. */
export async function playAttack(
  attack: Attack,
  seed: number,
  full: Length,
): Promise<AttackOutcome> {
  const length = { ...full, honestNodes: attack.honestNodes ?? full.honestNodes }
  const dice = createDice(seed).fork(attack.name)
  const book = createAnswerBook(dice, attack.check && unlikeGroups)
  const base = { ...createMemoryStore(), shared: true }
  const aged = Array.from({ length: length.clients }, (_, index) => `client ${index}`)
  for (const name of [...aged, ...(attack.agedWallets ?? [])]) {
    const client = { address: walletOf(name).address, firstAcceptedAt: (firstDay - 8) * dayMs }
    await base.save({ kind: 'client', client, base: 0 })
  }
  const own = createGasMeter()
  own.spend('register', attack.nodes)
  const broken: string[] = []
  for (let day = 0; day < length.days; day++) {
    const clock = createVirtualClock((firstDay + day) * dayMs + dayMs / 24)
    const network = sampleNetwork({
      ...{ public_url: origin, chain_id: 31_337, coordinator, slash_wei: 10n ** 18n },
      comparators: ['exact', 'similar/2'],
    })
    const world = createWorld(dice.between(1, 2 ** 30), calm, { network }, { clock, base })
    await world.addReplica()
    const cast = await castOf(world, attack, length, book)
    await clock.until(playDay(world, attack, length, { day, book, own, cast, aged }))
    await clock.advance(60_000)
    if (utcDayOf(clock.now()) !== firstDay + day)
      throw new Error('a day was too short for its jobs')
    broken.push(...(await world.broken()))
    await clock.until(world.end())
  }
  const jobs: Job[] = []
  const events: ReputationEvent[] = []
  for await (const record of base.scan()) {
    if (record.kind === 'job') jobs.push(record.job)
    if (record.kind === 'event') events.push(record.event)
  }
  return { ...outcomeOf(attack, length, { jobs, events, book, own }), broken }
}

export const honestName = (index: number) => `honest ${index}`
export const cheatName = (index: number) => `cheat ${index}`

async function castOf(
  world: World,
  { nodes, conduct, isWeaker, check }: Attack,
  { honestNodes }: Length,
  book: AnswerBook,
): Promise<Cast> {
  const takes = check?.isAsked ? { takes: ['teacher'] as const } : {}
  const habits = { slots: 3, thinkMs: [1_000, 6_000], ...takes } as const
  const add = (name: string, changes: Omit<Answerer, 'name'> & { conduct?: Conduct } = {}) => {
    const own = changes.conduct ?? (check && weighing(book, 'model', weighers.honest))
    return world.addNode(name, {
      ...habits,
      answer: (jobId) => book.answerOf(jobId, { name, ...changes }),
      ...(own && { conduct: own }),
    })
  }
  const honest: SimulatedNode[] = []
  for (let index = 0; index < honestNodes; index++) honest.push(await add(honestName(index)))
  const ring: SimulatedNode[] = []
  const friends = new Set(
    Array.from({ length: nodes }, (_, index) => walletOf(cheatName(index)).address),
  )
  for (let index = 0; index < nodes; index++) {
    const { kind, ring: text, way } = check ?? {}
    const weighs = kind && weighing(book, kind, way?.(friends) ?? weighers.honest)
    const own = conduct?.(book) ?? weighs
    ring.push(
      await add(cheatName(index), {
        ...(isWeaker && { isWeaker }),
        ...(kind && { kind }),
        ...(text && { ring: text }),
        ...(own && { conduct: own }),
      }),
    )
  }
  const [victim] = honest
  if (!victim) throw new TypeError('an attack needs a victim')
  return { victim: victim.address, ring: ring.map(({ address }) => address) }
}

async function playDay(
  world: World,
  attack: Attack,
  length: Length,
  {
    day,
    book,
    own,
    cast,
    aged,
  }: {
    readonly day: number
    readonly book: AnswerBook
    readonly own: GasMeter
    readonly cast: Cast
    readonly aged: readonly string[]
  },
): Promise<void> {
  const needs = attack.check?.isAsked ? ({ parts: ['teacher'] } satisfies PromptNeeds) : undefined
  // The second heartbeats say what nodes take.
  if (needs) await world.clock.sleep(61_000)
  const count = attack.isAlone ? 0 : length.jobsPerDay
  const others = Array.from({ length: count }, async (_, index) => {
    await world.clock.sleep(index * pauseMs)
    const client = aged[index % aged.length] ?? 'client 0'
    await runClientJob(world, book, createGasMeter(), { client, asked: 'question', needs })
  })
  const ownJobs = Math.min(attack.jobsPerDay ?? 0, length.ownJobsPerDay)
  const theirs = Array.from({ length: attack.job ? ownJobs : 0 }, async (_, index) => {
    await world.clock.sleep(index * 2 * pauseMs)
    const job = attack.job?.(day * ownJobs + index, cast)
    if (job) await runClientJob(world, book, own, { ...job, needs })
  })
  await Promise.all([...others, ...theirs])
}

function outcomeOf(
  attack: Attack,
  { days, honestNodes }: Length,
  found: {
    readonly jobs: readonly Job[]
    readonly events: readonly ReputationEvent[]
    readonly book: AnswerBook
    readonly own: GasMeter
  },
): Omit<AttackOutcome, 'broken'> {
  const { jobs, events, book, own } = found
  const isOthers = ({ client }: Pick<Job, 'client'>) => others.has(client)
  const others = new Set(
    jobs.map(({ client }) => client).filter((client) => !ownWallets(attack, jobs).has(client)),
  )
  const eventsOf = (name: string) =>
    inOrder(events.filter(({ node }) => node === walletOf(name).address))
  const ofOwner = new Set(jobs.filter((job) => !isOthers(job)).map(({ id }) => id))
  const weights = (name: string, until = Number.POSITIVE_INFINITY) =>
    weightOf(standingOf(eventsOf(name).filter(({ at }) => utcDayOf(at) < until)))
  const victimEvents = eventsOf(honestName(0))
  const victim = Array.from({ length: days }, (_, day): NodeDay => {
    const [today, next] = [firstDay + day, firstDay + day + 1]
    const upTo = victimEvents.filter(({ at }) => utcDayOf(at) < next)
    const without = upTo.filter(({ at, jobId }) => utcDayOf(at) < today || !ofOwner.has(jobId))
    return {
      before: weights(honestName(0), today),
      after: weightOf(standingOf(upTo)),
      alone: weightOf(standingOf(without)),
    }
  })
  const names = (count: number, name: (index: number) => string) =>
    Array.from({ length: count }, (_, index) => name(index))
  const honestWeights = names(honestNodes, honestName).map((name) => weights(name))
  const cheats = names(attack.nodes, cheatName)
  const cheatWeights = cheats.map((name) => weights(name))
  const lies = jobs.filter(
    (job) =>
      job.phase === 'accepted' &&
      book.lies.has(`${job.id}:${job.receipt?.tally.body.deliverer ?? ''}`),
  )
  const deliveries = jobs.flatMap(({ agreement }) => agreement?.turns ?? [])
  const ring = new Set(cheats.map((name) => walletOf(name).address))
  own.spend(
    'storeOutputKey',
    deliveries.filter(({ delivery }) => delivery && ring.has(delivery.body.address)).length,
  )
  return {
    ...{ attack, jobs, events, gas: own.spent, victim, honestWeights, cheatWeights },
    ownJobs: ofOwner.size,
    lies: {
      others: lies.filter(isOthers).length,
      own: lies.filter((job) => !isOthers(job)).length,
    },
    share: [
      attack.nodes / (attack.nodes + honestNodes),
      sum(cheatWeights) / (sum(cheatWeights) + sum(honestWeights)),
    ],
    halvedAfter: cheats.map((name) => halvedAfter(eventsOf(name), jobs, walletOf(name).address)),
    parts: cheats.map((name) => partsOf(jobs, walletOf(name).address).length),
  }
}

const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0)

function ownWallets(attack: Attack, jobs: readonly Job[]): ReadonlySet<Address> {
  const cast = { victim: walletOf(honestName(0)).address, ring: [] }
  const names = jobs.map((_, number) => attack.job?.(number, cast).client)
  return new Set(names.flatMap((name) => (name === undefined ? [] : [walletOf(name).address])))
}

export const partsOf = (jobs: readonly Job[], node: Address): readonly Job[] =>
  jobs
    .filter(({ assignments }) => assignments.some((one) => one.node === node))
    .toSorted((a, b) => a.createdAt - b.createdAt)

function halvedAfter(
  events: readonly ReputationEvent[],
  jobs: readonly Job[],
  node: Address,
): number | undefined {
  const parts = partsOf(jobs, node)
  const at = events.findIndex((_, index) => {
    const standing = standingOf(events.slice(0, index + 1))
    return 2 * weightOf(standing) < weightOf(newcomer)
  })
  const job = events[at]?.jobId
  return job === undefined ? undefined : parts.findIndex(({ id }) => id === job) + 1
}
