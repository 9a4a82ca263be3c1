import { elapsedSince, type MonotonicMs } from '../../lib/clock.ts'
import type { JobId } from '../../lib/codecs.ts'
import { withDeadline } from '../../lib/deadline.ts'
import { ProblemError } from '../../lib/problem.ts'
import { SvcError } from '../../lib/svc-error.ts'
import type { Dependencies } from '../dependencies.ts'
import { remembered } from '../remembered.ts'

const pingMs = 2_000
const rememberedMs = 500
const patienceMs = 400
const wellRememberedMs = 30_000
const faultRememberedMs = 3_000
const pageSize = 100
const mostPages = 10

/** `chain` says what keeps it from answering, if something does. */
type Answering = {
  readonly chain: string | undefined
  readonly store: boolean
  readonly blobs: boolean
}

/** Says how the ICL is; what it asks of others for that is remembered for half a second, however many ask. */
export function createProbes(deps: Dependencies) {
  const ping = remembered(deps.clock, rememberedMs, () => pingAll(deps)).read
  const askFaults = createFaultProbe(deps)
  let last: Answering | undefined
  // Whoever probes waits for a second or so: what hangs must not make the ICL look dead.
  const ask = async (): Promise<Answering> => {
    const fresh = ping().then((answering) => {
      last = answering
      return answering
    })
    if (!last) return fresh
    const known = last
    const timer = new AbortController()
    const soon = deps.clock.sleep(patienceMs, timer.signal).then(
      () => known,
      () => known,
    )
    const answering = await Promise.race([fresh, soon])
    timer.abort()
    return answering
  }

  return {
    /** How the ICL is (spec 2.1): `mongo_connected` says whether the configured durable store answers. */
    checkHealth: async () => {
      const { chain, store } = await ask()
      return {
        status: 'ok' as const,
        chain_connected: chain === undefined,
        mongo_connected: store && deps.store.status().connected,
      }
    },

    /** Whether to send traffic here, and what is degraded; throws `unavailable` when saves cannot be taken, or the ICL stops. */
    checkReadiness: async () => {
      const { chain, store, blobs } = await ask()
      const { writable, reasons } = deps.store.status()
      const all = [
        ...(deps.waiters.closed ? ['the ICL is stopping'] : []),
        ...(store ? [] : ['the store does not answer']),
        ...(writable ? [] : ['the store takes no saves']),
        ...(blobs ? [] : ['the blob store does not answer: uploads and downloads fail']),
        ...reasons,
        ...deps.clockWatch.faults(),
        ...(chain === undefined
          ? await askFaults()
          : [`${chain}: previews and submissions fail, commits wait`]),
      ]
      if (!store || !writable || deps.waiters.closed) {
        throw new ProblemError('unavailable', all.join('; '))
      }
      return { ready: true, reasons: all }
    },
  }
}

async function pingAll(deps: Dependencies): Promise<Answering> {
  const [chain, store, blobs] = await Promise.all([
    failureOf(deps, () => deps.chain.ping()),
    failureOf(deps, () => deps.store.ping()),
    failureOf(deps, (signal) => deps.blobs.ping(signal)),
  ])
  return {
    chain: chain === undefined ? undefined : reasonOf(chain),
    store: store === undefined,
    blobs: blobs === undefined,
  }
}

const reasonOf = (error: unknown): string =>
  error instanceof SvcError && error.code === 'chain-too-many-requests'
    ? 'the chain RPC has too many requests'
    : 'the chain does not answer'

/** Asks what is wrong with the contracts and what results wait for, not often, and answers soon with what is known. */
function createFaultProbe(deps: Dependencies): () => Promise<readonly string[]> {
  const { chain, clock } = deps
  let faults: readonly string[] = []
  let waiting: readonly string[] = []
  let lookedAt: MonotonicMs | undefined
  let looking: Promise<void> | undefined
  const lookAfresh = async () => {
    // A chain or store that does not answer is a reason of its own.
    const found = await Promise.allSettled([chain.findFaults(), findUncommitted(deps)])
    if (found[0].status === 'fulfilled') faults = found[0].value
    if (found[1].status === 'fulfilled') waiting = found[1].value
  }
  const look = async () => {
    // What is wrong is looked at again soon: somebody may be mending it.
    const rememberedMs = faults.length + waiting.length > 0 ? faultRememberedMs : wellRememberedMs
    if (elapsedSince(clock, lookedAt) < rememberedMs) return looking
    lookedAt = clock.monotonic()
    looking = lookAfresh()
    return looking
  }
  return async () => {
    const timer = new AbortController()
    await Promise.race([look(), clock.sleep(patienceMs, timer.signal).catch(() => {})])
    timer.abort()
    return [...faults, ...waiting]
  }
}

/** How many results wait since the chain did not take them, and why. */
async function findUncommitted({ store }: Dependencies): Promise<readonly string[]> {
  let last: JobId | undefined
  // Jobs may wait for a day with nothing but a message to their client's server, and must not hide the others.
  for (let page = 0; page < mostPages; page++) {
    const ids = await store.listJobsWithEffects(last, pageSize)
    const jobs = await Promise.all(ids.map((id) => store.findJob(id)))
    const errors = jobs.flatMap((found) => found?.document.commitError ?? [])
    const [error] = errors
    const isAll = ids.length < pageSize
    if (error !== undefined) {
      const count = `${errors.length}${isAll && page === 0 ? '' : ' or more'}`
      return [`results that wait to be committed: ${count}; last try: ${error}`]
    }
    if (isAll) return []
    last = ids.at(-1)
  }
  return []
}

async function failureOf(
  { clock }: Dependencies,
  ping: (signal: AbortSignal) => Promise<void>,
): Promise<unknown | undefined> {
  try {
    await withDeadline(clock, pingMs, undefined, () => new Error('timed out'), ping)
    return undefined
  } catch (error) {
    // Not answering is the finding, not a failure of the check.
    return error
  }
}
