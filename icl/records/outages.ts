import { type Clock, elapsedSince, type MonotonicMs } from '../../lib/clock.ts'
import { dayMs, hourMs } from '../../lib/time.ts'
import { every } from '../async/repeat.ts'
import type { Outage } from '../rules/outages.ts'
import type { Store } from '../store/store.ts'
import type { Log } from '../telemetry/log.ts'
import { keyOf, prefixOf } from './keys.ts'

/**
 * Detects outages of the ICL. Every second each replica renews one mark in the store, which all replicas share. A replica that could
 * not renew it for some seconds, because it was down, frozen or without its database, reads the mark before `all` or `known` return.
 * If no other replica has renewed it either, the time since the mark is an outage. The first replica to notice saves it under its start,
 * with its end, and the others read it. `rules/outages.ts` defines what an outage changes.
 */
export type Outages = ReturnType<typeof createOutages>

const renewMs = 1_000
/** A replica that was silent for longer may have been away. Shorter outages do no harm. */
const silentMs = 3_000

const markKey = keyOf('icl-seen')
const markLivesMs = dayMs
const prefix = prefixOf('outage')
const outageLivesMs = hourMs
/** How far the clocks of replicas may differ. */
const slackMs = 5_000

/** The outages that have ended by now: one that ends later was saved by a clock that was ahead, and is none. */
const ended = (outages: readonly Outage[], now: number): readonly Outage[] =>
  outages.filter(({ until }) => until <= now + slackMs)

type Held = { readonly store: Store; readonly clock: Clock; readonly log: Log }

/** Creates the detection of outages over a store. */
export function createOutages(held: Held) {
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
    // Counts from when the renewal began: the replica may have been frozen since.
    renewedAt = askedAt
  }
  const renewOnce = () => {
    renewing ??= renew().finally(() => {
      renewing = undefined
    })
    return renewing
  }
  const current = () => (outages.length === 0 ? outages : ended(outages, clock.now()))
  const all = async () => {
    if (isSilent()) {
      // Waits for a renewal that began before the silence, because it has not looked for an outage.
      await renewing?.catch(() => {})
      if (isSilent()) await renewOnce()
    }
    return current()
  }
  return {
    /** Returns the outages of the last hour. Reads the mark first when this replica may have been away. Throws what the store throws. */
    all,
    /** The same for callers that change nothing: returns the outages known so far when the store fails. */
    known: (): Promise<readonly Outage[]> => all().catch(current),
    /** Renews the mark every second until the signal aborts. */
    keep: (signal: AbortSignal) =>
      every(held, renewMs, signal, 'saying that the ICL is there', renewOnce),
  }
}

/** Saves the outage that ends now, if there is one, and returns all outages. */
async function catchUp({ store, clock, log }: Held, now: number): Promise<readonly Outage[]> {
  const known = ended(await listOutages(store, now), now)
  const [mark] = await store.listKeys(markKey, 0)
  if (!mark) return known
  // The replica that saved the last outage may have been killed before it renewed the mark.
  const from = Math.max(mark.expiresAt - markLivesMs, ...known.map(({ until }) => until))
  if (now - from <= silentMs) return known
  const write = { kind: 'key', key: keyOf('outage', from), value: String(now) } as const
  const expiresAt = now + outageLivesMs
  if (await store.save({ ...write, now: clock.now(), expiresAt })) {
    log.warn('The ICL was away: deadlines are moved', { seconds: Math.round((now - from) / 1000) })
  }
  return listOutages(store, now)
}

const listOutages = async (store: Held['store'], now: number): Promise<readonly Outage[]> =>
  (await store.listKeys(prefix, now)).map(({ key, value }) => ({
    from: Number(key.slice(prefix.length)),
    until: Number(value),
  }))
