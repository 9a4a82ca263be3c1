import { describe, expect, it } from 'vitest'
import { findSecantusDb } from '../store/wire-server/secantusdb.ts'
import { faultKinds } from './kinds.ts'
import { findPreload } from './preload.ts'
import { totalsOf } from './report.ts'
import { runFaults } from './run.ts'
import type { StoreKind } from './world.ts'

const found = findPreload()
const secantus = await findSecantusDb()
if ('missing' in secantus && process.env.CI === 'true') throw new Error(secantus.missing)
const preload = 'path' in found ? found.path : undefined

/** Puts each of the faults in once, in an order from the seed. */
async function putAll(store: StoreKind, names: readonly string[]) {
  const kinds = faultKinds.filter(({ name }) => names.includes(name))
  const report = await runFaults({
    ...{ store, kinds, seed: 1, preload, isHasty: true, nodes: 3, clients: 1 },
    goesOn: (faults) => faults < kinds.length,
    longestMs: 2_000,
    cancelAfterMs: 2_000,
  })
  const { expired: _, ...totals } = totalsOf([report])
  const acknowledged = report.ended.length
  const problems = [...report.faults, report].flatMap((part) => part.problems)
  return { totals, acknowledged, problems }
}

const nothing = { lost: 0, doubled: 0, unsettled: 0, notBack: 0 }

describe('faults under load', () => {
  const withPreload = preload === undefined ? it.skip : it
  const note = 'missing' in found ? `: ${found.missing}` : ''
  withPreload(
    `cost nothing that was acknowledged (sqlite)${note}`,
    async () => {
      const names = [
        ...['icl-before-sync', 'icl-mid-write', 'icl-torn-power-cut'],
        ...['icl-disk-full', 'node-kill-in-sync'],
      ]
      const { totals, acknowledged, problems } = await putAll('sqlite', names)
      expect(problems).toEqual([])
      expect(totals).toEqual({ faults: names.length, ...nothing })
      expect(acknowledged).toBeGreaterThanOrEqual(names.length)
    },
    600_000,
  )

  const onMongo = 'missing' in secantus ? it.skip : it
  onMongo(
    `cost nothing that was acknowledged (mongodb)${'missing' in secantus ? `: ${secantus.missing}` : ''}`,
    async () => {
      const names = [
        ...['database-and-icl-kill', 'database-freeze', 'database-refuse'],
        ...['database-kill-of-two', 'database-kill-with-intruder'],
      ]
      const { totals, acknowledged, problems } = await putAll('mongodb', names)
      expect(problems).toEqual([])
      expect(totals).toEqual({ faults: names.length, ...nothing })
      expect(acknowledged).toBeGreaterThanOrEqual(names.length)
    },
    900_000,
  )
})
