// Puts faults into a world under load, one at a time, and looks after each for everything that was acknowledged until then.
import { isSettled, type Job } from '../../icl/rules/job.ts'
import type { Store } from '../../icl/store/store.ts'
import { ProblemError } from '../../lib/problem.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { systemClock } from '../../lib/system.ts'
import { createDice } from '../simulation/dice.ts'
import { contentsOf } from '../store/mirror-world.ts'
import { checkAll, checkTold, type Findings, type Problem } from './check.ts'
import { type Load, startLoad, type Told } from './load.ts'
import { comesTo, type FaultKind, isWhole, type Stage } from './stage.ts'
import { type StoreKind, startWorld, type World } from './world.ts'

/** What to run. */
export type RunOptions = {
  readonly store: StoreKind
  readonly kinds: readonly FaultKind[]
  readonly seed: number
  /** The library that `findPreload` found; without it, kinds that need it are left out. */
  readonly preload: string | undefined
  /** Asked before each fault. */
  readonly goesOn: (faults: number) => boolean
  /** Bounds how long a fault lasts, in milliseconds; none when left out. */
  readonly longestMs?: number
  readonly nodes?: number
  /** Clients that have one prompt after the other answered, 2 by default. */
  readonly clients?: number
  /** Goes on as soon as the ICL is ready again, and waits for an answered job only in the end. */
  readonly isHasty?: boolean
  /** How long jobs that are under way in the end may take before their clients cancel them, in milliseconds; as long as they like when left out. */
  readonly cancelAfterMs?: number
  readonly signal?: AbortSignal
  readonly print?: (line: string) => void
}

/** A fault that was put in; times in milliseconds. */
export type PutFault = {
  readonly kind: string
  readonly store: StoreKind
  readonly how: string
  readonly from: number
  readonly to: number
  /** Until a job that was submitted afterwards was answered; undefined when none was within five minutes. */
  readonly recoveryMs: number | undefined
  readonly problems: readonly Problem[]
}

/** A job of the load and how it ended in the store. */
export type Ended = { readonly told: Told; readonly job: Job | undefined }

/** Acknowledged jobs that were not answered although nobody did wrong. */
export const isExpired = ({ job }: Ended): boolean => job !== undefined && job.phase !== 'accepted'

/** What came of it. */
export type RunReport = {
  readonly faults: readonly PutFault[]
  readonly ended: readonly Ended[]
  /** What was wrong in the end and not after a fault already. */
  readonly problems: readonly Problem[]
  readonly statements: number
  readonly turnedAway: ReadonlyMap<string, number>
}

const recoveryMs = 300_000
/** The longest that a job may take, and some time for what follows. */
const settleMs = 720_000
/** As `cancelAfterMs`, for a run that is ended from outside. */
const hurriedMs = 10_000
/** What was found once can be lost later, but not without a word about the jobs after it: each check goes back over so many. */
const lookBack = 40
const mostLooks = 15
const mostLooksInAll = 60
const lookPauseMs = 2_000

