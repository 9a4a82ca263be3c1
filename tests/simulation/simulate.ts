import { isDeepStrictEqual } from 'node:util'
import { receiptOf } from '../../icl/operations/make-receipt.ts'
import { type Job, roleOf } from '../../icl/rules/job.ts'
import { coordinator } from '../icl/fake-chain.ts'
import { chainId, origin } from '../icl/test-icl.ts'
import { sampleNetwork } from '../sample-network.ts'
import { specifyFinally } from '../specified-finally.ts'
import { createVirtualClock, keepCryptoInOrder } from '../virtual-clock.ts'
import { createAcknowledged } from './acknowledged.ts'
import { usualChainHabits } from './chain.ts'
import { addCheats } from './cheats.ts'
import { checkEnd, unfinished } from './checks.ts'
import { createSimulatedCoprocessor } from './coprocessor.ts'
import { createCustomer } from './customer.ts'
import { createDice } from './dice.ts'
import { createExchangeCheck } from './exchanges.ts'
import { count, makeTrouble, type Stage } from './faults.ts'
import type { Ground } from './ground.ts'
import { createMachine, type Machine } from './machine.ts'
import { createMirrorDisk, type MirrorDisk } from './mirror-disk.ts'
import { whyNotAccepted, whyNotOnChain } from './oracle.ts'
import { drawParameters, type Parameters, type StoreKind } from './parameters.ts'
import { createSimulatedProvider } from './provider.ts'
import { createSqliteDisk, type StoreDisk } from './sqlite-disk.ts'
import { createStory, type StoryEvent } from './story.ts'
import { createWorld, type World } from './world.ts'

/** What came of one seed. */
export type Outcome = {
  readonly seed: number
  readonly store: StoreKind
  readonly parameters: Parameters
  /** Of the logical events: who did what when. */
  readonly hash: string
  readonly virtualMs: number
  readonly requests: number
  readonly acknowledged: number
  /** How many jobs ended how. */
  readonly jobs: Readonly<Record<string, number>>
  /** How many jobs came to what not every job comes to. */
  readonly reached: Readonly<Record<string, number>>
  readonly faults: Readonly<Record<string, number>>
  readonly violations: readonly string[]
  readonly events: readonly StoryEvent[]
}

/** How to simulate, and what to do to a world before it begins. */
export type SimulateOptions = {
  readonly store?: StoreKind
  readonly onEvent?: (event: StoryEvent) => void
  /** Changes what the seed decides. */
  readonly change?: (parameters: Parameters) => Parameters
}

/** The store that a seed is simulated with if nobody says otherwise. */
export const storeOf = (seed: number): StoreKind => {
  if (seed % 8 === 0) return 'sqlite'
  return seed % 8 === 4 ? 'mirror' : 'memory'
}

// After everything is healed, a job has its ten minutes, and its result a while to come to stand on chain.
const healedMs = 1_800_000
const lookMs = 2_000

/** Simulates one seed: a time of faults, then a time in which everything has to come to its end. */
export async function simulate(seed: number, options: SimulateOptions = {}): Promise<Outcome> {
  specifyFinally()
  const letGo = keepCryptoInOrder()
  try {
    return await play(seed, options)
  } finally {
    letGo()
  }
}

