import { type Clock, elapsedSince, type MonotonicMs } from '../../lib/clock.ts'
import { withDeadline } from '../../lib/deadline.ts'
import { ProblemError } from '../../lib/problem.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { cached } from '../async/cached.ts'
import type { Dependencies } from '../dependencies.ts'

const pingMs = 2_000
const cachedMs = 500
/** Probes wait for about a second: a part that hangs must not make the ICL look dead. */
const patienceMs = 400
/** How long is waited for an answer when none is known that is recent enough to be given. */
const freshPatienceMs = 800
const recentMs = 3_000
const wellRememberedMs = 30_000
const faultRememberedMs = 3_000
/** A check of the contracts that has not come back by then has lost its meaning. */
const faultsRecentMs = wellRememberedMs + 5_000
const pageSize = 100
const mostJobs = 1_000

/** Says how the ICL is; what it asks of others for that is cached for half a second, however many ask, and given for 3 s. */
export function createProbes(deps: Dependencies) {
  const askChain = createProbe(deps, () => deps.chain.ping())
  const askStore = createProbe(deps, () => deps.store.ping())
  const askBlobs = createProbe(deps, (signal) => deps.blobs.ping(signal))
  const askFaults = createFaultProbe(deps)

  return {
    /** How the ICL is (spec 2.1): `mongo_connected` says whether the configured durable store answers. */
    checkHealth: async () => {
      const [chain, store] = await Promise.all([askChain(), askStore()])
      const { connected, writable } = deps.store.status()
      const isUp = store === undefined && writable
      return {
        status: isUp ? ('ok' as const) : ('unavailable' as const),
        chain_connected: chain === undefined,
        mongo_connected: store === undefined && connected,
      }
    },

    /** Whether to send traffic here, and what is degraded; throws `unavailable` when saves cannot be taken, or the ICL stops. */
    checkReadiness: async () => {
      const [chain, store, blobs, faults] = await Promise.all([
        askChain(),
        askStore(),
        askBlobs(),
        askFaults(),
      ])
      const { writable, reasons } = deps.store.status()
      const all = [
        ...(deps.notifier.closed ? ['the ICL is stopping'] : []),
        ...(store === undefined ? [] : ['the store does not respond']),
        ...(writable ? [] : ['the store takes no saves']),
        ...(blobs === undefined
          ? []
          : ['the blob store does not respond: uploads and downloads fail']),
        ...reasons,
        ...deps.clockWatch.faults(),
        ...(chain === undefined
          ? faults
          : [`${reasonOf(chain)}: previews, lists and submissions fail, commits wait`]),
      ]
      if (store !== undefined || !writable || deps.notifier.closed) {
        throw new ProblemError('unavailable', all.join('; '))
      }
      return { ready: true, reasons: all }
    },
  }
}

const timedOut = () => new Error('timed out')

/** Asks whether something answers; gives what keeps it from that. Answers soon: what hangs has failed, unless it answered lately. */
function createProbe(
  deps: Dependencies,
  ping: (signal: AbortSignal) => Promise<void>,
): () => Promise<unknown | undefined> {
  const { clock } = deps
  let last: { readonly at: MonotonicMs; readonly failure: unknown } | undefined
  const asked = cached(clock, cachedMs, async () => {
    const failure = await failureOf(deps, ping)
    last = { at: clock.monotonic(), failure }
    return failure
  })
  return () => {
    const fresh = asked.read()
    return last && elapsedSince(clock, last.at) < recentMs
      ? soon(clock, patienceMs, fresh, last.failure)
      : soon(clock, freshPatienceMs, fresh, timedOut())
  }
}

/** What comes of `work` within `ms`, else `otherwise`. */
async function soon<T>(clock: Clock, ms: number, work: Promise<T>, otherwise: T): Promise<T> {
  const timer = new AbortController()
  const late = () => otherwise
  const answer = await Promise.race([work, clock.sleep(ms, timer.signal).then(late, late)])
  timer.abort()
  return answer
}

const reasonOf = (error: unknown): string =>
  error instanceof SvcError && error.code === 'chain-too-many-requests'
    ? 'the chain RPC has too many requests'
    : 'the chain does not respond'

/** Asks what is wrong with the contracts and what results wait for, not often, and answers soon with what is known. */
function createFaultProbe(deps: Dependencies): () => Promise<readonly string[]> {
  const { chain, clock } = deps
  const contracts = createFinding(clock, 'the contracts have', () => chain.findFaults())
  const results = createFinding(clock, 'uncommitted results have', () => findUncommitted(deps))
  return async () => (await Promise.all([contracts(), results()])).flat()
}

function createFinding(
  clock: Clock,
  what: string,
  find: () => Promise<readonly string[]>,
): () => Promise<readonly string[]> {
  let found: { readonly at: MonotonicMs; readonly faults: readonly string[] } | undefined
  let lookedAt: MonotonicMs | undefined
  let looking: Promise<void> = Promise.resolve()
  const look = async () => {
    // What does not respond is found by its own probe, too.
    const faults = await find().catch(() => undefined)
    if (faults) found = { at: clock.monotonic(), faults }
  }
  return async () => {
    // A failed part is checked again soon: an operator may be mending it.
    const isWell = found?.faults.length === 0
    if (elapsedSince(clock, lookedAt) >= (isWell ? wellRememberedMs : faultRememberedMs)) {
      lookedAt = clock.monotonic()
      looking = look()
    }
    await soon(clock, patienceMs, looking, undefined)
    const isRecent = elapsedSince(clock, found?.at) < faultsRecentMs
    return isRecent && found ? found.faults : [`${what} not been checked: the check hangs or fails`]
  }
}

/** How many results wait since the chain did not take them, and why. */
async function findUncommitted({ store }: Dependencies): Promise<readonly string[]> {
  // Jobs may wait for a day with nothing but a message to their client's server, and must not hide the others.
  const ids = await store.listDue('effect', Number.MAX_SAFE_INTEGER, mostJobs)
  for (let at = 0; at < ids.length; at += pageSize) {
    const page = ids.slice(at, at + pageSize)
    const jobs = await Promise.all(page.map((id) => store.findJob(id)))
    const errors = jobs.flatMap((found) => found?.document.commitError ?? [])
    const [error] = errors
    if (error !== undefined) {
      const count = `${errors.length}${ids.length < pageSize ? '' : ' or more'}`
      return [`results that wait to be committed: ${count}; last try: ${error}`]
    }
  }
  return []
}

async function failureOf(
  { clock }: Dependencies,
  ping: (signal: AbortSignal) => Promise<void>,
): Promise<unknown | undefined> {
  try {
    await withDeadline(clock, pingMs, undefined, timedOut, ping)
    return undefined
  } catch (error) {
    // Not answering is the finding, not a failure of the check.
    return error
  }
}
