import { withDeadline } from '../../lib/deadline.ts'
import type { Dependencies } from '../dependencies.ts'
import { loadEligible } from '../pool/load-pool.ts'
import { servedTiers } from '../rules/eligibility.ts'
import type { Gauges } from '../telemetry/metrics.ts'

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
export async function readGauges(deps: Dependencies, drawsWaiting: number): Promise<Gauges> {
  const [stats, nodes] = await Promise.all([
    readInTime(deps.clock, () => deps.store.stats()),
    readInTime(deps.clock, () => countNodes(deps)),
  ])
  const dueAt = stats?.oldestEffectDueAt
  return {
    known: stats !== undefined,
    jobsByPhase: stats?.jobsByPhase ?? {},
    nodes,
    drawsWaiting,
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