async function play(seed: number, options: SimulateOptions): Promise<Outcome> {
  const { store: storeKind = storeOf(seed), change = (same) => same } = options
  const clock = createVirtualClock(undefined, 1)
  const mirror =
    storeKind === 'mirror'
      ? await clock.until(createMirrorDisk(clock, createDice(seed).fork('database')))
      : undefined
  const disk: StoreDisk | undefined =
    storeKind === 'sqlite' ? await createSqliteDisk(clock) : mirror
  const parameters = change(drawParameters(createDice(seed).fork('parameters'), storeKind))
  const network = sampleNetwork({
    public_url: origin,
    chain_id: chainId,
    coordinator,
    comparators: ['exact', 'similar/2'],
  })
  const base = disk && { base: disk.store }
  const world = createWorld(seed, usualChainHabits, { network }, { clock, ...base })
  const startedAt = clock.now()
  const story = createStory(clock.now, options.onEvent)
  const counts = new Map<string, number>()
  const ground: Ground = {
    seed,
    clock,
    dice: world.dice,
    story,
    chain: world.chain,
    coprocessor: createSimulatedCoprocessor(world.chain),
    network: world.network,
    provider: createSimulatedProvider(world.dice.fork('provider')),
    trouble: (kind) => count(counts, kind),
    errors: [],
  }
  const machines: Machine[] = []
  const books = watch(ground, world, machines, counts)
  const killReplica = async (id: string) => {
    world.killReplica(id)
    if (!disk) return
    await disk.crash()
    await reopen(disk, world, ground, books)
    for (const wrong of (await mirror?.wrong()) ?? []) story.violate(wrong)
  }
  const stopReplica = async (id: string) => {
    const replica = world.network.replicas.get(id)
    await world.stopReplica(id)
    // A store for one process: the next one starts when this one has ended.
    replica?.kill()
    await disk?.stop()
  }
  const connection: MirrorDisk | undefined = mirror
  const stage: Stage = {
    ...{ ground, world, machines, parameters, counts },
    ...{ killReplica, stopReplica, connection },
  }
  try {
    await addAll(stage)
    await clock.until(bounded(stage, 'the run', run(stage, network)))
    await clock.until(bounded(stage, 'the look at the end', lookBack(stage, books)))
    for (const broken of await world.broken()) story.violate(broken)
    for (const wrong of (await mirror?.wrong()) ?? []) story.violate(wrong)
    await clock.until(bounded(stage, 'the stop', stopAll(stage)))
  } catch (error) {
    story.violate(`the simulation stopped: ${error instanceof Error ? error.stack : String(error)}`)
  }
  if (disk) await clock.until(disk.end())
  return {
    seed,
    store: storeKind,
    parameters,
    hash: story.hash(),
    virtualMs: clock.now() - startedAt,
    requests: books.requests(),
    acknowledged: books.acknowledged.count,
    jobs: tally(world.store.latest.values(), ({ phase }) => [phase]),
    reached: tally(world.store.latest.values(), reachedBy),
    faults: Object.fromEntries(counts),
    violations: story.violations,
    events: story.events,
  }
}

function tally(
  jobs: Iterable<Job>,
  namesOf: (job: Job) => readonly string[],
): Record<string, number> {
  const counts = new Map<string, number>()
  for (const job of jobs) for (const name of namesOf(job)) count(counts, name)
  return Object.fromEntries(counts)
}

/** What has to be covered besides the plain way, on which the quorum agrees and the first of it delivers. */
function reachedBy({
  agreement,
  assignments,
  seats,
  list,
  phase,
  weighing,
}: Job): readonly string[] {
  const answers = assignments.filter(({ answer }) => answer !== undefined)
  const isAccepted = phase === 'accepted'
  const { group = [], turns = [] } = agreement ?? {}
  const { weighed = [], opened = [] } = weighing ?? {}
  const committed = weighed.filter(({ commitment }) => commitment !== undefined)
  const scored = new Set(assignments.flatMap(({ scores = [] }) => scores))
  const isReached = {
    'list of three': list.members.length === 3,
    'accepted by a list of three': isAccepted && list.members.length === 3,
    joiner: seats > list.terms.quorum,
    'accepted with a joiner': isAccepted && seats > list.terms.quorum,
    'accepted over dissent': isAccepted && answers.length > group.length,
    'failed delivery': turns.some(({ failed }) => failed !== undefined),
    'accepted from a later deliverer': isAccepted && turns.length > 1,
    'numbers asked for': isAccepted && weighing !== undefined,
    'numbers opened': isAccepted && opened.length > 0,
    // As by a node that was killed in between.
    'numbers lost': isAccepted && committed.length > opened.length,
    'a text lost': scored.has('never-shown'),
    'a dissent found likely': scored.has('answer-likely'),
  }
  return Object.entries(isReached).flatMap(([name, is]) => (is ? [name] : []))
}

/** Whether everything is as it should be once all is over. */
async function lookBack(stage: Stage, { acknowledged }: Books): Promise<void> {
  const { ground, world } = stage
  for (const lost of await acknowledged.lost(world.store)) ground.story.violate(lost)
  for (const wrong of await checkEnd(stage)) ground.story.violate(wrong)
}

