import { describe, expect, it } from 'vitest'
import { findFerretDb } from '../store/wire-server/ferretdb.ts'
import { runOutage } from './outage.ts'

const seconds = 5
const found = await findFerretDb()
const whyNot = 'missing' in found ? found.missing : undefined
if (whyNot !== undefined && process.env.CI === 'true') throw new Error(whyNot)
const onMongo = whyNot === undefined ? it : it.skip
const note = whyNot === undefined ? '' : `: ${whyNot}`

describe('a database that goes away under load and comes back', () => {
  onMongo(
    `is bridged by one ICL, and holds everything afterwards${note}`,
    async () => {
      const report = await runOutage({ seconds, replicas: 1 })
      expect(report).toEqual({
        ...report,
        health: [true, false, true],
        ready: [200, 200, 200],
        found: report.acknowledged,
        lost: 0,
      })
      expect(Object.keys(report.saves)).toEqual(['200'])
      expect(Object.keys(report.reads)).toEqual(['200'])
      expect(report.acknowledgedAway).toBeGreaterThan(10)
    },
    360_000,
  )

  onMongo(
    `is not bridged by one of two: saves wait, reads go on${note}`,
    async () => {
      const report = await runOutage({ seconds, replicas: 2 })
      expect(report).toEqual({
        ...report,
        health: [true, false, true],
        ready: [200, 503, 200],
        acknowledgedAway: 0,
        found: report.acknowledged,
        lost: 0,
        saysWhen: true,
      })
      expect(Object.keys(report.saves)).toEqual(['503'])
      expect(Object.keys(report.reads)).toEqual(['200'])
    },
    360_000,
  )
})
