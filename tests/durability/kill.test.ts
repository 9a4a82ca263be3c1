import { describe, expect, it } from 'vitest'
import { whyNoWireServer } from '../store/wire-server/open.ts'
import { runKills } from './kill.ts'

const kills = 10
const whyNot = await whyNoWireServer()

describe('an ICL that is killed under load, again and again', () => {
  it('has everything that it acknowledged (sqlite)', async () => {
    const report = await runKills({ store: 'sqlite', kills })
    expect(report).toEqual({ ...report, kills, found: report.acknowledged, lost: 0 })
    expect(report.acknowledged).toBeGreaterThanOrEqual(3 * kills)
    expect(report.finished).toBeGreaterThan(0)
  }, 360_000)

  const onMongo = whyNot === undefined ? it : it.skip
  onMongo(
    `has everything that it acknowledged (mongodb)${whyNot ? `: ${whyNot}` : ''}`,
    async () => {
      const report = await runKills({ store: 'mongodb', kills })
      expect(report).toEqual({ ...report, kills, found: report.acknowledged, lost: 0 })
      expect(report.acknowledged).toBeGreaterThanOrEqual(3 * kills)
    },
    360_000,
  )
})