/** Looks at everything that is saved, sent, committed and given. */
function watch(
  ground: Ground,
  world: World,
  machines: readonly Machine[],
  counts: Map<string, number>,
) {
  const { story, network, chain, coprocessor } = ground
  const { latest } = world.store
  const acknowledged = createAcknowledged()
  const addressOf = (caller: string) =>
    [...machines, ...world.nodes].find(({ name }) => name === caller)?.address
  const nameOf = (address: string) =>
    [...machines, ...world.nodes].find((node) => node.address === address)?.name ?? 'somebody'
  const check = createExchangeCheck({
    story,
    jobs: latest,
    addressOf,
    errors: ground.errors,
  })
  let requests = 0
  network.onExchange = (exchange) => {
    requests++
    const { caller, replica, method, path, answer } = exchange
    story.mix(`${caller} ${method} ${path} ${answer.status} ${replica}`)
    check(exchange)
    acknowledged.note(exchange, addressOf(caller))
  }
  network.onTrouble = (kind) => count(counts, kind)
  world.store.onLostAnswer = () => count(counts, 'save-unanswered')
  world.store.onJob = (before, after) => {
    for (const what of changesOf(before, after, nameOf)) {
      story.note('icl', `job ${after.id.slice(0, 10)} ${what}`)
    }
    if (before?.receipt && !isDeepStrictEqual(receiptOf(before), receiptOf(after))) {
      story.violate(`the receipt of job ${after.id.slice(0, 10)} has changed`)
    }
    if (after.phase !== 'accepted' || before?.phase === 'accepted') return
    for (const wrong of whyNotAccepted(after)) story.violate(wrong)
  }
  chain.onCommitted = (result) => {
    story.note('chain', `the result of ${result.jobId.slice(0, 10)} is on chain`)
    for (const wrong of whyNotOnChain(result, latest.get(result.jobId))) story.violate(wrong)
  }
  coprocessor.onGiven = (handle, reader) => {
    if (!mayHave(latest.values(), handle, reader)) {
      story.violate(`${nameOf(reader)} was given a half of a key without a part in its job`)
    }
  }
  return { acknowledged, requests: () => requests }
}

/** A prompt's key is for the nodes of its job, an output's for its client and the nodes that agreed. */
function mayHave(jobs: Iterable<Job>, handle: bigint, reader: string): boolean {
  for (const job of jobs) {
    if (job.kpHighHandle === handle || job.kpLowHandle === handle) {
      return job.assignments.some(({ node }) => node === reader)
    }
    const { group = [], turns = [] } = job.agreement ?? {}
    if (turns.some(({ delivery }) => isOf(delivery?.body, handle))) {
      const members = job.assignments.filter(({ fence }) => group.includes(fence))
      return job.client === reader || members.some(({ node }) => node === reader)
    }
  }
  return false
}

const isOf = (
  body: { readonly outHighHandle: bigint; readonly outLowHandle: bigint } | undefined,
  handle: bigint,
): boolean => body?.outHighHandle === handle || body?.outLowHandle === handle

function changesOf(
  before: Job | undefined,
  after: Job,
  nameOf: (address: string) => string,
): readonly string[] {
  const phase = before?.phase === after.phase ? [] : [`is ${after.phase}`]
  const assignments = after.assignments.flatMap((assignment) => {
    const { fence, node, status, reason } = assignment
    const old = before?.assignments.find((known) => known.fence === fence)
    if (old?.status === status) return []
    const why = reason ? `: ${reason}` : ''
    return [`${roleOf(after, assignment)} ${nameOf(node)} (fence ${fence}) ${status}${why}`]
  })
  const turns = before?.agreement?.turns ?? []
  const delivered = (after.agreement?.turns ?? []).flatMap(
    ({ fence, delivery, failed, verdicts }, at) => {
      const was = turns[at]
      return [
        ...(was ? [] : [`fence ${fence} is to deliver`]),
        ...(delivery && !was?.delivery ? [`fence ${fence} delivered`] : []),
        ...verdicts
          .slice(was?.verdicts.length ?? 0)
          .map(({ body }) => `${nameOf(body.address)} says ${body.reason ?? body.verdict}`),
        ...(failed && !was?.failed ? [`fence ${fence} failed: ${failed.reason}`] : []),
      ]
    },
  )
  const opened = (after.weighing?.opened ?? [])
    .slice(before?.weighing?.opened.length ?? 0)
    .map(({ body }) => `${nameOf(body.address)} opened its numbers`)
  return [...assignments, ...delivered, ...opened, ...phase]
}

