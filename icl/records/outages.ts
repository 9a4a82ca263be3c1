import { type Clock, elapsedSince, type MonotonicMs } from '../../lib/clock.ts'
import { every } from '../async/repeat.ts'
import type { Outage } from '../rules/outages.ts'
import type { Store } from '../store/store.ts'
import type { Log } from '../telemetry/log.ts'
import { keyOf, prefixOf } from './keys.ts'

/**
 * How the ICL finds out that it was away. Every second each replica saves that the ICL is there: one mark for all of them. A replica
 * that could not do that for some seconds, as it was down, frozen or without its database, reads the mark before it does anything
 * else. If no other replica has renewed it either, the time since then is an outage, which is saved under its beginning: the first
 * replica to notice says when it ended, and all others hear it. `rules/outages.ts` says what an outage means.
 */
export type Outages = {
  /** The outages of the last hour; finds out first when this replica may have been away, and throws as the store does. */
  all(): Promise<readonly Outage[]>
  /** The same for those that change nothing: what is known already while the store takes no saves. */
  known(): Promise<readonly Outage[]>
  /** Says every second that the ICL is there, until the signal aborts. */
  keep(signal: AbortSignal): Promise<void>
}

const renewMs = 1_000
/** A replica that has been silent for longer may have been away; shorter outages cost nothing that matters. */
const silentMs = 3_000

const markKey = keyOf('icl-seen')
const markLivesMs = 86_400_000
const prefix = prefixOf('outage')
const outageLivesMs = 3_600_000

type Held = { readonly store: Store; readonly clock: Clock; readonly log: Log }

/** Outages of the ICL that has this store. */
export function createOutages(held: Held): Outages {
  const { store, clock } = held
  let outages: readonly Outage[] = []
  let renewedAt: MonotonicMs | undefined
  let renewing: Promise<void> | undefined
  const isSilent = () => elapsedSince(clock, renewedAt) > silentMs
  const renew = async () => {
    const [now, askedAt] = [clock.now(), clock.monotonic()]
    if (isSilent()) outages = await catchUp(held, now)
    const expiresAt = now + markLivesMs
    await store.save({ kind: 'key', key: markKey, value: 'seen', now, expiresAt })
    // The mark says when it was asked for: a replica may have been frozen since.
    renewedAt = askedAt
  }
  const renewOnce = () => {
    renewing ??= renew().finally(() => {
      renewing = undefined
    })
    return renewing
  }
  const all = async () => {
    // A renewal that began before the silence has not looked for an outage.
    if (isSilent()) await renewing?.catch(() => {})
    if (isSilent()) await renewOnce()
    return outages
  }
  return {
    all,
    known: () => all().catch(() => outages),
    keep: (signal) => every(held, renewMs, signal, 'saying that the ICL is there', renewOnce),
  }
}

/** Every outage up to now, the one included that ends now. */
async function catchUp({ store, clock, log }: Held, now: number): Promise<readonly Outage[]> {
  const known = await listOutages(store, now)
  const [mark] = await store.listKeys(markKey, 0)
  if (!mark) return known
  // The replica that noticed an outage may have been killed before it renewed the mark.
  const from = Math.max(mark.expiresAt - markLivesMs, ...known.map(({ until }) => until))
  if (now - from <= silentMs) return known
  const isFirst = await store.save({
    kind: 'key',
    key: keyOf('outage', from),
    value: String(now),
    now: clock.now(),
    expiresAt: now + outageLivesMs,
  })
  if (isFirst) {
    log.warn('The ICL was away: deadlines are moved', { seconds: Math.round((now - from) / 1000) })
  }
  return listOutages(store, now)
}

const listOutages = async (store: Held['store'], now: number): Promise<readonly Outage[]> =>
  (await store.listKeys(prefix, now)).map(({ key, value }) => ({
    from: Number(key.slice(prefix.length)),
    until: Number(value),
  }))
