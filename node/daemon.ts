import { ComparatorId } from '../lib/codecs.ts'
import { withDeadline } from '../lib/deadline.ts'
import { errorText } from '../lib/host/explain-error.ts'
import type { AssignmentOffer } from '../lib/schemas/assignments.ts'
import { createCertificate } from './attestation/certificate.ts'
import type { NodeChain } from './chain/chain.ts'
import { drain } from './drain.ts'
import type { Offer } from './inference/models.ts'
import { createSpeeds } from './inference/speed.ts'
import { createBudget } from './jobs/budget.ts'
import type { JobDeps } from './jobs/job-deps.ts'
import { nodeStopping } from './jobs/job-end.ts'
import { createOutputKeys, type OutputKeys } from './jobs/output-keys.ts'
import { resumeJob } from './jobs/resume-job.ts'
import { runJob } from './jobs/run-job.ts'
import { messages } from './log-messages.ts'
import { chainHeartbeatCheckMs, createChainHeartbeat } from './loops/chain-heartbeat.ts'
import { createDiskWatch, diskPeriodMs } from './loops/disk.ts'
import { every } from './loops/every.ts'
import { createFundsWatch, fundsPeriodMs } from './loops/funds.ts'
import { createHeartbeat, heartbeatPeriodMs, type SendHeartbeat } from './loops/heartbeat.ts'
import { createMemoryWatch, memoryPeriodMs } from './loops/memory.ts'
import { pollAssignments } from './loops/poller.ts'
import { createTaker, takingOffers } from './loops/take-offers.ts'
import { watchCertificate, watchdogPeriodMs } from './loops/watchdog.ts'
import { endsRun, keepAttested, type NodeApi } from './node-api.ts'
import { createSlots, type Slots } from './slots.ts'

const finalHeartbeatMs = 5_000
const tiersPatienceMs = 5_000

/** All dependencies of the daemon, so that it runs whole on a virtual clock. */
export type DaemonDeps = Omit<JobDeps, 'api' | 'chain' | 'outputKeys' | 'budget' | 'speeds'> & {
  /** The client of the ICL, whose requests bear a MAC by the session's request key. */
  readonly api: NodeApi
  readonly chain: NodeChain
  /** The models for which it takes new jobs. */
  readonly offer: Offer
  readonly version: string
  readonly backend: string
  /** When this run's certificate expires, in Unix seconds. 0 without one. */
  readonly expiresAt: number
  /** Attests once, stores the record, and returns the new expiry in Unix seconds. */
  readonly attest: (signal: AbortSignal) => Promise<number>
  readonly maxConcurrentJobs: number
  /** How often an idle node polls, in seconds. */
  readonly pollSeconds: number
  readonly drainMs: number
  /** Rejects while the journal's disk is not writable. */
  readonly checkDisk: () => Promise<void>
  /** The resident memory of the process. */
  readonly residentBytes: () => number
  /** Receives, at its start, what the daemon shows of itself. */
  readonly onStart?: (state: DaemonState) => void
  /** Drops code and garbage that the process does not need now. */
  readonly shrinkMemory: () => void
}

/** What a running daemon shows of itself. */
export type DaemonState = {
  /** Until the certificate expires. 0 without one. */
  readonly certificateSeconds: () => number
  /** Slots for new jobs. 0 while the daemon takes no work. */
  readonly freeSlots: () => number
  readonly usedSlots: () => number
  /** Jobs that have not ended, including those that hold no slot. */
  readonly runningJobs: () => number
}

