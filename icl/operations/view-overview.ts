import { withDeadline } from '../../lib/deadline.ts'
import type { ConsoleOverview } from '../../lib/schemas/console.ts'
import { toSeconds } from '../../lib/time.ts'
import { minutesOf } from '../console/minutes.ts'
import type { RecentJobs } from '../console/recent-jobs.ts'
import type { Refusals } from '../console/refusals.ts'
import type { Dependencies } from '../dependencies.ts'
import { loadEligible } from '../pool/load-pool.ts'
import { servedTiers } from '../rules/eligibility.ts'
import type { Gauges } from '../telemetry/metrics.ts'
import type { createProbes } from './check-health.ts'

/** The sources of the overview, in addition to the dependencies. */
export type Sources = {
  readonly probes: ReturnType<typeof createProbes>
  readonly gauges: () => Promise<Gauges>
  readonly recent: RecentJobs
  readonly refusals: Refusals
}

/** Returns the state of the ICL for the console. What does not answer within 3 s is null. */
export async function viewOverview(
  deps: Dependencies,
  { probes, gauges, recent, refusals }: Sources,
): Promise<ConsoleOverview> {
  const [health, readiness, figures, nodes, looked] = await Promise.all([
    probes.checkHealth(),
    readinessOf(probes),
    gauges(),
    readInTime(deps.clock, () => countActive(deps)),
    readInTime(deps.clock, () => recent.look().then(() => true)),
  ])
  const { writable } = deps.store.status()
  const at = toSeconds(deps.clock.now())
  const minutes = looked && minutesOf(recent.all(), at)
  return {
    at,
    version: deps.network.version,
    chain_id: deps.network.chain_id,
    ...readiness,
    chain: { connected: health.chain_connected },
    store: { connected: health.mongo_connected, durable: deps.store.durable, writable },
    outbox: figures.known
      ? { waiting: figures.effects, oldest_seconds: Math.floor(figures.oldestEffectSeconds) }
      : null,
    draws_waiting: figures.drawsWaiting,
    jobs_by_phase: figures.known ? figures.jobsByPhase : null,
    waiting_since: looked ? oldestOpen(recent) : null,
    refused: refusals.counts(),
    nodes: nodes ?? null,
    minutes: minutes ? [...minutes] : null,
    minutes_since: minutes
      ? Math.max(Math.ceil(recent.wholeSince() / 1000), minutes[0]?.at ?? 0)
      : null,
  }
}

function oldestOpen(recent: RecentJobs): number | null {
  const open = recent.all().filter(({ status }) => status === 'open')
  return open.length === 0 ? null : Math.min(...open.map(({ created_at }) => created_at))
}

/** Whether to send traffic here, and what is degraded. Never rejects. */
export async function readinessOf(probes: Sources['probes']) {
  try {
    const { ready, reasons } = await probes.checkReadiness()
    return { ready, reasons }
  } catch (error) {
    return { ready: false, reasons: error instanceof Error ? error.message.split('; ') : [] }
  }
}

/** Counts the nodes with a certificate, and those that can be drawn. */
export async function countActive(deps: Dependencies) {
  const [nodes, active] = await Promise.all([deps.pool.nodes(), loadEligible(deps, { minTier: 0 })])
  return { certified: nodes.length, active: active.length }
}

const readingMs = 3_000

/** Returns what `read` gives, or undefined when it fails or takes more than 3 s: a scrape or the console must not fail for it. */
export const readInTime = <T>(
  clock: Dependencies['clock'],
  read: () => Promise<T>,
): Promise<T | undefined> =>
  withDeadline(clock, readingMs, undefined, () => new Error('timed out'), read).catch(
    () => undefined,
  )

/** Returns the current figures of the ICL. Leaves out what does not answer within 3 s. */
export async function readGauges(
  deps: Dependencies,
  { probes, drawsWaiting }: Pick<Sources, 'probes'> & Pick<Gauges, 'drawsWaiting'>,
): Promise<Gauges> {
  const [{ reasons }, stats, nodes, rooms] = await Promise.all([
    readinessOf(probes),
    readInTime(deps.clock, () => deps.store.stats()),
    readInTime(deps.clock, () => countNodes(deps)),
    readInTime(deps.clock, () => deps.blobs.rooms()),
  ])
  const dueAt = stats?.oldestEffectDueAt
  return {
    known: stats !== undefined,
    jobsByPhase: stats?.jobsByPhase ?? {},
    nodes,
    drawsWaiting,
    rooms,
    degradedReasons: reasons.length,
    inMemory: !deps.store.durable,
    effects: stats?.effects ?? 0,
    oldestEffectSeconds: dueAt === undefined ? 0 : Math.max(0, (deps.clock.now() - dueAt) / 1000),
  }
}

async function countNodes(deps: Dependencies): Promise<NonNullable<Gauges['nodes']>> {
  const counts = new Map<string, { backend: string; tier: number; count: number }>()
  for (const { node, chain } of await loadEligible(deps, { minTier: 0 })) {
    const { backend } = node.certificate
    for (const tier of servedTiers(node, chain)) {
      const key = `${backend} ${tier}`
      const counted = counts.get(key) ?? { backend, tier, count: 0 }
      counts.set(key, { ...counted, count: counted.count + 1 })
    }
  }
  return [...counts.values()]
}
