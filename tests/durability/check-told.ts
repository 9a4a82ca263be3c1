import type { Store } from '../../icl/store/store.ts'
import type { Told } from './load.ts'

/** How many acknowledged things are there, and which are not. */
export type Findings = { readonly found: number; readonly lost: readonly Told[] }

const groupBy = <K>(told: readonly Told[], keyOf: (one: Told) => K): Map<K, Told[]> => {
  const groups = new Map<K, Told[]>()
  for (const one of told) groups.set(keyOf(one), [...(groups.get(keyOf(one)) ?? []), one])
  return groups
}

/** Looks for everything that was acknowledged in what the store holds. */
export async function checkTold(store: Store, told: readonly Told[]): Promise<Findings> {
  const lost: Told[] = []
  for (const [jobId, ofJob] of groupBy(told, (one) => one.jobId)) {
    const job = (await store.findJob(jobId))?.document
    lost.push(...ofJob.filter(({ isKept }) => job === undefined || !isKept(job)))
  }
  return { found: told.length - lost.length, lost }
}

/** How much of each kind was acknowledged. */
export const kindsOf = (told: readonly Told[]): string =>
  [...groupBy(told, ({ kind }) => kind)].map(([kind, list]) => `${kind} ${list.length}`).join(', ')