type Books = ReturnType<typeof watch>

/** What a process leaves that dies: the store as the next one finds it. */
async function reopen(disk: StoreDisk, world: World, { story }: Ground, books: Books) {
  world.store.latest.clear()
  for (const job of await disk.jobs()) world.store.latest.set(job.id, job)
  for (const lost of await books.acknowledged.lost(disk.store)) story.violate(lost)
}

async function addAll({
  ground,
  world,
  machines,
  parameters,
}: Stage & { machines: readonly Machine[] }) {
  const { clock, dice } = ground
  for (let index = 0; index < parameters.replicas; index++) await clock.until(world.addReplica())
  await addCheats(world, ground.seed, parameters.cheats)
  const own = dice.fork('machines')
  for (let index = 1; index <= parameters.nodes; index++) {
    const slowest = own.chance(0.2) ? 60_000 : 6_000
    const machine = await clock.until(
      createMachine(ground, `node ${index}`, {
        slots: own.between(1, 3),
        skewMs: own.between(-parameters.skewMs, parameters.skewMs),
        dies: parameters.dies,
        weighs: parameters.check,
        provider: {
          thinkMs: [200, slowest],
          disagrees: parameters.disagrees,
          failures: 0,
          hangs: parameters.hangs,
        },
      }),
    )
    ;(machines as Machine[]).push(machine)
    machine.start()
  }
}

async function run(stage: Stage, network: ReturnType<typeof sampleNetwork>): Promise<void> {
  const { ground, world, parameters, machines } = stage
  const { clock, dice, story } = ground
  const own = dice.fork('customers')
  const customers = Array.from({ length: parameters.customers }, (_, index) =>
    createCustomer(ground, `client ${index + 1}`, {
      network,
      skewMs: own.between(-parameters.skewMs, parameters.skewMs),
    }),
  )
  const ask = async (index: number) => {
    await clock.sleep(own.between(0, parameters.unsafeMs))
    const prompt = `What is prompt-${own.between(1e9, 2e9)}?`
    const ending = await customers[index % customers.length]?.ask(prompt, parameters)
    if (ending === 'gave-up') story.violate('a client got no answer in eighty tries')
  }
  const over = new AbortController()
  Object.assign(world.network, {
    loss: parameters.loss,
    duplicates: parameters.duplicates,
    delays: parameters.delays,
  })
  Object.assign(world.store, { lostAnswers: parameters.lostAnswers })
  const asked = Promise.all(Array.from({ length: parameters.jobs }, (_, index) => ask(index)))
  const trouble = makeTrouble(stage, over.signal)
  await clock.sleep(parameters.unsafeMs)
  over.abort()
  await trouble
  story.note('everything', 'is healed')
  Object.assign(world.network, { loss: 0, duplicates: 0, delays: 0 })
  Object.assign(world.store, { lostAnswers: 0 })
  for (const { habits } of machines) {
    habits.dies = 0
    habits.provider.hangs = 0
  }
  const until = clock.now() + healedMs
  let isAnswered = false
  asked.then(
    () => {
      isAnswered = true
    },
    (error: unknown) => story.violate(`a client failed: ${String(error)}`),
  )
  const isOver = () =>
    isAnswered &&
    // A store in memory has no database to be back.
    (world.store.status().connected || !world.store.durable) &&
    unfinished(world.store.latest.values()).length === 0
  // A broken promise is enough to know.
  while (!isOver() && clock.now() < until && story.violations.length === 0) {
    await clock.sleep(lookMs)
  }
  if (clock.now() >= until) story.violate('not everything came to its end in time')
}

/** Fails when something does not end at all: that must not keep many seeds waiting. */
const bounded = ({ ground: { clock } }: Stage, what: string, work: Promise<void>): Promise<void> =>
  Promise.race([
    work,
    clock.sleep(2 * healedMs).then(() => {
      throw new Error(`${what} never ended`)
    }),
  ])

async function stopAll({ world, machines }: Stage): Promise<void> {
  for (const machine of machines) machine.end()
  await world.end()
}
