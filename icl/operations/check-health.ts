import { whatOf } from '../../lib/causes.ts'
import { type Clock, elapsedSince, type MonotonicMs } from '../../lib/clock.ts'
import { withDeadline } from '../../lib/deadline.ts'
import { maxBlobBytes } from '../../lib/endpoints.ts'
import { ProblemError } from '../../lib/problem.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { atMost } from '../async/at-most.ts'
import { cached } from '../async/cached.ts'
import { uploaders } from '../blobs/rooms.ts'
import type { Dependencies } from '../dependencies.ts'
import { unlessUnreadable } from '../store/unreadable.ts'

const pingMs = 2_000
const cachedMs = 500
/** Callers of probes wait for about a second. A dependency that hangs must not make the ICL look dead. */
const patienceMs = 400
/** How long a probe waits when it has no recent answer, in milliseconds. */
const freshPatienceMs = 800
const recentMs = 3_000
const wellRememberedMs = 30_000
const faultRememberedMs = 3_000
/** How long a finding about the contracts or the results counts, in milliseconds. */
const faultsRecentMs = wellRememberedMs + 5_000
const pageSize = 100
const mostJobs = 1_000

/** Health checks of the ICL. They ask each dependency at most twice a second, and give its last answer for 3 s while it hangs. */
export function createProbes(deps: Dependencies) {
  let newest: bigint | undefined
  const askChain = createProbe(deps, async () => {
    newest = await deps.chain.ping()
  })
  const askStore = createProbe(deps, () => deps.store.ping())
  const askBlobs = createProbe(deps, (signal) => deps.blobs.ping(signal))
  const askFaults = createFaultProbe(deps)
  const askRooms = createFinding(deps.clock, 'the room for blobs has', async () =>
    shortRooms(await deps.blobs.rooms()),
  )

  return {
    /** The health of the ICL (spec 2.1). `mongo_connected` says whether the configured durable store answers. */
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

    /** Whether to send traffic here, and what is degraded. Throws `unavailable` when the store is away or read-only, or the ICL stops. */
    checkReadiness: async () => {
      const [chain, store, blobs, faults, rooms] = await Promise.all([
        askChain(),
        askStore(),
        askBlobs(),
        askFaults(),
        askRooms(),
      ])
      const { writable, reasons } = deps.store.status()
      const all = [
        ...(deps.notifier.leaving ? ['the ICL is stopping'] : []),
        ...(store === undefined ? [] : ['the store does not respond']),
        ...(writable ? [] : ['the store takes no saves']),
        ...(blobs === undefined
          ? rooms
          : ['the blob store does not respond: uploads and downloads fail']),
        ...reasons,
        ...deps.clockWatch.faults(),
        ...(chain === undefined
          ? faults
          : [`${reasonOf(chain)}: previews, lists and submissions fail, commits wait`]),
      ]
      if (store !== undefined || !writable || deps.notifier.leaving) {
        throw new ProblemError('unavailable', all.join('; '))
      }
      const block_number = chain === undefined ? newest : undefined
      const { blobs: place } = deps.network
      const said = { ready: true, reasons: all, blobs: place }
      return { ...said, ...(block_number !== undefined && { block_number }) }
    },
  }
}

const names = { wallet: 'prompts', node: 'outputs', icl: 'pools' } as const
const shortPart = 1 / 10
const mib = (bytes: number) => `${(bytes / 2 ** 20).toFixed(1)} MiB`

/** Returns a reason for each room in which less than a tenth is free, or that has no place for the largest blob. */
const shortRooms = (rooms: Awaited<ReturnType<Dependencies['blobs']['rooms']>>) =>
  uploaders.flatMap((uploader) => {
    const { bytes, freeBytes, openBytes } = rooms[uploader]
    const room = `room for ${names[uploader]}: ${mib(freeBytes)} of ${mib(bytes)} are free`
    if (openBytes < maxBlobBytes) return [`${room}, the rest is in use, and uploads are refused`]
    return freeBytes < bytes * shortPart ? [`${room}, then the oldest are dropped`] : []
  })

const timedOut = () => new Error('timed out')

/** A probe that returns the error of a ping, or undefined when it succeeds. While a ping hangs, the answer of the last 3 s counts. */
function createProbe({ clock }: Dependencies, ping: (signal: AbortSignal) => Promise<void>) {
  let last: { readonly at: MonotonicMs; readonly failure: unknown } | undefined
  const asked = cached(clock, cachedMs, async () => {
    const pinged = withDeadline(clock, pingMs, undefined, timedOut, ping)
    const failure: unknown = await pinged.catch((error: unknown) => error)
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

/** Returns the result of `work`, or `otherwise` when it takes longer than `ms`. */
const soon = <T>(clock: Clock, ms: number, work: Promise<T>, otherwise: T): Promise<T> =>
  Promise.race([work, atMost(clock, ms, work).then(() => otherwise)])

const reasonOf = (error: unknown): string =>
  error instanceof SvcError && error.code === 'chain-too-many-requests'
    ? whatOf('chain-too-many-requests')
    : 'the chain does not respond'

/** Finds faults of the contracts and results that are not committed. It looks seldom and returns soon with what is known. */
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
    // The probe of a dependency also finds that it does not respond.
    const faults = await find().catch(() => undefined)
    if (faults) found = { at: clock.monotonic(), faults }
  }
  return async () => {
    // After a fault it looks again soon, because an operator may be mending it.
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

/** Returns how many results wait because their commit failed, with the last error; empty when none does. */
async function findUncommitted({ store }: Dependencies): Promise<readonly string[]> {
  // Jobs may wait for a day with only a message to their client's server. These must not hide the others.
  const ids = await store.listDue('effect', Number.MAX_SAFE_INTEGER, mostJobs)
  for (let at = 0; at < ids.length; at += pageSize) {
    const page = ids.slice(at, at + pageSize)
    const jobs = await Promise.all(page.map((id) => store.findJob(id).catch(unlessUnreadable)))
    const errors = jobs.flatMap((found) => {
      const { outbox = [], commitError } = found?.document ?? {}
      return outbox.some(({ effect }) => effect.type === 'commit-result') ? (commitError ?? []) : []
    })
    const [error] = errors
    if (error !== undefined) {
      const count = `${errors.length}${ids.length < pageSize ? '' : ' or more'}`
      return [`results that wait to be committed: ${count}; last try: ${error}`]
    }
  }
  return []
}
