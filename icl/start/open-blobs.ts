/*
 * Problem: sealed blobs belong on IPFS, but not every machine has Kubo, and a place that changes between two runs must lose no blob.
 *
 * Idea: `auto` looks once, at the start, whether this machine's Kubo takes a block. The place then stays until the ICL ends.
 *
 * Invariants:
 * - What the settings name is used as it is named. Only `auto` chooses.
 * - Reads under `auto` find what an earlier run put into the other place, as long as that answers.
 *
 * Failure cases: a Kubo that starts after the ICL is used from the next start on. One that ends is missed, as one that the settings name:
 * uploads fail until it is back.
 */
import type { Clock } from '../../lib/clock.ts'
import type { BlobPlace } from '../../lib/schemas/network.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { systemFetch } from '../../lib/system-fetch.ts'
import type { Blobs } from '../blobs/blobs.ts'
import { hasBlobsInKubo, withEarlierKubo } from '../blobs/earlier-kubo.ts'
import { createKuboBlobs, type KuboOptions } from '../blobs/kubo.ts'
import { tryKubo } from '../blobs/kubo-trial.ts'
import { createStoredBlobs } from '../blobs/stored.ts'
import type { Store } from '../store/store.ts'
import type { Log } from '../telemetry/log.ts'
import type { Host } from './host.ts'
import type { Settings } from './settings.ts'

const roomBytes = 256 * 1024 * 1024

type Opened = {
  readonly blobs: Blobs
  readonly place: BlobPlace
  /** Why it is this place. */
  readonly why: string
  /** A loss that the operator can mend, and the remedy. */
  readonly warning?: string
}

type Parts = { readonly store: Store; readonly clock: Clock; readonly log: Log } & Pick<
  Host,
  'localKubo'
>

/**
 * Opens the place for blobs that the settings name, or chooses it within 1.5 s: Kubo with its records in the store, or the store. Logs
 * which it is, and why.
 */
export async function openBlobs(settings: Settings, parts: Parts): Promise<Opened> {
  const opened = await open(settings, parts)
  const { place, why, warning } = opened
  parts.log.info(`blobs go to ${place === 'ipfs' ? 'IPFS' : 'the store'}`, { why })
  if (warning) parts.log.warn(warning)
  return opened
}

async function open(settings: Settings, { localKubo, ...parts }: Parts): Promise<Opened> {
  const { SVC_ICL_BLOBS: location } = settings
  const { store, clock } = parts
  const kuboAt = (
    at: Pick<KuboOptions, 'rpcUrl' | 'gatewayUrl' | 'authorization'>,
  ): KuboOptions => ({
    ...at,
    ...parts,
    pinName: `svc-icl ${new URL(settings.SVC_ICL_PUBLIC_URL).origin}`,
    fetch: systemFetch,
  })
  const named = 'SVC_ICL_BLOBS names it'
  if (typeof location === 'object') {
    const kubo = kuboAt({ ...location, authorization: settings.SVC_ICL_KUBO_AUTHORIZATION })
    return { blobs: createKuboBlobs(kubo), place: 'ipfs', why: named }
  }
  const stored = { blobs: createStoredBlobs(store, roomBytes, clock), place: 'store' } as const
  if (location === 'store') return { ...stored, why: named }
  if (localKubo === undefined) return { ...stored, why: 'this host has no local network' }
  // Without the secret: while Kubo is away, any user of this machine may listen there.
  const kubo = kuboAt({ rpcUrl: localKubo })
  const why = await whyNotKubo(settings, kubo)
  if (why === undefined) {
    return { blobs: createKuboBlobs(kubo), place: 'ipfs', why: `Kubo takes blobs at ${localKubo}` }
  }
  // A database that is away says nothing, and what it may have is read later.
  const hasEarlier = await hasBlobsInKubo(store).catch(() => undefined)
  if (hasEarlier === false) return { ...stored, why }
  return {
    place: 'store',
    why,
    blobs: withEarlierKubo(stored.blobs, createKuboBlobs(kubo), store),
    ...(hasEarlier && {
      warning: `Blobs of an earlier run are in Kubo, and cannot be read while it does not answer at ${localKubo}: start it there with the same repository, or name it in SVC_ICL_BLOBS, and start the ICL again`,
    }),
  }
}

/** Returns why a Kubo of this machine is not the place for blobs; undefined when it is. */
async function whyNotKubo(settings: Settings, kubo: KuboOptions): Promise<string | undefined> {
  // Each would look on its own machine, and find another Kubo.
  if (settings.SVC_ICL_REPLICAS > 1) return 'several replicas need a Kubo that SVC_ICL_BLOBS names'
  // It would leave its blocks there, and remove as unknown those of an ICL with the same public URL.
  if (settings.SVC_ICL_DATABASE_URL === 'memory:')
    return 'a store in memory keeps no list of blocks'
  try {
    await tryKubo(kubo)
    return undefined
  } catch (error) {
    if (error instanceof SvcError) return `${error.message} (${kubo.rpcUrl})`
    throw error
  }
}