/** Runs the node until `signal` aborts, then drains it until `abandon` at most (spec 3.2). Throws `run-superseded` or `run-conflict`. */
export async function runDaemon(
  deps: DaemonDeps,
  signal: AbortSignal,
  abandon: AbortSignal = new AbortController().signal,
): Promise<void> {
  const daemon = assemble(deps)
  const { certificate, stopping, jobs, ended, slots } = daemon
  const stop = () => stopping.abort(nodeStopping())
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()

  if (certificate.secondsLeft() === 0 && !stopping.signal.aborted) {
    const recovered = certificate.recover('a new run of the daemon')
    await Promise.race([recovered.catch(() => {}), abortOf(stopping.signal)])
  }
  await sayStart(daemon)
  // A loop ends only with the daemon. If one fails, it ends the daemon: a half-working node is worse than none.
  const loops = daemon.failure() === undefined && runLoops(daemon).catch(daemon.fail)
  await abortOf(stopping.signal)
  deps.log.info(
    `Daemon stopping: no new assignments, waiting for ${slots.running().length} running job(s)`,
  )
  // Otherwise the ICL would offer work until the next heartbeat.
  if (slots.running().length > 0) daemon.beatNow()
  await drain(deps, slots, jobs, abandon)
  if (daemon.failure() === undefined) await sayGoodbye(daemon)
  ended.abort(nodeStopping())
  await loops
  signal.removeEventListener('abort', stop)
  deps.log.info('Daemon stopped')
  const failure = daemon.failure()
  if (failure === undefined) return
  deps.log.error(`Daemon ended: ${errorText(failure.why)}`)
  throw failure.why
}

type Daemon = ReturnType<typeof assemble>

/** Makes the parts of a running daemon. */
function assemble(deps: DaemonDeps) {
  /** Aborts when the daemon stops taking work. */
  const stopping = new AbortController()
  /** Aborts when the daemon gives its jobs back. */
  const jobs = new AbortController()
  /** Aborts when the daemon ends. */
  const ended = new AbortController()
  let failure: { readonly why: unknown } | undefined
  /** Ends the daemon, with the error. */
  const fail = (why: unknown) => {
    failure ??= { why }
    stopping.abort(why)
    jobs.abort(why)
  }
  const attest = (signal: AbortSignal) =>
    deps.attest(signal).catch((error: unknown) => {
      if (endsRun(error)) fail(error)
      throw error
    })
  const certificate = createCertificate({ ...deps, attest, signal: ended.signal })
  const api = keepAttested(deps.api, certificate, fail)
  /** Tells the ICL at once how many slots are free, and which models the node offers. */
  const beatNow = () => {
    if (certificate.secondsLeft() === 0) return
    beat({ signal: ended.signal }).catch((error: unknown) => {
      if (!ended.signal.aborted) deps.log.warning(messages.heartbeatFailed(errorText(error)))
    })
  }
  const disk = createDiskWatch({ ...deps, onChange: beatNow })
  const funds = createFundsWatch({ ...deps, onChange: beatNow })
  const all = createSlots(deps.maxConcurrentJobs)
  const mayTakeWork = () => disk.isWritable() && funds.canPay()
  const slots: Slots = { ...all, free: () => (mayTakeWork() ? all.free() : 0) }
  const freeSlots = () => (stopping.signal.aborted ? 0 : slots.free())
  const beat: SendHeartbeat = createHeartbeat({
    ...deps,
    api,
    models: () => deps.offer.now,
    withdrawn: () => deps.offer.withdrawn,
    comparators: ComparatorId.options,
    freeSlots,
    takesWork: mayTakeWork,
  })
  deps.offer.onChange(beatNow)
  deps.onStart?.({
    certificateSeconds: certificate.secondsLeft,
    freeSlots: () => (certificate.secondsLeft() > 0 ? freeSlots() : 0),
    usedSlots: all.used,
    runningJobs: () => slots.running().length,
  })
  const parts = { deps, api, certificate, slots, disk, funds, mayTakeWork, beat, beatNow }
  return { ...parts, stopping, jobs, ended, fail, failure: () => failure }
}