/** Runs faults of some kinds until it is enough; throws when the world does not come up. */
export async function runFaults(options: RunOptions): Promise<RunReport> {
  const { store, print = () => {}, signal = new AbortController().signal } = options
  const world = await startWorld(store, options.nodes ?? 5, options.preload)
  try {
    const load = await startLoad(world, options.clients ?? 2, options.isHasty ? 2_000 : 15_000)
    await needs('the first job is answered', () => answered(load, 0))
    // A runtime that goes around libc would have no faults, and pass.
    if (store === 'sqlite' && world.icl.control?.counts().syncs === 0)
      throw new Error('The preload sees no fsync')
    const known = new Set<string>()
    const fresh = (problems: readonly Problem[]) => problems.filter((one) => isNew(known, one))
    const faults: PutFault[] = []
    const draw = drawer(options)
    const { longestMs = Number.POSITIVE_INFINITY } = options
    const dice = createDice(options.seed).fork('how')
    let isBroken = false
    while (!isBroken && !signal.aborted && options.goesOn(faults.length)) {
      const kind = draw()
      const damage: string[] = []
      const noteDamage = (what: string) => damage.push(what)
      const stage: Stage = { world, load, dice, signal, longestMs, noteDamage }
      const isEnough = (since: number) => options.isHasty || signal.aborted || answered(load, since)
      try {
        const fault = await putIn(kind, stage, isEnough)
        const problems = await lookWhenWhole(world, load)
        const found = fresh([...problems, ...damage.map(damaged), ...(await startDead(world))])
        faults.push({ ...fault, store, problems: found })
        print(lineOf(fault, load, found))
        if (found.length > 0) print(`${await world.lastLogs()}\nkept in ${world.keep()}`)
      } catch (error) {
        isBroken = true
        faults.push({ ...brokenBy(kind, error), store })
        print(`${kind.name}: ${error}\n${await world.lastLogs()}`)
      }
    }
    const lastTo = faults.at(-1)?.to ?? 0
    const isOver = () => isBroken || signal.aborted || answered(load, lastTo)
    await comesTo(isOver, recoveryMs)
    load.stop()
    print('waiting for the jobs that are under way ...')
    const isHurried = isBroken || signal.aborted
    const findings = await settle(world, load, isHurried ? hurriedMs : options.cancelAfterMs).catch(
      (error: unknown) => notLookedAt(error),
    )
    const differences = isHurried ? [] : await compareStores(world)
    const ended = load.told.map((told) => ({ told, job: findings.jobs.get(told.jobId) }))
    if (findings.problems.length > 0 || ended.some(isExpired)) print(`kept in ${world.keep()}`)
    const { statements } = findings
    const found = faults.flatMap(({ problems }) => problems)
    const left = found.filter((one) =>
      findings.problems.some((other) => nameOf(other) === nameOf(one)),
    )
    // Without a last look nothing is known of them.
    if (found.length > 0 && findings.jobs.size > 0) {
      print(`of ${found.length} problems found before, ${left.length} are left`)
    }
    const { turnedAway } = load
    return {
      faults,
      ended,
      statements,
      turnedAway,
      problems: fresh([...findings.problems, ...differences]),
    }
  } finally {
    await world.stop()
  }
}

/**
 * Looks for what was told. A database lacks what waits in the ICL's file, and it may go away during a look. So what is missing is
 * looked for again, and a look counts only when the database was there at both its ends. The check in the end looks for everything.
 */
async function lookWhenWhole(world: World, load: Load): Promise<readonly Problem[]> {
  for (let looks = 0, all = 0; ; all++) {
    await comesTo(() => isWhole(world.iclUrl), settleMs)
    const { problems } = await patiently(() => checkTold(world, load.told.slice(-lookBack)))
    if (problems.length === 0) return problems
    if (await isWhole(world.iclUrl)) looks++
    if (looks === mostLooks || all === mostLooksInAll) return problems
    await systemClock.sleep(lookPauseMs)
  }
}

/** Compares a database with the file that it follows, record by record, once the ICL has stopped in order. */
async function compareStores(world: World): Promise<readonly Problem[]> {
  if (world.store === 'sqlite') return []
  await comesTo(() => isWhole(world.iclUrl), settleMs)
  await world.icl.end('SIGTERM')
  const contents = async (opening: Promise<Store>) => {
    const store = await opening
    return contentsOf(store.scan()).finally(() => store.close())
  }
  const here = await contents(world.lookIntoFile())
  const there = await patiently(() => contents(world.look()))
  const names = [...new Set([...here.keys(), ...there.keys()])]
  return names.flatMap((about): Problem[] => {
    if (here.get(about) === there.get(about)) return []
    const how = here.has(about) ? (there.has(about) ? 'differs' : 'is missing') : 'is left'
    return [{ kind: 'lost', about, what: `${how} in the database` }]
  })
}

/** What is known when the store cannot be looked into. */
const notLookedAt = (error: unknown): Findings => ({
  problems: [{ kind: 'unsettled', about: 'the end', what: String(error) }],
  jobs: new Map(),
  statements: 0,
})

/** A fault after which the run cannot go on. */
function brokenBy({ name: kind }: FaultKind, error: unknown): Omit<PutFault, 'store'> {
  const now = systemClock.now()
  const problems: Problem[] = [{ kind: 'unsettled', about: kind, what: String(error) }]
  return { kind, how: 'broken', from: now, to: now, recoveryMs: undefined, problems }
}