/** Runs the loops concurrently (spec 4). The first poll comes after the first heartbeat. */
async function runLoops(daemon: Daemon): Promise<void> {
  const { deps, certificate, slots, beat, stopping, ended, disk, funds } = daemon
  const { clock, log } = deps
  const first = Promise.withResolvers<void>()
  let isBeating = false
  let isHeard = true
  const heartbeat = async () => {
    isBeating = true
    isHeard = false
    try {
      if (certificate.secondsLeft() === 0) throw new Error('no valid attestation certificate')
      await beat({ signal: ended.signal })
      isHeard = true
    } finally {
      isBeating = false
      first.resolve()
    }
  }
  const onHeartbeatError = (error: unknown) =>
    log.warning(messages.heartbeatFailed(errorText(error)))
  certificate.onRenewed(() => {
    // A heartbeat that found the certificate lost is retried by `keepAttested`.
    if (isBeating) return
    beat({ signal: ended.signal }).catch(onHeartbeatError)
  })
  // The ICL does not draw a node without a recent heartbeat.
  const onBack = () => {
    if (!isHeard && !isBeating) heartbeat().catch(onHeartbeatError)
  }
  const outputKeys = createOutputKeys(deps)
  const isIdle = () => slots.running().length === 0
  const watchMemory = createMemoryWatch({ ...deps, isIdle })
  const chainHeartbeat = createChainHeartbeat({ ...deps, signal: stopping.signal })
  await Promise.all([
    every(clock, heartbeatPeriodMs, ended.signal, heartbeat, onHeartbeatError),
    every(clock, chainHeartbeatCheckMs, stopping.signal, chainHeartbeat, (error) =>
      log.warning(`On-chain heartbeat failed: ${errorText(error)}`),
    ),
    every(clock, watchdogPeriodMs, ended.signal, () => watchCertificate(certificate)),
    every(clock, diskPeriodMs, ended.signal, disk.pass),
    // The loops that need the chain log that it is away.
    every(clock, fundsPeriodMs, stopping.signal, () => funds.pass(stopping.signal)),
    first.promise.then(() => poll(daemon, outputKeys, onBack)),
    first.promise.then(() => outputKeys.keepReady(stopping.signal)),
    first.promise.then(() => every(clock, memoryPeriodMs, ended.signal, watchMemory)),
  ])
}

async function poll(daemon: Daemon, outputKeys: OutputKeys, onBack: () => void): Promise<void> {
  const { deps, api, certificate, slots, disk, funds, mayTakeWork, stopping, jobs } = daemon
  const watched = { journal: disk.watched(deps.journal), chain: funds.watched(deps.chain) }
  const mayWork = () => certificate.secondsLeft() > 0 && mayTakeWork()
  const spawn = (assignment: AssignmentOffer) => {
    const claimed = Promise.withResolvers<void>()
    slots.start(assignment, (onSlotFree) =>
      runJob(jobDeps, assignment, jobs.signal, { onClaimed: claimed.resolve, onSlotFree }),
    )
    return claimed.promise
  }
  const take = createTaker({ ...deps, slots, spawn, mayWork }, stopping.signal)
  const kept = { outputKeys, budget: createBudget(watched.journal), speeds: createSpeeds() }
  const jobDeps = { ...deps, api: takingOffers(api, take), ...kept, ...watched }
  for (const entry of deps.journal.unfinished) {
    slots.start(entry.assignment, (onSlotFree) =>
      resumeJob(jobDeps, entry, jobs.signal, { onClaimed: () => {}, onSlotFree }),
    )
  }
  await pollAssignments({ ...deps, api, slots, take, onBack, mayWork }, stopping.signal)
}

/** Logs the start of the daemon: address, tiers, models and the certificate's remaining seconds (spec 6). */
async function sayStart({ deps, certificate, stopping }: Daemon): Promise<void> {
  const { address, version, chain, clock, log, offer } = deps
  const late = () => new Error('the chain is slow')
  const read = (signal: AbortSignal) => chain.registration(signal)
  const tiers = await withDeadline(clock, tiersPatienceMs, stopping.signal, late, read).then(
    (registration) => registration?.modelTiers ?? [],
    () => undefined,
  )
  const [modelIds, certificateSeconds] = [[...offer.now.keys()], certificate.secondsLeft()]
  log.info(messages.daemonStarting({ address, tiers, modelIds, certificateSeconds, version }))
}

async function sayGoodbye({ deps, beat, certificate }: Daemon): Promise<void> {
  if (certificate.secondsLeft() === 0) return
  const late = () => new Error('the ICL is slow')
  await withDeadline(deps.clock, finalHeartbeatMs, undefined, late, (signal) =>
    beat({ final: true, signal }),
  ).catch((error: unknown) => deps.log.warning(messages.heartbeatFailed(errorText(error))))
}

const abortOf = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