/** Draws kinds from a bag that is filled again when it is empty, so that each comes as often. */
function drawer({ kinds, seed }: RunOptions): () => FaultKind {
  const dice = createDice(seed).fork('which')
  let bag: FaultKind[] = []
  return () => {
    if (bag.length === 0) bag = [...kinds]
    return bag.splice(dice.between(0, bag.length - 1), 1)[0]!
  }
}

/** Puts a fault in once the load goes on, and measures how long it takes after its end until a new job is answered. */
async function putIn(
  kind: FaultKind,
  stage: Stage,
  isEnough: (since: number) => boolean,
): Promise<Omit<PutFault, 'store' | 'problems'>> {
  const { world, load } = stage
  const before = load.acknowledged()
  await needs('the load goes on', () => load.acknowledged() > before)
  const from = systemClock.now()
  const how = await kind.put(stage)
  const to = systemClock.now()
  const isBack = await comesTo(
    async () => isEnough(to) && (await isWhole(world.iclUrl)),
    recoveryMs,
  )
  const took = systemClock.now() - to
  return { kind: kind.name, how, from, to, recoveryMs: isBack ? took : undefined }
}

const answered = ({ told }: Load, since: number): boolean =>
  told.some(
    ({ submittedAt, inference }) => submittedAt >= since && inference?.status === 'accepted',
  )

/** Waits until all that is under way has ended, and looks at everything. */
async function settle(
  world: World,
  load: Load,
  cancelAfterMs: number | undefined,
): Promise<Findings> {
  const isDone = async () => {
    const look = await world.look()
    try {
      const { jobsByPhase, effects } = await look.stats()
      const phases = Object.entries(jobsByPhase) as [Job['phase'], number][]
      return effects === 0 && phases.every(([phase, jobs]) => isSettled(phase) || jobs === 0)
    } finally {
      await look.close()
    }
  }
  // A database that catches up may be too slow to be looked into.
  const isSettledAll = async () => load.hasEnded() && (await isDone().catch(() => false))
  if (!(await comesTo(isSettledAll, cancelAfterMs ?? settleMs)) && cancelAfterMs !== undefined) {
    for (const { client, jobId } of load.told) await client.cancel(jobId).catch(() => {})
    await comesTo(isSettledAll)
  }
  return patiently(() => checkAll(world, load.told))
}

/** Repeats a look for five minutes while the database does not answer: a busy machine may starve it longer than its client waits. */
async function patiently<T>(look: () => Promise<T>): Promise<T> {
  const end = performance.now() + recoveryMs
  for (;;) {
    try {
      return await look()
    } catch (error) {
      if (!isOfDatabase(error) || performance.now() > end) throw error
      await systemClock.sleep(lookPauseMs)
    }
  }
}

const isOfDatabase = (error: unknown): boolean =>
  (error instanceof SvcError && error.code === 'store-unavailable') ||
  (error instanceof ProblemError && error.code === 'unavailable')

/** Starts processes again that ended by themselves, which none may. */
async function startDead({ icl, nodes }: World): Promise<readonly Problem[]> {
  const dead = [icl, ...nodes].filter(({ process }) => process().hasExited())
  for (const part of dead) await part.start()
  return dead.map(({ name }) => ({ kind: 'lost', about: name, what: 'ended by itself' }))
}

const damaged = (what: string): Problem => ({ kind: 'lost', about: 'the database', what })

const nameOf = ({ about, what }: Problem): string => `${about} ${what}`

function isNew(known: Set<string>, problem: Problem): boolean {
  const key = nameOf(problem)
  if (known.has(key)) return false
  known.add(key)
  return true
}

function lineOf(
  { kind, how, recoveryMs }: Omit<PutFault, 'store' | 'problems'>,
  load: Load,
  problems: readonly Problem[],
): string {
  const back =
    recoveryMs === undefined ? 'not back' : `back after ${(recoveryMs / 1000).toFixed(1)} s`
  const wrong = problems.map((one) => `\n  ${one.kind}: ${one.about} ${one.what}`).join('')
  return `${kind} (${how}): ${back}; ${load.told.length} jobs, ${load.acknowledged()} acknowledged${wrong}`
}

async function needs(what: string, holds: () => boolean): Promise<void> {
  if (await comesTo(holds, recoveryMs)) return
  throw new Error(`It takes longer than five minutes until ${what}`)
}
